"""The picture of classes agrees with the network everywhere, not only at the centres of cells."""

from itertools import pairwise

import numpy as np
import pytest

from ftheta.logic import Curves, Regions, UsageError
from ftheta.pieces import Box, Polygon, Segment, pieces
from ftheta.pieces.rows import class_numbers, rows_among
from ftheta.relu.network import ReluNetwork

NEAR = 1e-9
SQUARE = [(-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)]
KINDS = ("generic", "integer", "tied", "large")


def classifier(kind: str, inputs: int, outputs: int, seed: int) -> ReluNetwork:
    """A random network; with small integers ties are frequent, two equal outputs tie everywhere."""
    rng = np.random.default_rng(seed)
    widths = [inputs, *rng.integers(2, 7, size=rng.integers(1, 3)).tolist(), outputs]
    weights = []
    biases = []
    for n, m in pairwise(widths):
        weights.append(
            rng.integers(-2, 3, (m, n)).astype(float)
            if kind == "integer"
            else rng.normal(size=(m, n))
        )
        biases.append(
            rng.integers(-1, 2, m).astype(float) if kind == "integer" else 0.4 * rng.normal(size=m)
        )
    if kind == "tied":
        weights[-1][-1] = weights[-1][0]
        biases[-1][-1] = biases[-1][0]
    if kind == "large":
        weights[0] *= 1e6
        biases[0] *= 1e6
    return ReluNetwork.dense(weights, biases)


def classes_of(net: ReluNetwork, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The class of each input, by the network itself, and which are too near to a tie to tell in float64."""
    values = np.asarray(net(x)).reshape(len(x), -1)
    if values.shape[1] == 1:
        values = np.column_stack([np.zeros(len(x)), values])
    best = np.sort(values, axis=1)
    open_to_doubt = best[:, -1] - best[:, -2] <= 1e-9 * (1 + np.abs(values).max())
    return values.argmax(axis=1), open_to_doubt


def inside(polygon: np.ndarray, points: np.ndarray, room: float) -> np.ndarray:
    """Which points lie in a convex polygon in order, or at most `room` beside it; negative: so deep inside."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    lengths = np.hypot(*edges.T)
    sides = lengths > 1e-11 * lengths.max()  # of shorter ones rounding decides the direction
    polygon = polygon[sides]
    edges = edges[sides]
    lengths = lengths[sides]
    turns = edges[:, 0] * (points[:, None, 1] - polygon[:, 1]) - edges[:, 1] * (
        points[:, None, 0] - polygon[:, 0]
    )
    left = turns / lengths  # how far to the left of each side
    return ((left >= -room).all(axis=1) | (left <= room).all(axis=1)) & sides.any()


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))) / 2


def assert_agrees(chart: Regions, net: ReluNetwork, domain: Box | Polygon, seed: int) -> None:
    corners = np.asarray(domain.corners)
    lo = corners.min(axis=0)
    hi = corners.max(axis=0)
    points = np.random.default_rng(seed).uniform(lo, hi, (400, 2))
    points = points[inside(corners, points, 0.0)]
    truth, doubt = classes_of(net, domain.chart(points))
    found = np.zeros(len(points), bool)
    for polygon, value in zip(chart.polygons, chart.values):
        found |= inside(np.array(polygon), points, NEAR)
        here = inside(np.array(polygon), points, -NEAR)
        assert (truth[here & ~doubt] == value).all(), "a part in the colour of another class"
    assert found.all(), "a part is missing"
    assert sum(area(np.array(p)) for p in chart.polygons) == pytest.approx(area(corners), rel=1e-6)


