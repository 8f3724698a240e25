"""Examples are judged and shown, but the verdict is about the subject alone."""

from dataclasses import replace
from functools import partial, wraps
from importlib import import_module

import numpy as np
import pytest

from ftheta.auditing.performing import perform
from ftheta.auditing.plan import Task
from ftheta.catalogue import theorem
from ftheta.logic import (
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Identity,
    Result,
    Table,
    Theorem,
    Verdict,
)
from ftheta.running import run

from .subjects import mlp

TRUE = Identity("1 = 1", Enclosure.exact(1), Enclosure.exact(1))
FALSE = Identity("1 = 2", Enclosure.exact(1), Enclosure.exact(2))
CHART = Curves("a worked example", Axis(), Axis(), ())
TABLE = Table("a worked example", ("n",), ((1,),))


def with_examples(claim: Identity, example: Identity, calls: list[str]) -> Theorem:
    """The theorem on hats with other claims."""

    def examples() -> Examples:
        calls.append("examples")
        return Examples((example,), (CHART,), (TABLE,), {"a worked number": 7.0})

    def measure(subject, rng: np.random.Generator) -> Evidence:
        return Evidence((claim,), examples=examples)

    return replace(theorem("hat-function"), measure=measure)


@pytest.mark.parametrize("claim, verdict", [(TRUE, Verdict.PROVED), (FALSE, Verdict.REFUTED)])
@pytest.mark.parametrize("example", [TRUE, FALSE])
def test_an_example_never_changes_the_verdict(claim, example, verdict):
    result = run(with_examples(claim, example, []))
    assert result.verdict is verdict
    (judged,) = result.examples
    assert judged.judgement.verdict is (Verdict.PROVED if example is TRUE else Verdict.REFUTED)
    assert result.charts == (CHART,) and result.tables == (TABLE,)
    assert (
        result.example_numbers == {"a worked number": Enclosure.equal(7.0)} and not result.numbers
    )


def test_examples_are_not_computed_where_they_are_not_shown():
    calls: list[str] = []
    result = run(with_examples(TRUE, TRUE, calls), examples=False)
    assert not calls and not result.examples and not result.charts and not result.tables
    assert not result.example_numbers


def test_examples_do_not_make_up_for_claims():
    def measure(subject, rng: np.random.Generator) -> Evidence:
        return Evidence((), examples=partial(Examples, (TRUE,)))

    assert run(replace(theorem("hat-function"), measure=measure)).verdict is Verdict.INCONCLUSIVE


def test_an_audit_computes_no_examples(monkeypatch):
    module = import_module("ftheta.theorems.robustness.lipschitz_bounds")
    calls: list[str] = []
    measure = module.lipschitz_bounds.measure

    def examples() -> Examples:
        calls.append("examples")
        return Examples((FALSE,))

    @wraps(measure)  # the knobs are read off the signature
    def watched(*args, **knobs) -> Evidence:
        return replace(measure(*args, **knobs), examples=examples)

    monkeypatch.setattr(
        module, "lipschitz_bounds", replace(module.lipschitz_bounds, measure=watched)
    )
    task = Task("lipschitz-bounds", "robustness", module.__name__, "lipschitz_bounds", ())
    outcome = perform(task, [mlp((2, 5, 4, 3), 1)], 0)
    assert isinstance(outcome, Result) and outcome.claims and not outcome.examples and not calls
