"""Numbers of an audit beside the same numbers found another way."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import stats

from ftheta.auditing.facts import FACTS, regression
from ftheta.auditing.facts import baselines as classifier_baselines
from ftheta.auditing.part import Part
from ftheta.auditing.performing import perform
from ftheta.auditing.plan import plan_tasks
from ftheta.auditing.subjects import Recipe
from ftheta.logic import Basis, Heatmap, Regions, Skipped
from ftheta.logic.severity import Severity
from ftheta.networks import Dense, Description, random_mlp
from ftheta.subjects import Dataset, Network
from ftheta.subjects.resolve import load

TASKS = {task.id: task for task in plan_tasks() if task.is_fact}


def part(id: str, net: Network, seed: int = 0) -> Part:
    found = perform(TASKS[id], [net], seed)
    assert isinstance(found, Part), found
    return found


def value(found: Part, name: str) -> Any:
    (fact,) = [f for f in found.facts if f.name == name]
    return fact.value


@pytest.fixture(scope="module")
def digits() -> Network:
    return load("digits-mlp").with_data(load("digits-test"))  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def small() -> Network:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    y = rng.integers(0, 2, 40)
    return Network.described(random_mlp(rng, (3, 6, 5, 2), bias=0.3), "small").with_data(
        Dataset("rows", x, y)
    )


def by_hand(net: Network, x: np.ndarray) -> list[np.ndarray]:
    """States of a ReLU network, written out."""
    assert net.description is not None
    states = [x]
    for k, layer in enumerate(net.description.layers):
        z = states[-1] @ layer.weight.T + layer.bias
        states.append(np.maximum(z, 0) if k < len(net.description.layers) - 1 else z)
    return states


def test_counts_are_those_of_the_arrays(digits):
    found = part("counts", digits)
    arrays = [a for layer in digits.description.layers for a in (layer.weight, layer.bias)]
    assert value(found, "parameters").lo == sum(a.size for a in arrays)
    assert value(found, "non-zero parameters").lo == sum(np.count_nonzero(a) for a in arrays)
    assert value(found, "multiplications, one input").lo == sum(
        a.size for a in arrays if a.ndim == 2
    )
    widths = [a.size for a in arrays if a.ndim == 1]
    pairs = [a + b for a, b in pairwise(widths)]
    # a layer before and after its bias or its activation, or two layers
    held = 8 * max(*(2 * width for width in widths), *pairs)
    assert value(found, "memory of activations, one input, bytes").lo == held
    assert value(found, "parameters in float32, bytes").lo == 4 * sum(a.size for a in arrays)


def test_the_size_of_a_file_with_weights_is_told(tmp_path):
    path = tmp_path / "net.npz"
    np.savez(path, W0=np.ones((2, 3), np.float32), b0=np.zeros(2, np.float32))
    assert value(part("counts", Recipe(path).network), "size of the file, bytes").lo == len(
        path.read_bytes()
    )


def test_the_test_error_has_the_interval_of_clopper_and_pearson(digits):
    found = part("test-error", digits)
    guessed = by_hand(digits, digits.data.x)[-1].argmax(1)
    wrong = int((guessed != digits.data.y).sum())
    n = len(digits.data)
    assert value(found, "accuracy on the data").lo == pytest.approx(1 - wrong / n)
    known = value(found, "test error, exact binomial interval")
    interval = stats.binomtest(wrong, n).proportion_ci(0.95, method="exact")
    assert (known.lo, known.hi) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert known.confidence == 0.95 and known.basis is Basis.SAMPLED
    hoeffding = value(found, "test error, Hoeffding")
    assert hoeffding.hi == pytest.approx(wrong / n + np.sqrt(np.log(2 / 0.05) / (2 * n)))
    rows = {row[0]: row[2] for row in found.tables[1].rows}
    assert rows == {
        str(k): int((guessed != digits.data.y)[digits.data.y == k].sum()) for k in range(10)
    }


def test_a_regression_is_judged_by_its_squared_error():
    rng = np.random.default_rng(0)
    net = Network.described(random_mlp(rng, (2, 4, 1)), "line")
    x = rng.normal(size=(30, 2))
    y = rng.normal(size=30)
    found = part("test-error", net.with_data(Dataset("rows", x, y)))
    errors = (by_hand(net, x)[-1][:, 0] - y) ** 2
    low, high = stats.t.interval(0.95, 29, errors.mean(), stats.sem(errors))
    known = value(found, "expected squared error")
    assert value(found, "mean squared error on the data").lo == pytest.approx(errors.mean())
    assert (known.lo, known.hi) == pytest.approx((low, high))


def line(slope: float, offset: float = 0.0) -> Network:
    return Network.described(Description((Dense(np.array([[slope]]), np.array([offset])),)), "line")


def noisy_line(n: int, noise: Any, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 10, (n, 1))
    return Dataset("rows", x, 2 * x[:, 0] + noise(rng, x[:, 0]))


def rules_of(found: Part) -> dict[str, str]:
    return {finding.rule: finding.severity.value for finding in found.findings}


def test_a_regression_is_judged_by_r_squared_and_the_median_of_its_errors():
    data = noisy_line(200, lambda rng, x: rng.normal(size=len(x)))
    found = part("test-error", line(2.0).with_data(data))
    residual = data.y - 2 * data.x[:, 0]
    assert value(found, "R² on the data").lo == pytest.approx(
        1 - np.mean(residual**2) / np.var(data.y)
    )
    assert value(found, "root mean squared error").lo == pytest.approx(
        np.sqrt(np.mean(residual**2))
    )
    known = value(found, "median absolute error, exact interval")
    assert known.lo < np.median(np.abs(residual)) < known.hi and known.confidence == 0.95
    assert found.charts[0].title == "labels against predictions"


def test_plain_noise_leaves_nothing_to_say_of_the_residuals_but_their_interval():
    data = noisy_line(400, lambda rng, x: rng.normal(size=len(x)))
    found = part("residuals", line(2.0).with_data(data))
    assert rules_of(found) == {"uneven-coverage": "good"}
    radius = value(found, "radius of a 90 % prediction interval, split conformal").lo
    assert radius == pytest.approx(stats.norm.ppf(0.95), abs=0.35)
    assert 0.9 in value(found, "coverage of that interval on the other rows")


@pytest.mark.parametrize(
    "noise, net, rule",
    [
        (lambda rng, x: rng.normal(size=len(x)) * x**2 / 10, line(2.0), "heteroscedastic"),
        (lambda rng, x: rng.normal(size=len(x)), line(2.0, 0.8), "biased"),
        (lambda rng, x: rng.normal(size=len(x)), line(1.5, 2.75), "residual-trend"),
        (
            lambda rng, x: rng.normal(size=len(x)) * np.where(x > 7.5, 8.0, 1.0),
            line(2.0),
            "uneven-coverage",
        ),
    ],
)
def test_what_is_wrong_with_residuals_is_found(noise, net, rule):
    found = part("residuals", net.with_data(noisy_line(600, noise)))
    assert rules_of(found).get(rule, "good") in ("warning", "note")


def record_baselines(monkeypatch, module: Any, name: str) -> list[tuple[Any, Any]]:
    """The rows that a baseline predicts, and those that it is fitted to."""
    called = []
    plain = getattr(module, name)
    monkeypatch.setattr(
        module, name, lambda *given: called.append((given[0], given[-1])) or plain(*given)
    )
    return called


@pytest.mark.parametrize("trained", [False, True])
def test_baselines_of_a_regression_are_fitted_to_rows_that_they_are_not_tested_on(
    trained, monkeypatch
):
    called = record_baselines(monkeypatch, regression, "nearest_targets")
    net = line(1.0).with_data(noisy_line(60, lambda rng, x: rng.normal(size=len(x))))
    other = noisy_line(40, lambda rng, x: rng.normal(size=len(x)), seed=1)
    found = part("baselines", net.with_train_data(other) if trained else net)
    ((rows, reference),) = called
    assert (len(rows.x), len(reference.x)) == ((60, 40) if trained else (30, 30))
    assert not np.isin(rows.x, reference.x).any()
    expected = np.mean((rows.y - reference.y.mean()) ** 2)
    assert value(found, "mean squared error, mean of the labels").lo == pytest.approx(expected)
    nearest = reference.y[np.abs(rows.x - reference.x.T).argmin(1)]
    assert value(found, "mean squared error, nearest neighbour").lo == pytest.approx(
        np.mean((rows.y - nearest) ** 2)
    )
    assert rules_of(found) == {"larger-error-than-baseline": "problem"}
    assert rules_of(part("baselines", line(2.0).with_data(net.data)))["ahead-of-baselines"] in (
        "good",
        "note",
    )


def test_baselines_of_a_classifier_are_tested_on_rows_of_the_whole_file_that_they_are_not_fitted_to(
    monkeypatch,
):
    called = record_baselines(monkeypatch, classifier_baselines, "nearest_labels")
    rng = np.random.default_rng(0)
    data = Dataset("sorted by class", rng.normal(size=(5000, 2)), np.repeat([0, 1], 2500))
    part("baselines", Network.described(random_mlp(rng, (2, 3, 2)), "net").with_data(data))
    ((rows, reference),) = called
    assert (len(rows.x), len(reference.x)) == (2000, 3000)
    assert not np.isin(rows.x[:, 0], reference.x[:, 0]).any()
    assert 900 < rows.y.sum() < 1100 and rows.y.sum() + reference.y.sum() == 2500


def test_the_noise_floor_is_what_equal_rows_cost_any_function():
    x = np.repeat(np.arange(10.0), 3)[:, None]
    y = np.random.default_rng(0).normal(size=30)
    found = part("duplicates", line(1.0).with_data(Dataset("rows", x, y)))
    floor = np.mean([np.var(y[3 * k : 3 * k + 3]) for k in range(10)])
    assert value(
        found, "noise floor: squared error of any function on these rows"
    ).lo == pytest.approx(floor)
    two = Network.described(random_mlp(np.random.default_rng(0), (1, 4, 2)), "two")
    found = part("duplicates", two.with_data(Dataset("rows", x, np.arange(30) % 3 % 2)))
    assert value(found, "noise floor: error of any classifier on these rows").lo == pytest.approx(
        1 / 3
    )


def test_labels_that_are_the_inputs_are_no_regression():
    data = noisy_line(50, lambda rng, x: rng.normal(size=len(x)))
    same = replace(data, y=data.x)
    assert isinstance(perform(TASKS["residuals"], [line(1.0).with_data(same)], 0), Skipped)


def test_units_that_are_never_on_are_counted(digits):
    found = part("active-units", digits)
    hidden = by_hand(digits, digits.data.x)[1:-1]
    assert value(found, "ReLUs").lo == sum(s.shape[1] for s in hidden)
    assert value(found, "dead ReLUs on this data").lo == sum(
        int((s <= 0).all(0).sum()) for s in hidden
    )
    assert value(found, "always-active ReLUs on this data").lo == sum(
        int((s > 0).all(0).sum()) for s in hidden
    )


def test_saturated_values_are_counted():
    rng = np.random.default_rng(0)
    net = Network.described(random_mlp(rng, (3, 7, 1), "tanh", gain=30.0), "flat")
    x = rng.normal(size=(50, 3))
    found = part("active-units", net.with_data(Dataset("rows", x)))
    assert net.description is not None
    layer = net.description.layers[0]
    flat = 1 - np.tanh(x @ layer.weight.T + layer.bias) ** 2 < 0.05
    assert value(found, "largest share of saturated values in a layer").lo == pytest.approx(
        flat.mean()
    )


def test_gradients_are_those_of_jax(small):
    found = part("gradients-by-layer", small)
    x = small.data.x
    y = small.data.y

    def loss(params):
        logits = jax.vmap(lambda row: small.apply(params, row))(x)
        return -jnp.mean(jax.nn.log_softmax(logits)[np.arange(len(x)), y])

    with jax.enable_x64(True):
        leaves = [float(jnp.linalg.norm(g)) for g in jax.tree.leaves(jax.grad(loss)(small.params))]
    assert [row[2] for row in found.tables[0].rows] == pytest.approx(leaves, rel=1e-9)
    assert found.tables[0].rows[1][0] == "layer 1, biases"


def test_the_curvature_contains_the_eigenvalues_of_the_whole_hessian(small):
    found = part("curvature-of-the-loss", small)
    x = small.data.x
    y = small.data.y
    with jax.enable_x64(True):
        flat, build = ravel_pytree(small.params)

    def loss(theta):
        logits = jax.vmap(lambda row: small.apply(build(theta), row))(x)
        return -jnp.mean(jax.nn.log_softmax(logits)[np.arange(len(x)), y])

    with jax.enable_x64(True):
        values = np.linalg.eigvalsh(np.asarray(jax.hessian(loss)(flat)))
    assert value(found, "largest Ritz value").middle == pytest.approx(values[-1], rel=1e-9)
    assert value(found, "largest stable step of gradient descent").middle == pytest.approx(
        2 / values[-1], rel=1e-9
    )
    assert value(found, "smallest eigenvalue of the Hessian").middle == pytest.approx(
        values[0], rel=1e-6
    )


def test_the_tangent_spectrum_is_that_of_the_jacobian(small):
    found = part("tangent-spectrum", small)
    with jax.enable_x64(True):
        of_row = jax.jacobian(lambda params, row: small.apply(params, row))
        J = [jax.tree.leaves(of_row(small.params, row)) for row in small.data.x]
    J = np.concatenate([np.concatenate([np.reshape(a, (2, -1)) for a in row], 1) for row in J])
    values = np.linalg.eigvalsh(J @ J.T)
    assert value(found, "largest eigenvalue").lo == pytest.approx(values[-1])
    assert value(found, "trace").lo == pytest.approx(np.trace(J @ J.T))
    assert value(found, "eigenvalues").lo == 80
    rank = np.linalg.matrix_rank(J @ J.T)
    assert abs(value(found, "numerical rank").lo - rank) <= 2


def test_the_effective_rank_is_that_of_the_singular_values(small):
    found = part("effective-rank", small)
    ranks = []
    for state in by_hand(small, small.data.x)[1:-1]:
        sigma = np.linalg.svd(state - state.mean(0), compute_uv=False)
        p = sigma[sigma > 0] / sigma.sum()
        ranks.append(np.exp(stats.entropy(p)))
    assert [row[3] for row in found.tables[0].rows] == pytest.approx(ranks, rel=1e-6)
    assert value(found, "least effective rank of the activations of a layer").lo == pytest.approx(
        min(ranks), rel=1e-6
    )
    weights = [np.linalg.svd(layer.weight, compute_uv=False) for layer in small.description.layers]
    assert [row[3] for row in found.tables[1].rows] == pytest.approx(
        [np.exp(stats.entropy(w / w.sum())) for w in weights]
    )


def test_a_layer_of_rank_one_is_found_and_a_network_with_copies_can_lose_them(small):
    rng = np.random.default_rng(0)
    assert part("effective-rank", small).findings == ()
    last = random_mlp(rng, (8, 20, 12), bias=0.3).layers[1]
    narrow = Description(
        (Dense(np.outer(np.ones(20), rng.normal(size=8)), np.ones(20), "relu"), last)
    )
    data = Dataset("rows", rng.normal(size=(40, 8)), rng.integers(0, 12, 40))
    found = part("effective-rank", Network.described(narrow, "narrow").with_data(data))
    assert "effective rank 1." in found.findings[0].says
    left_out = part("units-on-the-box", Network.described(narrow, "narrow").with_data(data))
    assert value(left_out, "neurons that can be left out there").lo == 19
    assert "ftheta simplify narrow --box rows" in left_out.findings[0].remedy


def test_the_slope_at_infinity_is_met_far_out(small):
    found = part("rays", small)
    centre = small.data.x.mean(0)
    far = 1e9
    steepest = 0.0
    powers = []
    rows = np.sort(np.random.default_rng([0, 1]).permutation(40)[:8])
    for row in small.data.x[rows]:
        way = row - centre
        a, b = (by_hand(small, (centre + t * way)[None])[-1][0] for t in (far, 2 * far))
        near, later = (
            np.linalg.norm(by_hand(small, (centre + t * way)[None])[-1]) for t in (10, 100)
        )
        powers.append(np.log10(later / near))
        steepest = max(steepest, np.linalg.norm(b - a) / (far * np.linalg.norm(way)))
    assert value(found, "slope at infinity, steepest ray").lo == pytest.approx(steepest, rel=1e-5)
    assert value(found, "pieces on a ray").basis is Basis.EXACT
    assert value(found, "growth exponent, 10×–100× the input").lo == pytest.approx(
        max(powers), rel=1e-6
    )


def test_pieces_on_the_slice_are_exact_and_at_least_those_that_a_grid_meets(small):
    found = part("pieces-on-a-slice", small)
    known = value(found, "pieces")
    picture = found.charts[0]
    assert isinstance(picture, Regions)
    assert known.is_point and known.basis is Basis.EXACT and len(picture.polygons) == known.lo
    assert value(found, "linear regions").lo <= known.lo
    bend, always, never = (
        value(found, f"neurons {words}").lo
        for words in ("switching on this slice", "always active", "never active")
    )
    assert bend + always + never == 11 and bend > 0
    steepest = max(picture.values)
    assert steepest == pytest.approx(value(found, "Lipschitz constant there").hi, rel=1e-9)


def test_steepness_lies_between_a_secant_and_the_product_of_norms(small):
    found = part("steepness", small)
    product = np.prod([np.linalg.norm(layer.weight, 2) for layer in small.description.layers])
    met = value(found, "Lipschitz lower bound (steepest secant found)")
    bound = value(found, "Lipschitz upper bound (product of spectral norms)")
    assert met.lo <= bound.hi == pytest.approx(product, rel=1e-9) and met.basis is Basis.SAMPLED


def test_no_perturbation_of_a_certified_row_changes_its_class(small):
    unlabelled = small.with_data(replace(small.data, y=None))
    found = part("certified-rows", small)
    blind = part("certified-rows", unlabelled)
    rows = np.sort(np.random.default_rng([0, 1]).permutation(40)[:64])
    x = small.data.x[rows]
    scale = np.abs(x).max()
    rng = np.random.default_rng(5)
    decided = by_hand(small, x)[-1].argmax(1)
    right = decided == small.data.y[rows]
    for radius in (1e-3, 1e-2, 1e-1):
        stay = np.ones(len(x), bool)
        for _ in range(200):
            moved = x + radius * scale * rng.choice([-1.0, 1.0], x.shape)
            stay &= by_hand(small, moved)[-1].argmax(1) == decided
        assert value(blind, f"certified share of rows at ε = {radius:g}").lo <= stay.mean()
        assert value(found, f"certified accuracy at ε = {radius:g}").lo <= (stay & right).mean()
    assert value(blind, "certified share of rows at ε = 0.0001").lo >= 20 / 24
    assert 0 < value(found, "certified accuracy at ε = 0.0001").lo <= right.mean() < 1
    (told,) = {fact.note for fact in blind.facts if fact.name.endswith("= 0.0001")}
    assert " of 40 rows tried (40 in the data)" in told


@pytest.mark.parametrize(
    ("id", "looked_at"),
    [
        ("active-units", "1,024 of the 1,500 rows of rows"),
        ("gradients-by-layer", "64 of the 1,500 rows of rows"),
        ("test-error", "all 1,500 rows of rows"),
        ("steepness", "1,024 of the 1,500 rows of rows"),
        ("tangent-spectrum", "64 of the 1,500 rows of rows"),
        ("curvature-of-the-loss", "256 of the 1,500 rows of rows"),
    ],
)
def test_facts_say_of_how_many_rows_they_speak(id, looked_at, small):
    rng = np.random.default_rng(3)
    many = small.with_data(Dataset("rows", rng.normal(size=(1500, 3)), rng.integers(0, 2, 1500)))
    assert any(looked_at in fact.note for fact in part(id, many).facts)


def test_a_copied_and_a_silent_neuron_are_found():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(4, 2))
    b = rng.normal(size=4)
    A = rng.normal(size=(1, 4))
    W[1], b[1], A[0, 2] = 2 * W[0], 2 * b[0], 0.0
    net = Network.described(Description((Dense(W, b, "relu"), Dense(A, np.zeros(1)))), "copies")
    found = part("canonical-form", net)
    assert value(found, "neurons in the canonical form, of 4").lo == 2
    assert value(found, "duplicate or dead neurons").lo == 2
    assert (
        value(found, "minimum-norm rescaling, squared norm").lo
        <= value(found, "squared norm of the parameters").lo
    )


def test_shifts_are_felt_by_a_dense_network_and_not_by_a_periodic_convolution(digits):
    dense = part("shifts", digits)
    assert value(dense, "invariance defect, axis 1").lo > 0.1
    kernel = np.random.default_rng(0).normal(size=3)
    wave = lambda params, x: sum(w * jnp.roll(x, k, 0) for k, w in enumerate(kernel))
    ring = part("shifts", Network("ring", wave, (), (8, 2)))
    assert value(ring, "equivariance defect, axis 1").lo < 1e-12
    pooled = part(
        "shifts", Network("mean", lambda params, x: jnp.tanh(x).mean((1, 2)), (), (1, 6, 6))
    )
    assert value(pooled, "invariance defect, axis 2").lo < 1e-12


def test_turns_are_felt_by_a_dense_network_and_not_by_a_sum_over_the_image(digits):
    assert value(part("turns", digits), "invariance defect, 90° rotation").lo > 0.1
    pooled = part(
        "turns", Network("mean", lambda params, x: jnp.tanh(x).mean((1, 2)), (), (1, 6, 6))
    )
    assert {fact.name for fact in pooled.facts} >= {
        "invariance defect, 180° rotation",
        "invariance defect, 90° rotation",
    }
    assert all(value(pooled, fact.name).lo < 1e-12 for fact in pooled.facts)


def test_one_sided_differences_are_mirrored_by_no_reflection_across_them():
    across = lambda params, x: x - jnp.roll(x, 1, 2)
    found = part("turns", Network("difference", across, (), (1, 4, 6)))
    assert value(found, "equivariance defect, vertical flip").lo < 1e-12
    assert value(found, "equivariance defect, horizontal flip").lo > 0.1
    assert isinstance(
        perform(TASKS["turns"], [Network("vector", lambda params, x: x, (), (7,))], 0), Skipped
    )


def test_the_change_under_shifts_of_a_zero_padded_convolution_lies_at_its_border():
    kernel = np.random.default_rng(0).normal(size=(1, 1, 3, 3))
    padded = lambda k, x: jax.nn.relu(jax.lax.conv_general_dilated(x[None], k, (1, 1), "SAME"))[0]
    *_, where = part("shifts", Network("padded", padded, kernel, (1, 8, 8))).charts
    assert isinstance(where, Heatmap)
    changed = np.array(where.values) > 1e-9
    assert changed[1].any() and not changed[2:-2, 2:-2].any()


def test_what_overflows_is_said_to_overflow():
    rng = np.random.default_rng(0)
    net = Network.described(random_mlp(rng, (3, 6, 2), bias=0.3), "small")
    huge = net.with_data(Dataset("huge", 1e200 * rng.normal(size=(12, 3)), rng.integers(0, 2, 12)))
    found = perform(TASKS["rays"], [huge], 0)
    assert (
        isinstance(found, Skipped)
        and "overflows" in found.reason
        and "scale the data" in found.remedy
    )


# -- networks of every kind -------------------------------------------------------------------------------------------


def convolutional() -> Network:
    rng = np.random.default_rng(0)
    params = {
        "k": rng.normal(size=(3, 1, 3, 3)),
        "W": rng.normal(size=(4, 12)),
        "b": rng.normal(size=4),
    }

    def apply(p, x):
        y = jax.nn.relu(jax.lax.conv_general_dilated(x[None], p["k"], (1, 1), "SAME"))
        pooled = jax.lax.reduce_window(
            y, -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 3, 3), "VALID"
        )
        return p["W"] @ pooled.ravel() + p["b"]

    return Network("convolutional", apply, params, (1, 6, 6))


def residual() -> Network:
    rng = np.random.default_rng(0)
    params = [rng.normal(size=(5, 5)) / 3 for _ in range(4)]

    def apply(p, x):
        for A, B in zip(p[::2], p[1::2]):
            x = x + B @ jnp.maximum(A @ x, 0)
        return x

    return Network("residual", apply, params, (5,))


def transformer() -> Network:
    rng = np.random.default_rng(0)
    params = {name: rng.normal(size=(4, 4)) / 2 for name in ("Q", "K", "V", "U", "O")}

    def apply(p, x):
        z = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        weights = jax.nn.softmax(z @ p["Q"] @ (z @ p["K"]).T / 2, axis=-1)
        x = x + weights @ z @ p["V"]
        return (x + jax.nn.gelu(x @ p["U"]) @ p["O"]).mean(0)

    return Network("transformer", apply, params, (6, 4))


def without_parameters() -> Network:
    return Network("sine", lambda params, x: jnp.sin(x[0]) * x[1], (), (2,))


@pytest.mark.parametrize("make", [convolutional, residual, transformer, without_parameters])
@pytest.mark.parametrize("labelled", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_every_fact_says_something_or_why_not(make, labelled):
    net = make()
    if labelled:
        rng = np.random.default_rng(0)
        outputs = int(np.prod(net.output_shape))
        y = rng.integers(0, outputs, 20) if outputs > 1 else rng.normal(size=20)
        net = net.with_data(Dataset("rows", rng.normal(size=(20, *net.input_shape)), y))
    found = {fact.id: perform(TASKS[fact.id], [net], 0) for fact in FACTS}
    refused = {id: f.reason for id, f in found.items() if isinstance(f, Skipped)}
    assert not any("internal error" in reason for reason in refused.values()), refused
    assert {"counts", "rays"} <= {id for id, f in found.items() if isinstance(f, Part)}
    assert ("pieces-on-a-slice" in refused) == (make in (transformer, without_parameters))
    assert ("test-error" in refused) == (not labelled)
    assert all(f.remedy for f in found.values() if isinstance(f, Skipped))


def test_the_local_constant_of_a_linear_classifier_is_its_norm():
    from ftheta.auditing.facts.local_slopes import local_lipschitz

    W = np.array([[3.0, 4.0], [0.0, 0.0]])
    net = Network.described(Description((Dense(W, np.zeros(2)),)), "linear")
    for fact in local_lipschitz(net, np.random.default_rng(0)).facts:
        assert fact.value.lo == pytest.approx(5) == fact.value.hi
        assert fact.value.lo <= 5 <= fact.value.hi


def test_what_is_seen_at_made_up_inputs_is_a_note_at_most():
    """Half of the units are dead wherever inputs are near 0: of data, a warning or worse."""
    rng = np.random.default_rng(0)
    first = Dense(rng.normal(size=(8, 3)), np.where(np.arange(8) < 4, -100.0, 1.0), "relu")
    net = Network.described(
        Description((first, Dense(rng.normal(size=(2, 8)), np.zeros(2)))), "half dead"
    )
    (alone,) = part("active-units", net).findings
    given = part("active-units", net.with_data(Dataset("rows", rng.normal(size=(50, 3))))).findings
    assert alone.severity is Severity.NOTE and "standard normal inputs" in alone.means
    assert Severity.NOTE not in [
        finding.severity for finding in given if finding.rule == alone.rule
    ]
