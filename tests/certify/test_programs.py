"""Networks of any operators, decided by boxes: against sampling, against exact minima, and with each rule spoilt."""

import csv
import time
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
import ftheta.certify.programs.rows as rows_module
from ftheta.certify.programs.boxes import BoxSearch
from ftheta.certify.programs.judging import EnclosingJudge
from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.programs.rows import Bounded, Rows, exclude
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.logic.errors import FthetaError, SubjectError
from ftheta.verifying import read_network

from ..thoroughness import max_examples
from .vnncomp import BENCHMARKS

ACTIVATIONS = {
    "sigmoid": lambda x: 1 / (1 + jnp.exp(-x)),
    "tanh": jnp.tanh,
    "sine": jnp.sin,
    "square": lambda x: x * x,
    "bump": lambda x: jnp.exp(-x * x),
}


def smooth_network(rng, inputs, hidden, activation):
    """One hidden layer, and a product of its outputs with the inputs."""
    W = rng.normal(size=(hidden, inputs))
    b = rng.normal(size=hidden)
    V = rng.normal(size=(2, hidden))
    shift = rng.normal(size=inputs)

    def f(x):
        y = V @ ACTIVATIONS[activation](W @ x + b)
        return jnp.stack([y[0], y[1] * (shift @ x)])

    return ft.Network.of(f, example=(inputs,))


def case_below(bound, inputs=2, output=0, lo=-1, hi=1, strict=False):
    """Is there an input of the box whose output is at most `bound`?"""
    row = Row({}, {output: Fraction(1)}, Fraction(bound), strict)
    return Case(Box((Fraction(lo),) * inputs, (Fraction(hi),) * inputs), ((row,),))


def sample(net, rng, count, inputs):
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * inputs), -1).reshape(-1, inputs)
    points = np.concatenate([corners, rng.uniform(-1, 1, (count, inputs))])
    return TracedNetwork(net).propagate(points)[0]


def ask(net, case, outputs=2, seconds=20.0):
    return ft.verify(net, Question(len(case.box.lo), outputs, (case,)), budget=seconds, threads=1)


@max_examples(12)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(ACTIVATIONS)),
    st.integers(1, 3),
    st.integers(0, 1),
    st.sampled_from([-0.1, -(2.0**-10), 2.0**-10, 0.1]),
)
def test_smooth_networks_against_sampling(seed, activation, inputs, output, beside):
    rng = np.random.default_rng(seed)
    net = smooth_network(rng, inputs, 4, activation)
    least = float(sample(net, rng, 4000, inputs)[:, output].min())
    found = ask(net, case_below(least + beside, inputs, output))
    if beside > 0:
        assert found.answer == "sat"
    if found.answer == "sat":
        assert found.witness is not None
        x = np.array([[float(v) for v in found.witness.x]])
        value = TracedNetwork(net).propagate(x)[0][0, output]
        assert value <= least + beside + 1e-9
        assert abs(float(found.witness.y[output]) - value) <= 1e-9
        assert all(-1 <= v <= 1 for v in found.witness.x)
    assert found.answer in ("sat", "unsat")


def test_thresholds_beside_a_known_minimum():
    """(x + y)² − 1/2 x has its minimum on a line; embedded so that the exact value is known: −1/2 at x = 1, y = −1."""
    net = ft.Network.of(
        lambda x: jnp.stack([(x[0] + x[1]) ** 2 - x[0] / 2, jnp.exp(x[0])]), example=(2,)
    )
    for k in (10, 20):
        assert ask(net, case_below(Fraction(-1, 2) - Fraction(1, 2**k))).answer == "unsat"
        assert ask(net, case_below(Fraction(-1, 2) + Fraction(1, 2**k))).answer == "sat"


def test_constants_that_cancel_are_not_rounded_away():
    big = 2.0**56
    net = ft.Network.of(lambda x: jnp.stack([(jnp.sin(x[0]) + big) - big, x[1]]), example=(2,))
    assert ask(net, case_below(-1.001)).answer == "unsat"
    assert ask(net, case_below(-0.84, strict=True), seconds=2).answer != "unsat"


def test_two_rows_of_a_disjunct_are_excluded_together():
    """Neither row alone excludes the box: x ≤ −0.1 and −x ≤ −0.1, behind a function that bends."""
    net = ft.Network.of(lambda x: jnp.stack([jnp.sinh(x[0]), -jnp.sinh(x[0])]), example=(1,))
    rows = tuple(Row({}, {j: Fraction(1)}, Fraction(-1, 10)) for j in range(2))
    case = Case(Box((Fraction(-1),), (Fraction(1),)), (rows,))
    assert ask(net, case).answer == "unsat"
    assert ask(net, Case(case.box, ((rows[0],), (rows[1],)))).answer == "sat"


