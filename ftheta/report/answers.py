"""What an audit comes to, in words that every view opens with: its status, its key figures, its findings."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from ftheta.logic import Audit, AuditFinding, Comparison, Enclosure, Severity

from .numbers import number

MOST = 12  # findings that a report opens with
_PLURALS = {
    Severity.PROBLEM: "problems",
    Severity.WARNING: "warnings",
    Severity.NOTE: "notes",
    Severity.GOOD: "good",
}
FAMILIES = {  # the colours of verdicts, used again
    Severity.PROBLEM: "refuted",
    Severity.WARNING: "fails",
    Severity.NOTE: "note-pill",
    Severity.GOOD: "holds",
}


@dataclass(frozen=True, slots=True)
class Status:
    """One word or two for the whole, with the severity that is the reason."""

    word: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A number that people look for first: what it is, its value, and how it is known."""

    label: str
    value: str
    below: str


def status(document: Audit | Comparison) -> Status:
    """From the worst finding."""
    worst = min((f.severity.rank for f in document.findings), default=Severity.NOTE.rank)
    if worst == Severity.PROBLEM.rank:
        return Status("Needs attention", Severity.PROBLEM)
    if worst == Severity.WARNING.rank:
        return Status("Has warnings", Severity.WARNING)
    return Status("No problems found", Severity.GOOD)


def count_findings(document: Audit | Comparison) -> str:
    """`1 problem · 2 warnings · 3 notes · 4 good`; what is absent is left out."""
    words = []
    for severity in Severity:
        count = sum(f.severity is severity for f in document.findings)
        if count:
            words.append(f"{count} {severity.value if count == 1 else _PLURALS[severity]}")
    return " · ".join(words)


def opening(document: Audit | Comparison) -> tuple[AuditFinding, ...]:
    """The findings that a view opens with."""
    return document.findings[:MOST]


def describe_subject(audit: Audit) -> str:
    """`64 → 10, 3,466 parameters, relu · digits-test, 359 rows with labels`."""
    told = dict(audit.facts)
    parts = [f"{told['input']} → {told['output']}"] if {"input", "output"} <= told.keys() else []
    parts += [f"{told['parameters']} parameters"] if "parameters" in told else []
    parts += [told[name] for name in ("activations", "nonlinear operations") if name in told]
    return " · ".join(part for part in (", ".join(parts), told.get("data", "")) if part)


def describe_run(audit: Audit) -> str:
    """`2026-11-18 · 17 s · ftheta 0.1.0 · seed 0`."""
    spent = [f"{audit.seconds:.0f} s"] if audit.seconds else []
    return " · ".join([audit.date, *spent, f"ftheta {audit.version}", f"seed {audit.seed}"])


def known_facts(audit: Audit) -> dict[str, Enclosure]:
    """The facts that have a key, by it."""
    facts = (fact for section in audit.sections for fact in section.facts if fact.key)
    return {fact.key: fact.value for fact in facts if isinstance(fact.value, Enclosure)}


def key_figures(audit: Audit) -> list[KeyFigure]:
    """At most four of them, what is known."""
    return _all_figures(audit)[:4]


def _all_figures(audit: Audit) -> list[KeyFigure]:
    known = known_facts(audit)
    robust = {f.rule: f for f in audit.findings}.get("small-changes")
    return [
        *_accuracy(known),
        *_robustness(robust),
        *_lipschitz(known),
        *_step(known),
        *_size(known),
    ]


def _accuracy(known: dict[str, Enclosure]) -> Iterator[KeyFigure]:
    if "accuracy" in known:
        interval = known.get("error_interval")
        below = (
            ""
            if interval is None
            else f"95 % interval {_percents(1 - interval.hi, 1 - interval.lo)}"
        )
        yield KeyFigure("accuracy", f"{100 * known['accuracy'].middle:.1f} %", below)
    elif {"r_squared", "rmse"} <= known.keys():
        yield KeyFigure(
            "R²",
            number(known["r_squared"].middle, 3),
            f"RMSE {number(known['rmse'].middle, 3)} on the data",
        )
    elif "squared_error" in known:
        yield KeyFigure("mean squared error", number(known["squared_error"].middle), "on the data")