@pytest.mark.parametrize("exact", ["auto", False])
@pytest.mark.parametrize("outputs", [1, 2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_every_point_of_the_plane_has_the_colour_of_its_class(kind, outputs, exact):
    for seed in range(4):
        net = classifier(kind, 2, outputs, 10 * seed + outputs)
        domain = Box([-1.0, -1.5], [2.0, 1.0])
        chart = pieces(net, domain, exact=exact, maps=True).chart("class", boundary=True)
        assert isinstance(chart, Regions) and len(chart.classes) == max(2, outputs)
        assert_agrees(chart, net, domain, seed)


def test_a_sliver_thinner_than_float64_is_not_drawn():
    """At a corner of the box a class of five has a triangle whose corners are the same numbers in float64."""
    domain = Box([-0.1, -0.1], [0.1, 0.2])
    net = classifier("integer", 2, 5, 834465973)
    chart = pieces(net, domain, maps=True).chart("class")
    assert isinstance(chart, Regions) and all(area(np.array(p)) > 0 for p in chart.polygons)
    assert_agrees(chart, net, domain, 0)


def test_so_it_is_on_a_slice():
    rng = np.random.default_rng(5)
    net = classifier("generic", 5, 3, 5)
    p, q, r = rng.normal(size=(3, 5))
    domain = Polygon.through(p, q, r, SQUARE)
    chart = pieces(net, domain, maps=True).chart("class")
    assert isinstance(chart, Regions)
    assert_agrees(chart, net, domain, 5)


@pytest.mark.parametrize("outputs", [1, 3])
def test_so_it_is_on_a_line(outputs):
    net = classifier("generic", 1, outputs, 3)
    chart = pieces(net, Segment([-3.0], [3.0]), maps=True).chart("class", boundary=True)
    assert isinstance(chart, Curves)
    (steps,) = chart.series
    x = np.random.default_rng(0).uniform(-3, 3, (500, 1))
    truth, doubt = classes_of(net, x)
    starts = np.array(steps.x[::2])
    ends = np.array(steps.x[1::2])
    heights = np.array(steps.y[::2])
    for a, b, height in zip(starts, ends, heights):
        here = (a < x[:, 0]) & (x[:, 0] < b) & ~doubt
        assert (truth[here] == height).all()
    assert (starts[1:] == pytest.approx(ends[:-1])) and starts[0] == -3 and ends[-1] == 3


def plane_of_two() -> ReluNetwork:
    """Class 1 exactly where x₁ > 0."""
    return ReluNetwork.dense(
        [np.eye(2), np.array([[0.0, 0.0], [1.0, 0.0]])], [np.zeros(2), np.zeros(2)]
    )


def test_rows_are_found_in_the_plane_and_compared_with_their_class():
    cells = pieces(plane_of_two(), Box([-1.0, -1.0], [1.0, 1.0]), maps=True)
    x = np.array([[0.5, 0.2], [-0.5, 0.1], [0.5, -0.3], [3.0, 0.0]])
    chart = cells.chart("class", data=(x, [1, 0, 0, 1]))
    assert isinstance(chart, Regions) and "3 of 4 rows lie here" in chart.title
    assert chart.points == ((0.5, 0.2, 1, 1), (-0.5, 0.1, 0, 0), (0.5, -0.3, 0, 1))
    unknown = cells.chart("class", data=(x[:1], None))
    assert isinstance(unknown, Regions) and unknown.points == ((0.5, 0.2, -1, 1),)


def test_of_a_slice_only_the_rows_on_it_are_marked():
    rng = np.random.default_rng(2)
    net = classifier("generic", 6, 3, 1)
    rows = rng.normal(size=(40, 6))
    domain = Polygon.through(rows[3], rows[1], rows[7], SQUARE)
    marked = rows_among(pieces(net, domain, maps=True), (rows, rng.integers(0, 3, 40)))
    places = marked.points[np.lexsort(marked.points[:, :2].T)][:, :2]
    assert marked.left_out == 37 and np.allclose(places, [[0, 0], [1, 0], [0, 1]], atol=1e-9)


def test_labels_are_read_as_classes_or_refused():
    assert class_numbers([0, 2, 1], 3, 3).tolist() == [0, 2, 1]
    assert class_numbers(np.eye(3)[[2, 0]], 2, 3).tolist() == [2, 0]
    assert class_numbers([-1.0, 1.0, -1.0], 3, 1).tolist() == [0, 1, 0]
    for labels in ([0, 3], [0.5, 1], [-1, 1], [0, 1, 2]):
        with pytest.raises(UsageError, match="class numbers"):
            class_numbers(labels, 2, 3)


def test_rows_that_are_no_inputs_and_other_colours_are_refused():
    cells = pieces(plane_of_two(), Box([-1.0, -1.0], [1.0, 1.0]), maps=True)
    with pytest.raises(UsageError, match="no inputs"):
        cells.chart("class", data=(np.zeros((2, 3)), [0, 1]))
    with pytest.raises(UsageError, match="picture of classes"):
        cells.chart("slope", data=(np.zeros((2, 2)), [0, 1]))


def test_linear_regions_have_colours_without_a_scale_and_on_a_line_their_numbers():
    net = classifier("generic", 2, 1, 4)
    plane = pieces(net, Box([-1.0, -1.0], [1.0, 1.0]), maps=True).chart("region")
    assert isinstance(plane, Regions) and not plane.label and "linear regions" in plane.title
    line = pieces(net, Segment([-3.0, 0.0], [3.0, 1.0]), maps=True).chart("region")
    assert isinstance(line, Curves) and all(y == int(y) for y in line.series[0].y)
