"""Ranges of a program's numbers, halved: against sampling, against boxes of inputs, and with each rule spoilt."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
import ftheta.graph.domains.linear.slopes as slopes_module
from ftheta.certify.programs.judging import EnclosingJudge
from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.programs.ranges import Domain, RangeSearch, Split
from ftheta.certify.questions import Box, Case, Row
from ftheta.graph.domains.linear.refining import enclose

from ..thoroughness import max_examples
from .test_programs import ask, case_below, sample, smooth_network


def softmax_network(rng, inputs):
    """Attention of two tokens, and a ReLU: products, softmax and kinks."""
    W, V = rng.normal(size=(2, 2, inputs, inputs)) / np.sqrt(inputs)

    def f(x):
        tokens = jnp.stack([jnp.maximum(W[0] @ x, 0.0), W[1] @ x])
        scores = tokens @ V[0] @ tokens.T
        weights = jnp.exp(scores) / jnp.exp(scores).sum(1, keepdims=True)
        return (weights @ tokens @ V[1]).sum(1)

    return ft.Network.of(f, example=(inputs,))


def search(net, case, seconds=10.0, accept=True):
    traced = TracedNetwork(net)
    judge = EnclosingJudge(traced, case)
    found = RangeSearch(
        traced, case, seconds, judge.propose if accept else lambda point: False
    ).run()
    return found, judge


@max_examples(4)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["sigmoid", "sine", "square", "softmax"]),
    st.sampled_from([-0.3, -0.05, 0.05]),
)
def test_ranges_against_sampling(seed, kind, beside):
    rng = np.random.default_rng(seed)
    net = softmax_network(rng, 2) if kind == "softmax" else smooth_network(rng, 2, 4, kind)
    least = float(sample(net, rng, 3000, 2)[:, 0].min())
    found, judge = search(net, case_below(least + beside), seconds=3.0)
    assert not (found.closed and beside > 0)
    assert found.least <= least - (least + beside) + 1e-9  # an anytime bound of the excess
    if judge.witness is not None:
        assert judge.witness.y[0] - judge.witness.within <= Fraction(least + beside)


def test_ranges_and_boxes_agree():
    rng = np.random.default_rng(5)
    net = smooth_network(rng, 2, 4, "sigmoid")
    least = float(sample(net, rng, 20000, 2)[:, 0].min())
    case = case_below(least - 0.01)
    assert ask(net, case).answer == "unsat"
    found, _ = search(net, case)
    assert found.closed and found.boxes > 1  # by halving ranges


def test_a_domain_holds_where_its_ranges_do():
    """Bounds over a domain hold at all inputs whose numbers lie in its ranges."""
    rng = np.random.default_rng(7)
    net = smooth_network(rng, 2, 4, "sine")
    traced = TracedNetwork(net)
    case = case_below(100)  # excesses are values less 100: all domains stay open
    run = RangeSearch(traced, case, 10.0, lambda point: False)
    root = enclose(traced.program, run.sets)
    run.bound_all(root, 0)
    x = rng.uniform(-1, 1, (4000, 2))
    y = traced.propagate(x)[0][:, 0]
    (waves,) = [node for node in traced.program.graph.nodes if node.primitive == "sin"]
    slot = waves.inputs[0]
    first = traced.program.source
    z = np.array([_value_of(first, slot, point) for point in x[:400]])
    whole = root.enclosures[slot.id]
    middle = float(whole.lo[0, 1] + whole.hi[0, 1]) / 2
    for split in (
        Split(slot.id, 1, float(whole.lo[0, 1]), middle),
        Split(slot.id, 1, middle, float(whole.hi[0, 1])),
    ):
        (left,) = run.bound_domains(root, [Domain(0, 0, (split,), -np.inf, None)])
        inside = (z[:, 1] >= split.lo) & (z[:, 1] <= split.hi)
        assert inside.any() and left.bound + 100 <= y[:400][inside].min() + 1e-9


def _value_of(graph, slot, x):
    """The value of the argument of the sine at a point, in intervals."""
    from ftheta.graph.domains.interval import intervals

    values = intervals(graph, x).values
    (node,) = [node for node in graph.nodes if node.primitive == "sin"]
    found = values[node.inputs[0].id]
    return found.lo.ravel()


@pytest.mark.parametrize("spoilt", ["_tilted_form", "least_over"])
def test_a_spoilt_multiplier_is_caught(monkeypatch, spoilt):
    """Offsets of multipliers that are too large prove what is false."""
    rng = np.random.default_rng(5)
    net = smooth_network(rng, 2, 4, "sigmoid")
    least = float(sample(net, rng, 20000, 2)[:, 0].min())
    case = case_below(least + 0.05)
    honest, _ = search(net, case, seconds=2.0, accept=False)
    assert not honest.closed
    right = getattr(slopes_module, spoilt)
    if spoilt == "least_over":

        def too_large(A, lo, hi):
            size = np.abs(right(A, lo, hi)[0])
            return size + 1.0, np.zeros_like(size)

        monkeypatch.setattr(slopes_module, spoilt, too_large)
    else:

        def wrong(relaxed, seeds, slopes, tilts, reached):
            form = right(relaxed, seeds, slopes, tilts, reached)
            return type(form)(form.coefficients, form.offset + 100.0 * bool(tilts), form.error)

        monkeypatch.setattr(slopes_module, spoilt, wrong)
    dishonest, _ = search(net, case, seconds=5.0, accept=False)
    assert dishonest.closed


def test_enclosures_that_ran_out_of_time_are_looser_and_hold():
    rng = np.random.default_rng(1)
    traced = TracedNetwork(softmax_network(rng, 3))
    case = Case(
        Box((Fraction(-1),) * 3, (Fraction(1),) * 3), ((Row({}, {0: Fraction(1)}, Fraction(0)),),)
    )
    run = RangeSearch(traced, case, 10.0, lambda point: False)
    hurried = enclose(traced.program, run.sets, until=-1.0)
    whole = enclose(traced.program, run.sets)
    again = enclose(traced.program, run.sets, steps=3, before=whole.enclosures)
    out = traced.program.graph.outputs[0].id
    y = traced.propagate(rng.uniform(-1, 1, (500, 3)))[0]
    for relaxed in (hurried, whole, again):
        assert np.all(relaxed.enclosures[out].lo[0] <= y.min(0) + 1e-12)
        assert np.all(relaxed.enclosures[out].hi[0] >= y.max(0) - 1e-12)
    assert np.all(again.enclosures[out].lo >= whole.enclosures[out].lo - 1e-9)
    assert np.all(whole.enclosures[out].lo >= hurried.enclosures[out].lo - 1e-9)
