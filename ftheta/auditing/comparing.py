"""Two networks, fact by fact: before and after training, pruning, conversion."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isclose
from time import monotonic
from typing import Any, TypedDict, Unpack

from ftheta.logic import (
    Audit,
    AuditFinding,
    AuditProgress,
    Change,
    Comparison,
    Enclosure,
    Fact,
    Section,
    Skipped,
    UsageError,
)
from ftheta.processes.budgets import seconds_of
from ftheta.subjects import Network

from .budget import DEFAULT
from .part import Part
from .plan import Task
from .subjects import Recipe
from .whole import Run, audit, not_begun

SHARE = 0.42  # of the budget for each audit; the rest is for the difference
_TITLE = "The two functions"
_DIFFERENCE = Task(
    "difference",
    "difference",
    f"{__package__}.facts.difference",
    "difference",
    ("difference",),
    True,
)


class Options(TypedDict, total=False):
    """The options of `audit` that both audits share."""

    only: Iterable[str]
    skip: Iterable[str]
    seed: int
    labels: str | None
    until: str | None
    role: str
    trusted: bool
    lr: float | None
    train: Any
    workers: int | None


def compare(
    model: Any,
    against: Any,
    data: Any = None,
    *,
    budget: float | str | None = DEFAULT,
    progress: Callable[[AuditProgress], None] = lambda progress: None,
    on_finding: Callable[[AuditFinding], None] = lambda finding: None,
    **options: Unpack[Options],
) -> Comparison:
    """Audit `model` and the network it is held `against` (the one before) with the same data and seed, and compare.

    The options are those of `audit`; the budget is for everything together.
    """
    begun = monotonic()
    limit = seconds_of(budget)
    shared = (
        data,
        options.get("labels"),
        options.get("until"),
        options.get("train"),
        options.get("role", ""),
        options.get("trusted", False),
    )
    recipes = tuple(Recipe(given, *shared) for given in (against, model))
    _ensure_comparable([recipe.network for recipe in recipes])

    def audit_one(given: Recipe, which: str) -> Audit:
        share = None if limit is None else SHARE * limit
        found = audit(
            given, budget=share, progress=lambda now: progress(replace(now, which=which)), **options
        )
        return replace(found, asked=replace(found.asked, budget=limit))

    rest = None if limit is None else (1 - 2 * SHARE) * limit
    run = Run([_DIFFERENCE], options.get("seed", 0), rest, begun, progress, on_finding)
    run.go(recipes, options.get("workers"))  # first: it is what was asked for
    first, second = recipes
    before = not_begun(first, options) if run.interrupted else audit_one(first, "the first network")
    after = (
        not_begun(second, options)
        if before.interrupted
        else audit_one(second, "the second network")
    )
    return Comparison(before, after, _section(run), tuple(_changes(before, after)), run.findings)


def _ensure_comparable(networks: Sequence[Network]) -> None:
    shapes = [(net.input_shape, net.output_shape) for net in networks]
    if shapes[0] != shapes[1]:
        got = " and ".join(f"from {i} to {o}" for i, o in shapes)
        remedy = "export both with the same shapes; `--until` ends both at a node of that name"
        raise UsageError(
            "Only networks with the same inputs and outputs are compared.", got=got, remedy=remedy
        )


def _section(run: Run) -> Section:
    outcome = run.outcomes["difference"]
    if isinstance(outcome, Part):
        return Section("difference", _TITLE, outcome.facts, outcome.tables, outcome.charts)
    assert isinstance(outcome, Skipped)
    return Section("difference", _TITLE, (Fact("not compared", outcome.reason, outcome.remedy),))


def _changes(before: Audit, after: Audit) -> Iterable[Change]:
    """Every fact that both audits know, then every verdict; those that one alone has are left out."""
    old, new = (
        {(s.title, f.name): f for s in a.sections for f in s.facts} for a in (before, after)
    )
    for key in old:
        if key in new:
            one = old[key]
            two = new[key]
            note = (
                ""
                if one.note == two.note
                else f"before: {one.note or '–'}; after: {two.note or '–'}"
            )
            yield Change(*key, one.value, two.value, _same(one.value, two.value), note)
    verdicts = [{r.id: str(r.verdict) for r in a.results} for a in (before, after)]
    missing = [{s.id: "not checked" for s in a.skipped} for a in (before, after)]
    for id in {**verdicts[0], **verdicts[1]}:
        one, two = ((v | m).get(id, "not checked") for v, m in zip(verdicts, missing))
        yield Change("Verdicts", id, one, two, one == two)


def _same(one: Enclosure | str, two: Enclosure | str) -> bool:
    if isinstance(one, str) or isinstance(two, str):
        return one == two
    near = lambda a, b: a == b or isclose(a, b, rel_tol=1e-12)
    return near(one.lo, two.lo) and near(one.hi, two.hi)