def test_rows_of_inputs_count():
    net = ft.Network.of(lambda x: jnp.tanh(x), example=(2,))
    rows = (Row({0: Fraction(1), 1: Fraction(1)}, {0: Fraction(1)}, Fraction(-3)),)
    assert ask(net, Case(Box((Fraction(-1),) * 2, (Fraction(1),) * 2), (rows,))).answer == "unsat"
    rows = (Row({0: Fraction(1), 1: Fraction(1)}, {0: Fraction(1)}, Fraction(-11, 4)),)
    assert ask(net, Case(Box((Fraction(-1),) * 2, (Fraction(1),) * 2), (rows,))).answer == "sat"


def test_a_refutation_is_certain_by_enclosure():
    """At a tie that rounding cannot decide, nothing is said."""
    net = TracedNetwork(ft.Network.of(lambda x: jnp.exp(x), example=(1,)))
    tie = Case(Box((Fraction(0),), (Fraction(1),)), ((Row({}, {0: Fraction(1)}, Fraction(1)),),))
    judge = EnclosingJudge(net, tie)
    assert not judge.propose(np.array([2.0**-30]))
    assert judge.witness is None
    away = Case(tie.box, ((Row({}, {0: Fraction(1)}, Fraction(11, 10)),),))
    judge = EnclosingJudge(net, away)
    assert judge.propose(np.array([-5.0]))  # moved into the box
    assert judge.witness is not None and judge.witness.x == (Fraction(0),)
    assert abs(judge.witness.y[0] - 1) <= judge.witness.within <= Fraction(1, 10**12)


def test_a_witness_lies_inside_the_box_as_written():
    """A thin box whose ends no float hits."""
    net = ft.Network.of(lambda x: jnp.sin(x), example=(1,))
    third = Fraction(1, 3)
    case = Case(Box((third,), (third,)), ((Row({}, {0: Fraction(1)}, Fraction(1, 2)),),))
    found = ask(net, case, outputs=1)
    assert found.answer == "sat" and found.witness is not None and found.witness.x == (third,)


def test_clipping_loses_no_point():
    rng = np.random.default_rng(3)
    for _ in range(200):
        inputs, count = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        A = rng.normal(size=(1, count, inputs)) * rng.integers(0, 2, (1, count, inputs))
        low = -rng.uniform(0, 1, (1, inputs))
        high = rng.uniform(0, 1, (1, inputs))
        offset = rng.normal(size=(1, count))
        least = np.minimum(A * low[:, None], A * high[:, None]).sum(2) + offset
        rows = Rows(
            np.zeros((count, 1)), None, np.zeros(count), np.zeros(count, bool), (np.arange(count),)
        )
        found = Bounded(np.arange(count), least - 1e-12, A, least - 1e-12)
        outcome = exclude(rows, found, np.ones((1, 1), bool), low, high)
        x = rng.uniform(low, high, (500, inputs))
        holds = ((x[:, None] * A).sum(2) + offset <= 0).all(1)
        if holds.any():
            assert outcome.open[0, 0]
            assert np.all(x[holds] >= outcome.low) and np.all(x[holds] <= outcome.high)


@pytest.mark.parametrize("spoilt", ["_clip", "_least_within", "doubt_of_rows"])
def test_a_spoilt_rule_is_caught(monkeypatch, spoilt):
    """Each rule of exclusion, wrong on purpose, gives a wrong proof that the same questions catch."""
    wrong = {
        "_clip": lambda A, least, low, high: (low / 2 + high / 2, high),
        "_least_within": lambda A, least, *boxes: least + 10.0,
        "doubt_of_rows": lambda net, rows, numbers, relaxed, sets: np.array(-10.0),
    }
    monkeypatch.setattr(rows_module, spoilt, wrong[spoilt])
    net = ft.Network.of(lambda x: jnp.stack([jnp.sin(x[0]) + x[1], x[0]]), example=(2,))
    traced = TracedNetwork(net)
    case = case_below(-1.5)
    found = BoxSearch(
        traced, case, 5.0, lambda point: False
    ).run()  # no counter-example is accepted
    assert found.closed  # although there is one
    assert EnclosingJudge(traced, case).propose(np.array([-1.0, -1.0]))


def test_networks_with_a_normal_form_keep_it_and_others_are_traced():
    assert not isinstance(
        read_network(ft.Network.of(lambda x: jnp.maximum(x, 0.0), example=(2,))), TracedNetwork
    )
    assert isinstance(read_network(ft.Network.of(jnp.tanh, example=(2,))), TracedNetwork)


