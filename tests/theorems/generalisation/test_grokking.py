"""Grokking: the closed form, tables, the protocol and its times."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.datasets import dataset
from ftheta.logic import Enclosure, SubjectError, UsageError, Verdict
from ftheta.risks.watching import Watched
from ftheta.running import run
from ftheta.subjects import Dataset
from ftheta.theorems.generalisation.grokking import _claim_effect as claim_effect
from ftheta.theorems.generalisation.grokking import _tabulate_effect as tabulate_effect
from ftheta.theorems.generalisation.grokking import fourier, gather, grokking
from ftheta.theorems.generalisation.grokking.effects import measure_effect, median_time
from ftheta.theorems.generalisation.grokking.tables import Operation
from ftheta.theorems.generalisation.grokking.training import (
    GrokkingRun,
    Protocol,
    grok,
    grokking_cell,
)


def addition(p: int) -> Operation:
    a, b = (index.ravel() for index in np.indices((p, p)))
    return Operation(f"a + b mod {p}", a, b, (a + b) % p)


# the closed form


@given(st.integers(2, 60))
def test_with_all_frequencies_the_logits_are_p_less_1_and_minus_1(p):
    logits = fourier.exact_logits(p)
    assert [e.lo for e in logits] == [e.hi for e in logits] == [p - 1] + [-1] * (p - 1)


@given(st.integers(3, 40), st.data())
def test_with_some_frequencies_the_balls_contain_the_sum_of_cosines(p, data):
    some = tuple(data.draw(st.sets(st.integers(1, p - 1), min_size=1)))
    for m, ball in enumerate(fourier.exact_logits(p, some)):
        direct = sum(np.cos(2 * np.pi * k * m / p) for k in some)
        assert ball.lo - 1e-10 <= direct <= ball.hi + 1e-10


@pytest.mark.parametrize("p", [2, 3, 4, 7, 12, 23])
def test_the_network_computes_the_logits_for_every_pair(p):
    net = fourier.fourier_network(p)
    unit = np.eye(p)
    for a in range(p):
        for b in range(p):
            logits = np.asarray(net.apply(net.params, np.concatenate([unit[a], unit[b]])))
            wanted = np.where(np.arange(p) == (a + b) % p, p - 1, -1)
            assert np.abs(logits - wanted).max() < 1e-4  # JAX computes in float32 outside a run


def test_the_network_answers_all_9409_pairs_of_97():
    found = fourier.control(97)
    assert found.pairs == found.right.lo == found.right.hi == 9409
    assert found.accuracy.lo == 1 and found.error.hi < 1e-10
    assert 96 in found.least_right and -1 in found.largest_wrong


def test_the_control_can_fail(monkeypatch):
    honest = fourier.fourier_network(5)
    wrong = type(honest)(
        (honest.layers[0], type(honest.layers[1])(-honest.layers[1].weight, honest.layers[1].bias))
    )
    monkeypatch.setattr(fourier, "fourier_network", lambda p: wrong)
    found = fourier.control(5)
    assert found.right.lo == 0 and found.accuracy.lo < 1 and found.error.hi >= 4


def test_moduli_out_of_range_are_refused():
    for p in (1, 1000):
        with pytest.raises(UsageError, match="moduli"):
            fourier.fourier_network(p)


# tables


def test_any_numbers_may_name_the_elements():
    data = dataset("modular", p=7)
    named = Operation.of("sevens", 10 * data.x + 3, 10 * data.y + 3)
    assert named.modular_addition and named.elements == 7 and named.once and named.commutative


def test_other_tables_are_not_addition():
    minus = dataset("modular", p=7, operation="a-b")
    group = dataset("group", of="S3")
    assert not Operation.of("minus", minus.x, minus.y).modular_addition
    table = Operation.of("S3", group.x, group.y)
    assert not table.modular_addition and not table.commutative and len(table.pairs) == 36


def test_rows_that_contradict_one_another_cannot_all_be_answered():
    x = np.array([[0, 1], [0, 1], [0, 1], [1, 0]])
    y = np.array([0, 0, 1, 1])
    found = Operation.of("quarrel", x, y)
    assert not found.once and found.answerable == 3


@pytest.mark.parametrize(
    "x, y", [(np.zeros((4, 3)), np.zeros(4)), (np.zeros((4, 2)), None), (np.zeros(4), np.zeros(4))]
)
def test_what_is_no_table_is_refused(x, y):
    with pytest.raises(SubjectError, match="pairs"):
        Operation.of("no table", x, y)


# the protocol


def watched(train, validation) -> Watched:
    train = np.array(train)
    validation = np.array(validation)
    return Watched(np.arange(len(train)) * 10, 0 * train, 1 - train, 0 * train, 1 - validation)


def test_the_times_are_the_first_looks_at_the_threshold():
    seen = GrokkingRun(Protocol(), 0, watched([0, 0.5, 0.96, 1, 1, 1], [0, 0, 0, 0.5, 0.94, 0.97]))
    assert (seen.memorised_at, seen.generalised_at, seen.delay) == (20, 50, 2.5)


def test_what_was_not_reached_has_no_time():
    seen = GrokkingRun(Protocol(), 0, watched([0, 1.0], [0, 0.2]))
    assert seen.memorised_at == 10 and seen.generalised_at == seen.delay == inf
    assert (
        median_time([3, inf, 5]) == 5
        and median_time([3, inf]) == inf
        and median_time([1, 2]) == 1.5
    )


def test_a_run_is_a_function_of_its_seed():
    short = Protocol(steps=60, hidden=16)
    runs = [grok(addition(7), short, seed) for seed in (4, 4, 5)]
    assert (runs[0].train == runs[1].train).all() and (
        runs[0].watched.test_loss == runs[1].watched.test_loss
    ).all()
    assert (runs[0].watched.test_loss != runs[2].watched.test_loss).any()


def test_a_share_without_training_or_validation_pairs_is_refused():
    with pytest.raises(UsageError, match="share"):
        grok(addition(2), Protocol(fraction=0.01, steps=5))
    with pytest.raises(UsageError, match="protocol"):
        Protocol(fraction=1.0)


def test_a_budget_cuts_the_steps_and_nothing_else():
    protocol = Protocol(steps=100_000)
    cut = protocol.limit_steps(addition(23), 1e10)
    assert 1 <= cut.steps < 1000 and cut.hidden == protocol.hidden
    assert protocol.limit_steps(addition(23), 1e30) == protocol


def test_addition_is_understood_long_after_it_is_known_by_heart():
    learned, bare = (
        grok(addition(17), Protocol(0.6, decay, steps=2000), 1) for decay in (1.0, 0.0)
    )
    assert learned.delay > 5 and learned.validation[-1] > 0.95
    assert bare.train[-1] == 1 and bare.generalised_at == inf


def test_more_known_pairs_are_understood_sooner():
    found = measure_effect(addition(17), Protocol(steps=2000), "fraction", (0.6, 0.8), 1)
    slow, quick = found.times("generalised_at")
    assert quick < slow < inf
    assert (
        tabulate_effect(found).rows[0][0] == 0.6
        and claim_effect(found).judge().verdict is Verdict.CONSISTENT
    )


def test_a_random_table_is_learned_by_heart_and_never_understood():
    p = 11
    a, b = (index.ravel() for index in np.indices((p, p)))
    table = Operation("no rule", a, b, np.random.default_rng(0).integers(0, p, p * p))
    evidence = gather(table, Protocol(steps=400, hidden=64), 0, 2, 5.0, False)
    heart = evidence.numbers["t_mem"]
    understood = evidence.numbers["t_gen"]
    assert isinstance(heart, Enclosure) and isinstance(understood, Enclosure)
    assert heart.hi < 400 and understood.lo == 400
    assert "logit of the right class" not in evidence.numbers


def test_the_theorem_takes_the_table_of_a_user():
    group = dataset("group", of="D4")
    result = run(grokking, Dataset("D4", group.x, group.y), steps=100, hidden=32, seeds=1)
    assert result.verdict is Verdict.CONSISTENT and result.numbers["pairs"].lo == 64
    twice = Dataset("twice", np.array([[0, 1], [0, 1]]), np.array([0, 1]))
    assert run(grokking, twice).verdict is Verdict.INAPPLICABLE


@pytest.mark.nightly
def test_cells_of_a_sweep_hold_times_and_curves():
    grid = {"p": [5], "hidden": [8], "steps": [30], "fraction": [0.5, 0.6]}
    found = ft.sweep(grokking_cell, grid, seeds=1, on=1)
    assert found.complete and "t_gen" in found.table().names
    assert found.arrays("validation")[0].shape == found.arrays("at")[0].shape
    assert grokking_cell(0, operation="S3", hidden=8, steps=10)["t_gen"] is None
