"""Monotone and convex outputs, far rows, memorised rows and confidence far away, beside what is known of them."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ftheta.auditing.part import Part
from ftheta.estimates.calibration import softmax
from ftheta.logic import Basis
from ftheta.networks import Dense, Description, random_mlp
from ftheta.subjects import Dataset, Network
from tests.auditing.test_kinds import part, rules_of, value


def mlp(first: np.ndarray, last: np.ndarray, rows: np.ndarray) -> Network:
    layers = (Dense(first, np.full(len(first), 0.1), "relu"), Dense(last, np.zeros(len(last))))
    return Network.described(Description(layers), "made").with_data(Dataset("rows", rows))


def directions(found: Part) -> dict[tuple, str]:
    return {(row[0], row[1]): row[4] for row in found.tables[0].rows}


def test_signs_of_slopes_that_follow_from_the_weights_are_proved():
    """f₀ is increasing in x₀ and decreasing in x₁, f₁ does not depend on x₁ as its neurons do not."""
    first = np.array([[1.0, -2.0], [0.5, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    last = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    rows = np.random.default_rng(0).normal(size=(30, 2))
    found = part("monotone-and-convex", mlp(first, last, rows))
    known = directions(found)
    assert known[("input 0", 0)] == "increasing" and known[("input 1", 0)] == "decreasing"
    assert known[("input 1", 1)] == "no dependence" and known[("input 0", 1)] == "–"
    assert value(found, "outputs proved convex").lo == 2


def test_concave_and_affine_outputs_are_told_apart():
    first = np.eye(2)
    last = np.array([[-1.0, -1.0], [1.0, -1.0]])
    rows = np.random.default_rng(0).normal(size=(30, 2))
    found = part("monotone-and-convex", mlp(first, last, rows))
    assert (
        value(found, "outputs proved concave").lo == 1
        and value(found, "outputs proved convex").lo == 0
    )
    # all neurons are on: nothing bends
    inside = part("monotone-and-convex", mlp(first, last, np.abs(rows)))
    assert value(inside, "outputs proved affine").lo == 2


@pytest.mark.parametrize("seed", range(6))
def test_no_slope_of_a_random_network_leaves_its_bounds(seed):
    rng = np.random.default_rng(seed)
    net = Network.described(random_mlp(rng, (3, 8, 6, 1), bias=0.5), "random")
    rows = rng.uniform(0.2, 0.5, (40, 3))
    found = part("monotone-and-convex", net.with_data(Dataset("rows", rows)))
    bounds = {(row[0], row[1]): row[2:4] for row in found.tables[0].rows}
    weights = [(layer.weight, layer.bias) for layer in net.description.layers]
    for x in rows:
        slope = np.eye(3)
        for k, (W, b) in enumerate(weights):
            x = W @ x + b
            slope = W @ slope
            if k < 2:
                slope = slope * (x > 0)[:, None]
                x = np.maximum(x, 0)
        for (name, j), (low, high) in bounds.items():
            assert low <= slope[j, int(name.split()[1])] <= high


def test_outputs_proved_convex_lie_below_their_chords():
    proved = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        net = Network.described(random_mlp(rng, (2, 2, 1), bias=0.3), "narrow")
        rows = rng.normal(size=(20, 2))
        found = part("monotone-and-convex", net.with_data(Dataset("rows", rows)))
        if value(found, "outputs proved convex").lo == 1:
            proved += 1
            points = rng.uniform(rows.min(0), rows.max(0), (40, 2))
            values = np.array([float(net(x)[0]) for x in points])
            middle = np.array(
                [float(net((a + b) / 2)[0]) for a, b in zip(points[:20], points[20:])]
            )
            assert (middle <= (values[:20] + values[20:]) / 2 + 1e-9).all()
    assert 0 < proved < 8


def test_even_functions_show_no_departure():
    net = Network.described(
        Description(
            (
                Dense(np.array([[1.0], [-1.0]]), np.zeros(2), "relu"),
                Dense(np.ones((1, 2)), np.zeros(1)),
            )
        ),
        "abs",
    )
    found = part("monotone-and-convex", net)
    assert value(found, "departure from an even function").lo == 0
    assert value(found, "departure from an odd function").lo > 1


@pytest.fixture(scope="module")
def classifier() -> Network:
    rng = np.random.default_rng(0)
    net = Network.described(random_mlp(rng, (2, 16, 3), bias=0.5), "classifier")
    x = rng.normal(size=(200, 2))
    labels = lambda x: np.array([int(np.asarray(net(row)).argmax()) for row in x])
    train = Dataset("train", x[:150], labels(x[:150]))
    return net.with_data(Dataset("test", x[150:], labels(x[150:]))).with_train_data(train)


def test_far_rows_are_those_beyond_every_distance_of_training(classifier):
    moved = classifier.data.x.copy()
    moved[:4] += 40.0
    found = part("far-rows", replace(classifier, data=replace(classifier.data, x=moved)))
    scale = classifier.train_data.x.std(0)
    apart = cdist(classifier.train_data.x / scale, classifier.train_data.x / scale) + np.diag(
        np.full(150, np.inf)
    )
    here = cdist(moved / scale, classifier.train_data.x / scale).min(1)
    assert (
        value(found, "rows further from training than any of its rows").lo
        == (here > apart.min(1).max()).sum()
        >= 4
    )
    assert {row[0] for row in found.tables[0].rows} >= {0, 1, 2, 3}
    assert rules_of(found)["far-rows"] == "warning"


def test_a_row_with_a_foreign_label_among_its_like_looks_memorised():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 0.1, (60, 2)), rng.normal(5, 0.1, (60, 2))])
    y = np.repeat([0, 1], 60)
    y[7] = 1
    x[7] = [0.0, 0.0]

    def recall(row):
        """The left cloud is class 0, but for the one row that was learnt by heart."""
        is_first = (row.sum() < 5.0) & ~jnp.all(row == 0.0)
        return jnp.where(is_first, jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]))

    net = Network.of(recall, (2,)).with_data(Dataset("t", x, y))
    found = part("memorised-rows", net.with_train_data(Dataset("train", x, y)))
    assert value(found, "of these, rows that the network has right (memorised)").lo == 1
    assert found.tables[0].rows[0][0] == 7


def test_margins_and_the_bound_of_the_risk_are_those_of_the_outputs(classifier):
    found = part("margins", classifier)
    outputs = np.array([np.asarray(classifier(row)) for row in classifier.data.x])
    own = outputs[np.arange(50), classifier.data.y]
    rest = np.sort(outputs, axis=1)[:, -2]
    assert value(found, "median margin on the data").lo == pytest.approx(np.median(own - rest))
    risk = value(found, "risk on new rows, at most")
    assert risk.hi == pytest.approx(1 - 0.05 ** (1 / 50), rel=1e-6)  # no row wrong
    assert (risk.basis, risk.samples, risk.confidence) == (Basis.SAMPLED, 50, 0.95)


def test_confidence_along_rays_is_that_of_softmax(classifier):
    found = part("rays", classifier)
    sure = value(found, "confidence 100 times as far").lo
    assert 1 / 3 <= sure <= 1
    centre = classifier.data.x.mean(0)
    rows = np.sort(np.random.default_rng([0, 1]).permutation(50)[:8])
    far = [np.asarray(classifier(centre + 100 * (x - centre))) for x in classifier.data.x[rows]]
    assert sure == pytest.approx(np.median(softmax(np.array(far)).max(1)))


def test_columns_that_add_up_are_found():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 4))
    x[:, 3] = x[:, 0] + 2 * x[:, 1]
    net = Network.described(random_mlp(rng, (4, 5, 2)), "net").with_data(Dataset("rows", x))
    found = part("columns", net)
    assert value(found, "columns that others add up to").lo == 1
    assert rules_of(found) == {"dependent-columns": "note"}
