"""Networks trained together: each as if it were alone, and as `fit` would."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import Dense, Description, random_mlp
from ftheta.sweeps import Grid, Networks, Pool, sweep
from ftheta.sweeps.together import LANES, Program, _program
from ftheta.training import Batches

from ..thoroughness import max_examples
from . import trainings

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.sin(X[:, :1]) + X[:, 1:2]
LABELS = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)


@pytest.fixture(scope="module")
def pool():
    with Pool(1) as found:
        yield found


def by_cell(table, *names):
    """Every result by what the cell says, whatever the order of the rows."""
    return {
        tuple(str(r[name]) for name in (*names, "seed")): repr(sorted(r.items()))
        for r in table.rows()
    }


@pytest.mark.nightly
def test_no_bit_depends_on_neighbours_order_workers_or_cuts(pool, tmp_path):
    nets = Networks((X, Y), test=(X[:5], Y[:5]), steps=30, record=10, keep=True)
    # in lanes, and one by one
    small = {"widths": 7, "batch": 8}
    large = {"widths": 200, "batch": None}
    grid = [{**shape, "step": step} for shape in (small, large) for step in (0.01, 0.003)]
    whole = sweep(nets, grid, 5, on=2)
    assert whole.complete
    other = sweep(nets, grid[::-1], [4, 2, 0, 1, 3], on=pool)
    assert by_cell(whole.table(), "widths", "step") == by_cell(other.table(), "widths", "step")
    for chosen, seed in [
        (grid[1], 3),
        (grid[3], 0),
        (grid[0], 4),
    ]:  # alone, then the others around them
        sweep(nets, [chosen], [seed], on=pool, store=tmp_path / "runs.db").close()
    pieces = sweep(nets, grid, 5, on=pool, store=tmp_path / "runs.db")
    assert pieces.table().same(whole.table())
    for name in ("losses", "W0", "b1"):
        assert all(np.array_equal(a, b) for a, b in zip(whole.arrays(name), pieces.arrays(name)))
    pieces.close()


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors cannot be chosen here")
def test_the_number_of_cores_does_not_show():
    """With 4,096 rows XLA would split its sums by the number of cores."""
    x = RNG.normal(size=(4096, 8))
    nets = Networks((x, np.sin(x[:, :1])), widths=64, steps=20, record=1)
    whole = os.sched_getaffinity(0)
    found = []
    for chosen in (whole, {min(whole)}):
        os.sched_setaffinity(0, chosen)
        try:
            found.append(sweep(nets, {}, 2, on=1))
        finally:
            os.sched_setaffinity(0, whole)
    assert all(np.array_equal(a, b) for a, b in zip(*[sweep.arrays("losses") for sweep in found]))


SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 20), st.integers(1, 3), st.integers(2, 40))


@max_examples(3)
@given(
    SHAPES,
    st.sampled_from(["relu", "tanh", "gelu"]),
    st.sampled_from(["adam", "momentum"]),
    st.booleans(),
)
def test_a_lane_never_shows_in_the_result(shape, activation, optimiser, batches):
    inputs, width, outputs, rows = shape
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, inputs))
    y = rng.normal(size=(rows, outputs))
    batch = max(1, rows // 3) if batches else None
    nets = Networks(
        (x, y),
        widths=width,
        activation=activation,
        optimiser=optimiser,
        batch=batch,
        steps=20,
        record=1,
    )
    import jax

    with jax.enable_x64(True):
        grid = Grid({"step": [0.01, 0.1]}, LANES)
        members = [nets.member(grid[i]) for i in range(2 * LANES)]
        program = _program(members[0].shape, LANES)
        assert members[0].shape.lanes == LANES and program.fair(members[0])
        chosen = members[3]
        for place in (0, 5, LANES - 1):  # other neighbours, another lane
            others = members[place : place + LANES]
            others[place] = chosen
            found = program.train(others)[place]["losses"]
            alone = program.train([chosen])[0]["losses"]
            assert np.array_equal(found, alone, equal_nan=True)
    _program.cache_clear()


def test_unequal_lanes_are_noticed(monkeypatch):
    nets = Networks((X, Y), widths=5, steps=3)
    import jax

    with jax.enable_x64(True):
        member = nets.member(Grid({}, 1)[0])
        crooked = Program(member.shape, LANES)
        start = crooked._start

        def tilted(params, numbers):
            state = start(params, numbers)
            return state._replace(
                params=jax.tree.map(lambda leaf: leaf.at[3].mul(1 + 1e-7), state.params)
            )

        monkeypatch.setattr(crooked, "_start", tilted)
        assert not crooked.fair(member)


CASES = [
    ("squared", "adam", 8, 7),
    ("squared", "nesterov", None, (90, 50)),
    ("cross-entropy", "adamw", 7, (90, 50)),
]


@pytest.mark.parametrize("loss, optimiser, batch, widths", CASES)
def test_a_cell_is_what_fit_does_to_rounding(pool, loss, optimiser, batch, widths):
    target = LABELS if loss == "cross-entropy" else Y
    nets = Networks(
        (X, target), loss=loss, optimiser=optimiser, batch=batch, widths=widths, steps=40, step=0.01, dtype="float64",
        record=1, keep=True,
    )  # fmt: skip
    found = sweep(nets, {}, [3], on=pool)
    wide = (
        3,
        *(widths if isinstance(widths, tuple) else (widths,)),
        3 if loss == "cross-entropy" else 1,
    )
    start = random_mlp(np.random.default_rng(3), wide)
    size = None if batch is None else Batches(batch)
    fitted = ft.fit(start, (X, target), loss, optimiser, step=0.01, steps=40, batch=size, seed=3)
    losses = found.arrays("losses")[0]
    weights = found.arrays("W0")[0]
    assert losses is not None and weights is not None
    np.testing.assert_allclose(losses, fitted.history.loss, rtol=1e-9)
    np.testing.assert_allclose(weights, fitted.network.layers[0].weight, rtol=1e-7, atol=1e-10)
    assert found.table()["train_loss"][0] == pytest.approx(fitted.loss, rel=1e-9)


def test_decay_is_the_gradient_of_its_penalty(pool):
    """One step of gradient descent by hand."""
    nets = Networks(
        (X, Y), widths=[], optimiser="gd", step=0.1, steps=1, dtype="float64", keep=True, bias=1.0
    )
    found = sweep(nets, {"decay": [0.0, 0.3]}, on=pool)
    net = random_mlp(np.random.default_rng(0), (3, 1), bias=1.0)
    (weight, bias) = net.params[0]
    plain = found.arrays("W0")
    gradient = 2 * np.mean((X @ weight.T + bias - Y) * X, axis=0)
    for kept, decay in zip(plain, (0.0, 0.3)):
        assert kept is not None
        np.testing.assert_allclose(
            kept[0], weight[0] - 0.1 * (gradient + decay * weight[0]), rtol=1e-12
        )


def test_noise_is_in_the_training_targets_alone_and_of_the_size_asked_for(pool):
    nets = Networks((X, Y), test=(X, Y), steps=0, widths=[], dtype="float64")
    table = sweep(nets, {"noise": [0.0, 10.0]}, 200, on=pool).table()
    noisy = table["noise"] == 10.0
    assert np.array_equal(table["test_loss"][noisy], table["test_loss"][~noisy])
    assert np.array_equal(table["train_loss"][~noisy], table["test_loss"][~noisy])
    # mean of 30 squares of deviation 10, and a cross term
    extra = table["train_loss"][noisy] - table["test_loss"][noisy]
    assert abs(extra.mean() - 100) < 5 * extra.std() / np.sqrt(200)


def test_noisy_labels_are_other_classes(pool):
    from ftheta.sweeps.together import _noisy

    rows = np.eye(4)[np.arange(4000) % 4]
    found = _noisy("cross-entropy", rows, 0.3, 1)
    wrong = (found != rows).any(1)
    assert (found.sum(1) == 1).all() and abs(wrong.mean() - 0.3) < 5 * np.sqrt(0.21 / 4000)
    others = np.argmax(found[wrong], 1) - np.argmax(rows[wrong], 1)
    assert set((others % 4).tolist()) == {1, 2, 3}
    signs = np.where(np.arange(4000) % 2, 1.0, -1.0)[:, None]
    assert abs((_noisy("logistic", signs, 0.5, 1) != signs).mean() - 0.5) < 5 * 0.5 / np.sqrt(4000)


def test_a_run_that_diverges_says_when_and_its_neighbours_do_not_care(pool):
    nets = Networks((X, Y), widths=7, optimiser="gd", steps=60, record=1)
    both = sweep(nets, {"step": [1e-2, 1e9]}, 3, on=pool).table()
    alone = sweep(nets, {"step": [1e-2]}, 3, on=pool).table()
    wild = both["step"] == 1e9
    assert np.array_equal(both["train_loss"][~wild], alone["train_loss"])
    assert np.isnan(both["train_loss"][wild]).all() and (both["diverged_at"][wild] < 60).all()
    assert np.isnan(both["diverged_at"][~wild]).all()


def test_data_can_be_made_for_each_cell(pool):
    nets = Networks(trainings.made, widths=4, steps=20)
    found = sweep(nets, {"n": [12], "slope": [1.0, 2.0]}, 3, on=pool)
    table = found.table()
    assert found.complete and len(set(table["test_loss"].tolist())) == 6
    again = sweep(nets, {"n": [12], "slope": [2.0]}, [2], on=pool).table()
    assert again["test_loss"][0] == table["test_loss"][-1]


def test_kept_weights_are_the_network(pool):
    nets = Networks(
        (X, LABELS),
        test=(X, LABELS),
        loss="cross-entropy",
        widths=(6, 5),
        steps=50,
        keep=True,
        dtype="float64",
    )
    found = sweep(nets, {}, on=pool)
    parts = [(found.arrays(f"W{i}")[0], found.arrays(f"b{i}")[0]) for i in range(3)]
    net = Description(
        tuple(Dense(w, b, "relu" if i < 2 else "identity") for i, (w, b) in enumerate(parts))
    )  # type: ignore[arg-type]
    wrong = np.mean(np.argmax(net.apply(net.params, X), 1) != LABELS)
    table = found.table()
    assert table["test_error"][0] == pytest.approx(wrong) and table["train_error"][
        0
    ] == pytest.approx(wrong)
    assert table["parameters"][0] == 3 * 6 + 6 + 6 * 5 + 5 + 5 * 3 + 3
    assert table.names == [
        "seed",
        "train_loss",
        "test_loss",
        "train_error",
        "test_error",
        "diverged_at",
        "parameters",
    ]


def test_cells_that_cannot_be_are_failures_of_their_own(pool):
    found = sweep(Networks((X, Y), widths=4, steps=3), [{"rows": 99}, {"batch": 31}], on=pool)
    errors = [error for _, error in found.failures()]
    assert found.counts.failed == 2
    assert any("not so many rows" in e for e in errors) and any(
        "batch is larger" in e for e in errors
    )


@pytest.mark.parametrize(
    "make, part",
    [
        (lambda: Networks((X, Y), widths="a-b"), "whole numbers"),
        (lambda: Networks((X, Y), widths=0), "whole numbers"),
        (lambda: Networks((X, Y), steps=-1), "steps"),
        (lambda: Networks((X, Y), batch=0), "batch"),
        (lambda: Networks((X, Y), step=0.0), "step"),
        (lambda: Networks((X, Y), noise=float("nan")), "noise"),
        (lambda: Networks((X, Y), optimiser="magic"), "optimiser"),
        (lambda: Networks((X, Y), loss="magic"), "loss"),
        (lambda: Networks((X, Y), record=0), "record"),
        (lambda: Networks((X, Y), dtype="int8"), "float32"),  # type: ignore[arg-type]
        (lambda: Networks(trainings.made, test=(X, Y)), "test data"),
        (lambda: Networks("digits"), "no data"),
        (lambda: Networks((X, Y), test=3), "no data"),
        (lambda: sweep(Networks((X, Y)), {"colour": [1]}), "no such setting"),
        (lambda: sweep(Networks((X, Y)), {"steps": [10, 0.5]}), "whole number"),
        (lambda: sweep(Networks((X, Y)), {"widths": [8]}, version="2"), "version"),
    ],
)
def test_bad_settings_are_refused_before_anything_runs(make, part):
    with pytest.raises(UsageError, match=part):
        make()


def test_data_that_do_not_fit_are_refused_once_and_not_in_every_cell():
    with pytest.raises(SubjectError, match="finite"):
        sweep(Networks((np.full((3, 2), np.nan), np.zeros(3))), {"widths": [4, 8]}, 100)
    with pytest.raises(SubjectError, match="one target per row"):
        sweep(Networks((X, Y[:5])), {"widths": [4, 8]}, 100)
    with pytest.raises(SubjectError, match="classes"):
        sweep(Networks((X, Y)), {"loss": ["squared", "cross-entropy"]}, 100)