def _robustness(found: AuditFinding | None) -> Iterator[KeyFigure]:
    if found is not None:
        certified = f"{100 * (1 - found.value.hi):.0f} %"
        survives = f"{100 * (1 - found.value.lo):.0f} %"
        below = "of the right rows tried, at 8/255 of the range of the inputs"
        if "certified" in found.basis:
            yield KeyFigure("certified / attacked (ℓ∞, 8/255)", f"{certified} / {survives}", below)
        else:  # a network too large for certificates
            yield KeyFigure("attacked (ℓ∞, 8/255)", survives, below)


def _lipschitz(known: dict[str, Enclosure]) -> Iterator[KeyFigure]:
    low = known.get("lipschitz_lower")
    high = known.get("lipschitz_upper")
    if low is not None and high is not None and isfinite(high.hi):
        value = f"{number(low.lo, 3)} … {number(high.hi, 3)}"
        yield KeyFigure("Lipschitz constant (ℓ₂)", value, "secant found · product of norms")
    elif low is not None:
        yield KeyFigure(
            "Lipschitz constant (ℓ₂)", f"≥ {number(low.lo, 3)}", "steepest secant found"
        )


def _step(known: dict[str, Enclosure]) -> Iterator[KeyFigure]:
    step = known.get("stable_step")
    if step is not None and isfinite(step.hi):
        low, high = number(step.lo, 2), number(step.hi, 2)
        value = low if low == high else f"{low} … {high}"
        yield KeyFigure("stable gradient-descent step", value, "2/λmax at these parameters")


def _size(known: dict[str, Enclosure]) -> Iterator[KeyFigure]:
    if "parameters" in known:
        yield KeyFigure("parameters", number(known["parameters"].middle), "exact")
    if "operations" in known:
        yield KeyFigure("operations, one input", number(known["operations"].middle), "exact")


def _percents(low: float, high: float) -> str:
    return f"{100 * low:.1f}–{100 * high:.1f} %"


def accuracy_line(audit: Audit) -> str:
    """Accuracy with its interval, the majority class, calibration and the worst class, in one line; of a regression R²
    and errors."""
    known = known_facts(audit)
    if {"r_squared", "rmse", "median_error"} <= known.keys():
        middle = known["median_error"]
        errors = f"RMSE {number(known['rmse'].middle, 3)}; median absolute error 95 % CI"
        return f"R² {known['r_squared'].middle:.3f} ({errors} {number(middle.lo, 3)}–{number(middle.hi, 3)})"
    if "accuracy" not in known:
        return ""
    interval = known["error_interval"]
    parts = [
        f"{known['wrong'].middle:.0f} wrong",
        f"error 95 % CI {_percents(interval.lo, interval.hi)}",
    ]
    parts.append(f"majority error {100 * known['majority_error'].middle:.1f} %")
    line = f"Accuracy {100 * known['accuracy'].middle:.1f} % ({'; '.join(parts)})"
    if "ece" in known:
        line += f"   ECE {100 * known['ece'].middle:.1f} %"
    if "worst_class_accuracy" in known:
        worst = next(f for s in audit.sections for f in s.facts if f.key == "worst_class_accuracy")
        line += f"   worst {worst.note.split(',')[0]}: {100 * known['worst_class_accuracy'].middle:.1f} %"
    return line


def numbers_line(audit: Audit) -> str:
    """Lipschitz constant, stable step and size, in one line."""
    return " · ".join(
        f"{figure.label} {figure.value}"
        for figure in _all_figures(audit)
        if figure.label not in ("accuracy", "R²", "operations, one input")
    )
