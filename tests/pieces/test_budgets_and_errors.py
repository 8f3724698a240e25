"""Budgets end in partial results, bad input in sentences."""

import subprocess
import sys
import time
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from ftheta.logic import Basis, SubjectError, UsageError
from ftheta.networks.description import Dense, Description
from ftheta.pieces import (
    Box,
    Polygon,
    Polyline,
    Segment,
    Space,
    count_pieces,
    decompile,
    enumeration,
    equal,
    pieces,
    stream_pieces,
)
from ftheta.relu.exact import exact as in_rationals
from ftheta.relu.network import ReluNetwork
from ftheta.subjects import Network

from .networks import default_network, tent

SQUARE = Box.cube(2)


def test_a_budget_of_cells_gives_that_many_and_a_lower_bound():
    net = default_network((2, 64, 64, 1))
    for exact in ("auto", False, True):
        cells = pieces(net, SQUARE, max_cells=100, exact=exact)
        assert len(cells) == 100 and not cells.certificate.complete
        assert "max_cells" in cells.certificate.stopped_by
        assert cells.count.lo == 100 and cells.count.hi == float("inf")
    with pytest.raises(UsageError, match="all cells"):
        cells.extreme(0)


@pytest.mark.parametrize(
    ("net", "domain"),
    [
        (tent(30), Box([0.0], [1.0])),  # a thousand million pieces
        (default_network((2, 1500, 1500, 1)), SQUARE),
        (default_network((4, 60, 60, 60, 1)), Box.cube(4)),
        (default_network((4, 60, 60, 60, 1)), Space(4)),
    ],
    ids=["line", "plane", "box", "space"],
)
def test_a_budget_of_seconds_ends_a_network_of_very_many_pieces(net, domain):
    count_pieces(default_network((domain.dimension, 3, 1)), domain)  # compilation does not count
    begun = time.perf_counter()
    count = count_pieces(net, domain, max_seconds=0.5)
    assert count.hi == float("inf") and count.lo > 10
    assert time.perf_counter() - begun < 30


def burn(seconds: float) -> None:
    begun = time.thread_time()
    while time.thread_time() - begun < seconds:
        sum(range(1000))


@pytest.mark.parametrize(
    "domain",
    [Box([0.0], [1.0]), SQUARE, Box.cube(4), Space(3)],
    ids=["line", "plane", "box", "space"],
)
def test_compilation_takes_nothing_off_a_budget_of_seconds(domain, monkeypatch):
    monkeypatch.setattr(enumeration, "announce_compilation", lambda *_: burn(1.1))
    monkeypatch.setattr(enumeration, "PAUSE_AFTER", 100)  # the clock is looked at often
    assert (
        count_pieces(default_network((domain.dimension, 6, 6, 1)), domain, max_seconds=1.0).hi < inf
    )


@pytest.mark.parametrize(
    ("net", "domain", "exact"),
    [
        (tent(30), Box([0.0], [1.0]), "auto"),
        (default_network((2, 200, 200, 1)), SQUARE, "auto"),
        (default_network((4, 60, 60, 60, 1)), Box.cube(4), "auto"),
        (default_network((4, 60, 60, 60, 1)), Space(4), "auto"),
        (default_network((12, 30, 30, 1)), Box.cube(12), "auto"),
        (default_network((2, 20, 20, 1)), SQUARE, True),
    ],
    ids=["line", "plane", "box", "space", "many dimensions", "rational"],
)
def test_a_budget_of_work_ends_at_the_same_cell_however_busy_the_machine_is(
    net, domain, exact, monkeypatch
):
    monkeypatch.setattr(enumeration, "PAUSE_AFTER", 10_000)
    free = count_pieces(net, domain, max_work=100_000, exact=exact)
    ages = iter(range(10**9))
    # every look is a million seconds later
    monkeypatch.setattr(enumeration, "clock", lambda: 1e6 * next(ages))
    assert count_pieces(net, domain, max_work=100_000, exact=exact) == free
    assert free.hi == inf and free.lo > 0


def test_a_budget_of_work_that_is_none_is_refused():
    with pytest.raises(UsageError, match="max_work"):
        pieces(tent(3), SQUARE, max_work=0)


def test_streaming_can_be_left_at_any_time():
    chunks = stream_pieces(tent(30), Box([0.0], [1.0]))
    assert len(next(chunks)) > 1000


def test_an_exactly_reached_budget_is_complete():
    net = default_network((2, 8, 1))
    n = len(pieces(net, SQUARE))
    assert pieces(net, SQUARE, max_cells=n).certificate.complete
    assert not pieces(net, SQUARE, max_cells=n - 1).certificate.complete


@pytest.mark.parametrize(
    "make",
    [
        lambda: Segment([0.0, 0.0], [0.0, 0.0]),
        lambda: Segment([0.0], [0.0, 1.0]),
        lambda: Polyline([[0.0, 1.0]]),
        lambda: Polygon([[0, 0], [1, 1], [2, 2]]),
        lambda: Polygon([[0, 0], [2, 0], [0.5, 0.5], [0, 2]]),
        lambda: Polygon([[0, 0], [1, 0], [0, np.nan]]),
        lambda: Polygon(
            [[0, 0], [1, 0], [0, 1]], origin=np.zeros(3), basis=[[1, 2], [1, 2], [1, 2]]
        ),
        lambda: Polygon.through([0.0, 0.0], [1.0, 1.0], [2.0, 2.0]),
        lambda: Box([0.0, 0.0], [1.0, 0.0]),
        lambda: Box([0.0], [np.inf]),
        lambda: Space(0),
    ],
)
def test_empty_and_flat_domains_are_refused(make):
    with pytest.raises(UsageError):
        make()