def test_robustness_of_a_smooth_network_takes_its_own_label():
    net = ft.Network.of(lambda x: jnp.tanh(2 * x), example=(3,))
    assert ft.verify(net, ft.Robust([0.5, 0.1, 0.2], "0.1"), budget=20).answer == "unsat"
    assert ft.verify(net, ft.Robust([0.5, 0.1, 0.2], "0.2"), budget=20).answer == "sat"
    with pytest.raises(SubjectError, match="largest"):
        ft.verify(net, ft.Robust([0.5, 0.5, 0.2], "0.2"), budget=20)


QUICK = [("ml4acopf", 40), ("ml4acopf", 0), ("lsnc", 21), ("eran", 0)]


@pytest.mark.parametrize("family, number", QUICK)
def test_agreed_answers(family, number):
    folder = BENCHMARKS / family
    if not folder.is_dir():
        pytest.skip("the benchmarks are not here")
    with (folder / "instances.csv").open() as file:
        instance = list(csv.DictReader(file))[number]
    found = ft.verify(
        str(folder / instance["onnx"]), folder / instance["vnnlib"], budget=120, threads=1
    )
    assert found.answer == instance["answer"]


def test_an_operator_without_a_rule_is_named():
    net = ft.Network.of(lambda x: jax.lax.lgamma(x + 3.0), example=(2,))
    with pytest.raises(FthetaError, match="lgamma"):
        ask(net, case_below(-5))


def interrupt_after(calls, method):
    """The method, and Ctrl-C in the middle of a later call of it."""
    left = iter(range(calls))

    def interrupted(*words, **named):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return method(*words, **named)

    return interrupted


@pytest.mark.parametrize("calls", [0, 1, 3, 6])
def test_ctrl_c_gives_the_best_enclosure_so_far(monkeypatch, calls):
    """Also in the middle of a batch, whose boxes are open then."""
    rng = np.random.default_rng(11)
    net = smooth_network(rng, 2, 4, "sine")
    least = float(sample(net, rng, 4000, 2)[:, 0].min())
    case = case_below(least + 0.01)
    # so that it never ends
    monkeypatch.setattr(EnclosingJudge, "propose", lambda judge, point: False)
    monkeypatch.setattr(BoxSearch, "look", interrupt_after(calls, BoxSearch.look))
    found = ask(net, case)
    assert found.interrupted and found.answer == "unknown" and found.open > 0
    assert found.least <= -0.01 + 1e-9  # the excess at the best sample
    assert np.isfinite(found.least) == (calls > 0)


def test_what_is_left_undecided_is_enclosed():
    net = ft.Network.of(lambda x: jnp.stack([jnp.exp(x[0]), x[1]]), example=(2,))
    tie = case_below(float(np.exp(-1.0)))  # a tie within rounding
    found = ask(net, tie, seconds=1.0)
    assert found.holds is None and -1e-3 <= found.least <= 0.0
    assert ask(net, case_below(0.1)).least == -np.inf  # decided: the answer says more


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0])
def test_budgets_are_kept(seconds):
    """Boxes of six inputs, and ranges of sixty: neither ends."""
    waves = ft.Network.of(lambda x: jnp.stack([jnp.prod(jnp.sin(40.0 * x)), x[0]]), example=(6,))
    rng = np.random.default_rng(0)
    W, V = rng.normal(size=(2, 60, 60))
    wide = ft.Network.of(lambda x: (V @ jnp.sin(W @ jnp.tanh(W @ x)))[:2], example=(60,))
    for net, inputs in ((waves, 6), (wide, 60)):
        case = case_below(-1.0 + 2.0**-30 if inputs == 6 else -60.0, inputs=inputs, lo=-3, hi=3)
        ask(net, case, seconds=0.2)  # programs are compiled and batches prepared
        begun = time.process_time()
        ask(net, case, seconds=seconds)
        assert time.process_time() - begun < 1.1 * seconds + 1.0


def test_the_budget_is_kept_and_what_was_shown_is_told():
    """A product of many waves over a large box: no end in sight."""
    net = ft.Network.of(lambda x: jnp.stack([jnp.prod(jnp.sin(40.0 * x)), x[0]]), example=(6,))
    case = case_below(-1.0 + 2.0**-30, inputs=6, lo=-3, hi=3)
    found = ask(net, case, seconds=1.5)
    assert found.answer in ("timeout", "sat")
    assert found.seconds < 15  # the batch that runs when the time is over is finished
    assert found.answer == "sat" or found.open > 0
