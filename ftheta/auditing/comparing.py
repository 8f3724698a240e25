"""Two networks, fact by fact: before and after training, pruning, conversion."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isclose
from time import monotonic
from typing import Any, TypedDict, Unpack

from ftheta.logic import Audit, Change, Comparison, Enclosure, Fact, Section, Skipped, UsageError
from ftheta.subjects import Network

from .budget import DEFAULT, seconds_of
from .part import Part
from .plan import Task
from .subjects import Recipe, made
from .whole import Run, audit

SHARE = 0.42  # of the budget for each audit; the rest is for the difference
_TITLE = "The two functions"
_DIFFERENCE = Task("difference", "difference", f"{__package__}.facts.difference", "difference", ("difference",), True)


class Options(TypedDict, total=False):
    """The options of `audit` that both audits share."""

    only: Iterable[str]
    skip: Iterable[str]
    seed: int
    labels: str | None
    until: str | None
    workers: int | None


def compare(
    model: Any,
    against: Any,
    data: Any = None,
    *,
    budget: float | str | None = DEFAULT,
    progress: Callable[[str], None] = lambda words: None,
    **options: Unpack[Options],
) -> Comparison:
    """Audit `model` and the network it is held `against` (the one before) with the same data and seed, and compare.

    The options are those of `audit`; the budget is for everything together.
    """
    begun, limit = monotonic(), seconds_of(budget)
    recipes = tuple(Recipe(given, data, options.get("labels"), options.get("until")) for given in (against, model))
    _ensure_comparable(made(recipes))
    share = None if limit is None else SHARE * limit
    audits = []
    for name, given in (("the first", against), ("the second", model)):
        tell = lambda words, name=name: progress(f"{name}, {words}")
        found = audit(given, data, budget=share, progress=tell, **options)
        audits.append(replace(found, asked=replace(found.asked, budget=limit)))
        if audits[-1].interrupted:
            return Comparison(audits[0], audits[-1], Section("difference", _TITLE), ())
    run = Run([_DIFFERENCE], options.get("seed", 0), limit, begun, progress)
    run.go(recipes, options.get("workers"))
    return Comparison(audits[0], audits[1], _section(run), tuple(_changes(*audits)))


def _ensure_comparable(networks: Sequence[Network]) -> None:
    shapes = [(net.input_shape, net.output_shape) for net in networks]
    if shapes[0] != shapes[1]:
        got = " and ".join(f"from {i} to {o}" for i, o in shapes)
        raise UsageError("Only networks with the same inputs and outputs are compared.", got=got)


def _section(run: Run) -> Section:
    outcome = run.outcomes["difference"]
    if isinstance(outcome, Part):
        return Section("difference", _TITLE, outcome.facts, outcome.tables, outcome.charts)
    assert isinstance(outcome, Skipped)
    return Section("difference", _TITLE, (Fact("not compared", outcome.reason, outcome.remedy),))


def _changes(before: Audit, after: Audit) -> Iterable[Change]:
    """Every fact that both audits know, then every verdict; those that one alone has are left out."""
    old, new = ({(s.title, f.name): f.value for s in a.sections for f in s.facts} for a in (before, after))
    for key in old:
        if key in new:
            yield Change(*key, old[key], new[key], _same(old[key], new[key]))
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