def test_wrong_arguments_are_refused_with_a_remedy():
    net = default_network((2, 4, 1))
    with pytest.raises(UsageError, match="another space"):
        pieces(net, Box.cube(3))
    with pytest.raises(UsageError, match="no domain"):
        pieces(net, "square")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="ReluNetwork"):
        pieces(np.eye(2), SQUARE)
    with pytest.raises(UsageError, match="max_cells"):
        pieces(net, SQUARE, max_cells=0)
    with pytest.raises(UsageError, match="max_seconds"):
        pieces(net, SQUARE, max_seconds=-1)
    with pytest.raises(UsageError, match="counted"):
        pieces(net, Space(2))
    with pytest.raises(UsageError, match="slice"):
        _ = pieces(default_network((30, 4, 1)), Box.cube(30)).vertices
    with pytest.raises(SubjectError, match="finite"):
        ReluNetwork.dense([[[np.nan, 1.0]], [[1.0]]], [[0.0], [0.0]])


@pytest.mark.nightly
def test_questions_to_a_network_of_very_many_pieces_end_within_their_budget():
    # a thousand million pieces
    net = tent(30)
    unit = Box([0.0], [1.0])
    begun = time.perf_counter()
    cells = pieces(net, unit, max_seconds=0.3)
    assert not cells.certificate.complete and cells.lipschitz().lo == 2.0**30
    assert cells.lipschitz().hi == float("inf")
    for question in (cells.extreme, cells.euler, cells.decision_regions):
        with pytest.raises(UsageError):
            question()
    assert cells.activity.dead.lo == 0 and cells.activity.dead.basis is Basis.EXACT
    assert equal(net, tent(29), unit, max_seconds=0.3).equal is False
    with pytest.raises(UsageError, match="all cells"):
        decompile(net, unit, max_seconds=0.3)
    assert time.perf_counter() - begun < 60


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused_wherever_they_stand(bad):
    for where in ((bad, 0.0), (0.0, bad)):
        with pytest.raises(SubjectError, match="finite"):
            ReluNetwork.dense([[[1.0, where[0]]], [[1.0]]], [[where[1]], [0.0]])


def test_a_domain_of_another_dimension_is_refused_by_every_question():
    net = default_network((3, 4, 1))
    for domain in (
        SQUARE,
        Polygon([[0, 0], [1, 0], [0, 1]]),
        Segment([0.0], [1.0]),
        Polyline([[0.0], [1.0]]),
    ):
        questions: list[Any] = [pieces, count_pieces, decompile, lambda n, d: equal(n, n, d)]
        for question in questions:
            with pytest.raises(UsageError, match="another space"):
                question(net, domain)


def test_weights_near_the_ends_of_float64_are_exact():
    tiny = ReluNetwork.dense([[[1e-200]], [[1e-100]]], [[-0.5e-200], [0.0]])
    cells = pieces(tiny, Box([0.0], [1.0]))
    assert len(cells) == 2 and cells.exact_volumes == (0.5, 0.5)
    low, high = pieces(
        ReluNetwork.dense([[[1e200]], [[1e200]]], [[0.0], [0.0]]), Box([-1.0], [1.0])
    ).extreme()
    assert (
        low.lo == low.hi == 0
        and high.lo > 1e308
        and high.hi == np.inf
        and high.basis is Basis.EXACT
    )


def test_repeated_and_collinear_corners_are_dropped_and_orientation_does_not_matter():
    ring = [[0, 0], [1, 0], [2, 0], [2, 2], [2, 2], [0, 2]]
    assert len(Polygon(ring).corners) == len(Polygon(ring[::-1]).corners) == 4


def test_importing_pieces_does_not_import_numba():
    code = "import sys, ftheta.pieces; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_networks_of_every_kind_have_the_same_pieces():
    """A normal form, rationals, a list of layers, a subject: one network, one complex; words are shown a way out."""
    net = default_network((2, 6, 5, 1), 3)
    layers = [
        Dense(step.dense(), step.offset, "relu" if step.rectified.any() else "identity")
        for step in net.steps
    ]
    told = Description(tuple(layers))
    counts = [
        count_pieces(n, SQUARE) for n in (net, in_rationals(net), told, Network.described(told))
    ]
    assert len({c.lo for c in counts}) == 1 and counts[0].lo > 10 and counts[0].basis is Basis.EXACT
    assert pieces(Network.described(told), SQUARE).count.lo == counts[0].lo
    assert equal(net, Network.described(told), SQUARE)
    with pytest.raises(UsageError, match=r"ft\.load"):
        pieces("model.onnx", SQUARE)
    with pytest.raises(SubjectError, match="not piecewise affine"):
        pieces(
            Network.described(Description((Dense(np.eye(2), np.zeros(2), "tanh"), layers[0]))),
            SQUARE,
        )
    third = in_rationals(net) * Fraction(1, 3)  # weights that are not floats
    assert count_pieces(third, SQUARE) == counts[0] and equal(third * 3, net, SQUARE)


def test_a_network_prints_as_its_widths():
    net = default_network((2, 6, 5, 1), 3)
    assert repr(net) == "ReluNetwork(2 → 6 → 5 → 1, 11 neurons)"
    assert repr(in_rationals(net)).startswith("ExactNetwork(2 → 6")
