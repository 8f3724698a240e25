"""Budgets by the clock: a search ends when its time is over, with what it has shown; what is done once is free."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from math import isfinite
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from numba.core import event

import ftheta as ft
from ftheta.certify import boxes, ladder
from ftheta.certify.behaviour import ranges
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.searches import Verification
from ftheta.certify.verification import decide
from ftheta.processes import compilation
from ftheta.processes.compilation import clock, clock_stopped
from ftheta.relu.network import ReluNetwork
from ftheta.stability import radii


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock on which every look is half a second later."""
    looks = itertools.count()
    monkeypatch.setattr(compilation, "time", SimpleNamespace(monotonic=lambda: 0.5 * next(looks)))
    yield


def draw_network(*sizes: int) -> ReluNetwork:
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)]
    return ReluNetwork.dense(weights, [np.zeros(len(W)) for W in weights])


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("inputs", [12, 20], ids=["boxes of inputs", "signs of neurons"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_that_would_take_hours_ends_with_its_best_enclosure(
    inputs: int, threads: int
) -> None:
    net = draw_network(inputs, 60, 60, 60, 1)
    asked = ft.Outputs(lambda y: y <= 20000).on([-1] * inputs, [1] * inputs)
    found = ft.verify(net, asked, budget="60s", threads=threads)
    assert found.answer == "timeout" and found.holds is None and not found.interrupted
    assert isfinite(found.least) and found.open


@pytest.mark.usefixtures("hasty")
def test_a_range_ends_with_what_is_known() -> None:
    found = ft.range(
        draw_network(12, 60, 60, 60, 1), ([-1] * 12, [1] * 12), budget="60s", tolerance=1e-9
    )
    assert not found.is_tight
    assert -np.inf < found.lo[0] < found.least[0] < found.greatest[0] < found.hi[0] < np.inf


def test_a_network_that_takes_all_the_time_to_read_is_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ages = iter([0.0])
    monkeypatch.setattr(compilation, "time", SimpleNamespace(monotonic=lambda: next(ages, 1e6)))
    found = ft.verify(
        draw_network(2, 4, 1), ft.Outputs(lambda y: y <= 1000).on([-1, -1], [1, 1]), budget="60s"
    )
    assert found.answer == "timeout" and found.subproblems == 0


def test_the_clock_stands_still_while_something_is_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(compilation, "time", SimpleNamespace(monotonic=lambda: now[0]))
    began = clock()
    with clock_stopped(), event.trigger_event("numba:compile"):  # compilations may be nested
        now[0] += 30
        assert clock() == began
    now[0] += 2
    assert clock() == began + 2


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("parts", [1, 2])
def test_ctrl_c_leaves_an_enclosure_of_what_is_open(
    monkeypatch: pytest.MonkeyPatch, threads: int, parts: int
) -> None:
    """Pressed while boxes are searched; none is known where another part of the question was not looked at yet."""
    net = draw_network(12, 60, 60, 60, 1)
    looks = itertools.count()
    fit_chunk = boxes._fit_chunk

    def press(*numbers: float) -> int:
        if next(looks) == 6:
            raise KeyboardInterrupt
        return fit_chunk(*numbers)

    box = Box((Fraction(-1),) * 12, (Fraction(1),) * 12)
    # is there an output of 20,000 or more?
    case = Case(box, ((Row({}, {0: Fraction(-1)}, Fraction(-20000)),),))
    monkeypatch.setattr(boxes, "_fit_chunk", press)
    found = decide(net, Question(12, 1, (case,) * parts), seconds=600, threads=threads)
    assert found.answer == "unknown" and found.interrupted and found.open
    assert isfinite(found.least) == (parts == 1)
    rows = np.random.default_rng(1).choice([-1.0, 1.0], size=(500, 12))
    assert found.least <= 20000 - max(net(x)[0] for x in rows)


INTERRUPTED = Verification(
    "unknown", None, "input splitting", "the real function", 1, 1, 0.1, 0.1, interrupted=True
)


def test_ctrl_c_ends_a_range_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(ranges, "decide", lambda *_, **__: asked.append(0) or INTERRUPTED)
    found = ft.range(draw_network(3, 20, 4), ([-1] * 3, [1] * 3), budget="10m", tolerance=1e-9)
    assert len(asked) == 1 and found.interrupted
    assert (found.lo <= found.least).all() and np.isfinite(found.hi).all()


@pytest.mark.parametrize("step", ["find_steep", "_enumerate"])
def test_ctrl_c_ends_the_ladder_of_lipschitz_bounds_with_those_that_are_known(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    W, V = (np.random.default_rng(k).normal(size=size) for k, size in enumerate([(6, 2), (1, 6)]))
    net = ft.Network.of(lambda x: V @ jnp.maximum(W @ x, 0), np.zeros(2))
    monkeypatch.setattr(ladder, step, press)
    found = ft.lipschitz(net, budget=0.1)
    assert found.lo <= found.hi < np.inf and ladder.INTERRUPTED in found.remarks
    assert (found.lo > 0) == (step == "_enumerate")


def test_ctrl_c_ends_the_search_for_radii_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(radii.Certifier, "decide", lambda *_, **__: asked.append(0) or INTERRUPTED)
    rows = np.array([[0.3, 0.1, 0.2], [0.1, -0.7, 0.4]])
    W, V = (np.random.default_rng(k).normal(size=size) for k, size in enumerate([(20, 3), (4, 20)]))
    net = ft.Network.of(lambda x: V @ jnp.maximum(W @ x, 0), np.zeros(3))
    found = ft.certified_radius(net, rows, budget="10m", methods=("interval", "branch and bound"))
    assert len(asked) == 1 and found.interrupted
    assert (found.radius <= found.distance).all()
