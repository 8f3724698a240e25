"""Watched training and the double descent of networks."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.datasets import dataset
from ftheta.logic import Curves, UsageError
from ftheta.risks.learners import (
    Curve,
    Setting,
    by_rows,
    by_steps,
    by_width,
    learn,
    linear_descent,
    network_cell,
    split_rows,
    two_speeds,
    unit_targets,
    widths_between,
)
from ftheta.risks.watching import Recipe, WatchedRows, log_steps, room_for, start, watch
from ftheta.subjects.resolve import import_object
from ftheta.sweeps.command import request_of
from ftheta.sweeps.grid import Grid
from ftheta.sweeps.trains import train_of
from ftheta.theorems.generalisation.double_descent_networks import find_first_minimum, train_along

EXAMPLES = Path(__file__).parents[3] / "examples"


def problem(rng, n=40, d=6, K=3):
    x = rng.normal(size=(n, d))
    return x, np.eye(K)[rng.integers(0, K, n)]


# watching


@pytest.mark.parametrize("activation, loss", [("square", "cross-entropy"), ("tanh", "squared")])
def test_a_watched_run_is_that_of_torch(activation, loss):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y = problem(rng)
    params = start(rng, (6, 16, 3))
    recipe = Recipe(0.01, 0.5, activation, loss, beta=0.98)
    seen = watch(params, WatchedRows.of(x, y), WatchedRows.of(x[:7], y[:7]), recipe, (0, 1, 25))

    weights = [
        torch.tensor(np.asarray(part), dtype=torch.float64, requires_grad=True)
        for layer in params
        for part in layer
    ]
    steps = torch.optim.AdamW(weights, lr=0.01, betas=(0.9, 0.98), weight_decay=0.5)
    sigma = {"square": torch.square, "tanh": torch.tanh}[activation]
    X = torch.tensor(x)
    Y = torch.tensor(y)

    def risk():
        out = sigma(X @ weights[0] + weights[1]) @ weights[2] + weights[3]
        if loss == "squared":
            return ((out - Y) ** 2).sum(1).mean()
        return torch.nn.functional.cross_entropy(out, Y)

    losses = []
    for _ in range(26):
        losses.append(risk())
        steps.zero_grad()
        losses[-1].backward()
        steps.step()
    assert seen.train_loss == pytest.approx([losses[k].item() for k in (0, 1, 25)], rel=1e-4)


def test_a_narrow_network_with_room_is_the_narrow_network():
    rng = np.random.default_rng(1)
    x, y = problem(rng)
    wide = start(np.random.default_rng(2), (6, 5, 3))
    narrow = [(wide[0][0][:, :5], np.zeros(5, np.float32)), (wide[1][0][:5], wide[1][1])]
    assert wide[0][0].shape == (6, 16) and not wide[0][0][:, 5:].any()
    for recipe in (Recipe(0.02, 0.3), Recipe(0.05, 0.1, optimiser="gd", loss="squared")):
        one, other = (
            watch(p, WatchedRows.of(x, y), WatchedRows.of(x, y), recipe, (50,)).train_loss
            for p in (wide, narrow)
        )
        assert one == pytest.approx(other, rel=1e-4)


def test_rows_that_do_not_count_change_nothing():
    rng = np.random.default_rng(3)
    x, y = problem(rng)
    params = start(rng, (6, 8, 3))
    runs = [
        watch(params, WatchedRows.of(x, y, room), WatchedRows.of(x, y, room), Recipe(), (0, 30))
        for room in (0, 64)
    ]
    for name in ("train_loss", "train_error", "test_error"):
        assert getattr(runs[0], name) == pytest.approx(getattr(runs[1], name), rel=1e-4)


def test_gradient_descent_on_a_linear_model_is_its_closed_form():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 5))
    y = rng.normal(size=(30, 1))
    X_test = rng.normal(size=(9, 5))
    y_test = rng.normal(size=(9, 1))
    at = (0, 1, 10, 200)
    theta = np.zeros((5, 1))
    slow = []
    for k in range(201):
        if k in at:
            slow.append(((X_test @ theta - y_test) ** 2).mean())
        theta = theta - 0.05 * 2 / 30 * X.T @ (X @ theta - y)
    assert linear_descent((X, y), (X_test, y_test), 0.05, at) == pytest.approx(slow, rel=1e-9)
    zero = [(np.zeros((5, 1), np.float32), np.zeros(1, np.float32) * 0)]
    seen = watch(
        [(zero[0][0], None)],
        WatchedRows.of(X, y),
        WatchedRows.of(X_test, y_test),
        Recipe(0.05, loss="squared", optimiser="gd"),
        at,
    )
    assert seen.test_loss == pytest.approx(slow, rel=1e-4)


def test_a_column_that_is_zero_has_no_part_in_the_closed_form():
    rng = np.random.default_rng(0)
    X = np.pad(rng.normal(size=(20, 3)), ((0, 0), (0, 2)))
    y = rng.normal(size=(20, 1))
    with_zeros, without = (linear_descent((Z, y), (Z, y), 0.1, (3, 300)) for Z in (X, X[:, :3]))
    assert with_zeros == pytest.approx(without)


@given(st.integers(1, 100_000), st.integers(1, 80))
def test_the_looks_begin_at_0_end_at_the_last_step_and_increase(last, count):
    at = log_steps(last, count)
    assert at[0] == 0 and (at[-1] == last or count == 1) and list(at) == sorted(set(at))


def test_rooms_are_powers_of_two():
    assert [room_for(k) for k in (1, 32, 33, 64, 65)] == [32, 32, 64, 64, 128]


@pytest.mark.parametrize(
    "wrong",
    [
        {"activation": "sigmoid"},
        {"loss": "hinge"},
        {"optimiser": "lion"},
        {"step": 0.0},
        {"decay": -1.0},
    ],
)
def test_recipes_that_do_not_work_are_refused(wrong):
    with pytest.raises(UsageError):
        Recipe(**wrong)


# what is trained on


def test_classes_become_unit_vectors_and_numbers_are_standardised():
    assert unit_targets(np.array([5, 7, 5])).tolist() == [[1, 0], [0, 1], [1, 0]]
    numbers = unit_targets(np.array([0.5, 1.0, 2.25]))
    assert (
        numbers.shape == (3, 1)
        and numbers.mean() == pytest.approx(0)
        and numbers.std() == pytest.approx(1)
    )


def test_label_noise_is_a_share_of_other_classes_and_test_rows_are_clean():
    rng = np.random.default_rng(0)
    x, y = problem(rng, n=6000, K=10)
    (_, train), (_, test) = split_rows(x, y, Setting(rows=5000, noise=0.3), 0, held_out=500)
    order = np.random.default_rng([0, 1]).permutation(6000)
    wrong = (train.argmax(1) != y[order[:5000]].argmax(1)).mean()
    assert abs(wrong - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 5000)
    assert (test == y[order[-500:]]).all() and len(test) == 500


def test_the_test_rows_do_not_depend_on_the_number_of_training_rows():
    rng = np.random.default_rng(0)
    x, y = problem(rng, n=300)
    tests = [split_rows(x, y, Setting(rows=n), 7, held_out=50)[1][1] for n in (20, 250)]
    assert (tests[0] == tests[1]).all()
    with pytest.raises(UsageError, match="too few"):
        split_rows(x, y, Setting(rows=300), 0)


@given(st.integers(1, 50), st.integers(0, 200), st.integers(1, 40))
def test_widths_are_as_many_as_asked_where_there_are_so_many(least, more, count):
    found = widths_between(least, least + more, count)
    assert found == sorted(set(found)) and found[0] == least
    assert len(found) == min(count, more + 1) or len(found) <= count


# the phenomenon


def digits():
    data = dataset("digits")
    return data.x, unit_targets(data.y)


def test_networks_of_few_units_cannot_fit_noisy_labels_and_those_of_many_can():
    found = by_width(
        *digits(), Setting(rows=150, noise=0.3, steps=600, step=0.02), [2, 6, 12, 16], range(2)
    )
    train = found.train_error.mean(0)
    assert train[0] > 0.2 and train[-1] == 0 and found.threshold in (1, 2)
    assert found.parameters.tolist() == [75 * w + 10 for w in (2, 6, 12, 16)]
    assert found.test_loss.mean(0)[-1] < found.test_loss.mean(0).max()


def test_more_rows_are_harder_to_fit():
    found = by_rows(
        *digits(), Setting(width=4, noise=0.3, steps=500, step=0.02), [30, 100, 500], [0]
    )
    assert found.train_error[0, 0] < found.train_error[0, -1]


def test_descent_at_two_speeds_falls_rises_and_falls_again():
    x, y = two_speeds(np.random.default_rng(0), 1100)
    setting = Setting(64, 100, 0.0, 5000, 0.02, activation="identity")
    found = by_steps(x, unit_targets(y), setting, range(3))
    test = found.test_loss.mean(0)
    low, peak = find_first_minimum(test)
    assert 0 < low < peak < len(test) - 1 and test[-1] < test[low] < test[peak] / 1.05


def test_a_curve_that_only_falls_has_no_peak():
    assert find_first_minimum(np.array([3.0, 2.0, 1.0])) == (2, 2)
    assert find_first_minimum(np.array([3.0, 1.0, 1.01, 2.0, 1.5, 0.5])) == (1, 3)


@pytest.mark.nightly
def test_a_sweep_is_the_curve_of_the_tool():
    swept = ft.sweep(
        network_cell,
        {"width": [3, 8], "rows": [60], "steps": [40], "noise": [0.0, 0.2]},
        seeds=2,
        on=1,
    )
    found = Curve.of_table(swept.table({"noise": 0.2}), "width")
    direct = by_width(*digits(), Setting(rows=60, steps=40), [3, 8], range(2))
    assert found.test_error == pytest.approx(direct.test_error) and found.at.tolist() == [3, 8]
    with pytest.raises(UsageError, match="one cell"):
        Curve.of_table(swept.table(), "width")


def test_evidence_of_numbers_shows_losses_and_the_linear_model():
    x, y = two_speeds(np.random.default_rng(0), 200)
    evidence = train_along(x, unit_targets(y), Setting(8, 50, 0.0, 60, 0.01), "steps", 1, 0, 1)
    chart = evidence.charts[0]
    assert isinstance(chart, Curves) and chart.series[-1].name == "linear model, closed form"
    widths = train_along(x, unit_targets(y), Setting(8, 50, 0.0, 30, 0.01), "width", 3, 0, 1)
    assert len(widths.charts) == 1
    with pytest.raises(UsageError, match="along"):
        train_along(x, unit_targets(y), Setting(), "depth", 1, 0, 1)


def test_a_run_is_a_function_of_its_seed():
    x, y = digits()
    runs = [learn(x, y, Setting(8, 60, steps=50), seed).test_loss for seed in (1, 1, 2)]
    assert (runs[0] == runs[1]).all() and (runs[0] != runs[2]).all()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_sweeps_among_the_examples_can_be_run(path):
    request = request_of(str(path), import_object, ft.load)
    grid = Grid(request.grid, request.seeds)
    train_of(request.train, request.version).check(grid)
    assert len(grid) >= 20 and "published figure" in path.read_text(encoding="utf-8")
