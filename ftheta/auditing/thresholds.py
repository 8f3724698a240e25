"""Thresholds for a build server: `accuracy >= 0.95`, met, missed or unknown.

They are given one by one, in a TOML file (`require = [...]`), or in `[tool.ftheta.audit]` of `pyproject.toml`.
"""

import operator
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ftheta.estimates import binomial_interval
from ftheta.logic import (
    Audit,
    Basis,
    Comparison,
    Enclosure,
    Met,
    Requirement,
    Severity,
    Table,
    UsageError,
    suggest,
)

from .part import NOT_COMPUTED, RADII_TABLE

QUANTITIES = {
    "accuracy": "share of the rows that are classified rightly",
    "error": "share of the rows that are not",
    "worst_class_accuracy": "the same, of the class that fares worst",
    "squared_error": "mean squared error on the data",
    "r_squared": "share of the variance of the labels that a regression explains",
    "rmse": "root mean squared error on the data",
    "absolute_error": "mean absolute error on the data",
    "coverage": "share of held-out rows in a 90 % split-conformal interval",
    "noise_floor": "error, or squared error, that equal rows with different labels cost any function",
    "train_accuracy": "accuracy on the rows of training",
    "gap": "accuracy on the rows of training less accuracy on the data",
    "ece": "expected calibration error, 15 bins",
    "shared_rows": "rows that are also among those of training",
    "duplicates": "rows that repeat another row",
    "conflicting_labels": "rows with a twin that has another label",
    "label_errors": "rows whose label both the network and the neighbours contradict",
    "constant_columns": "input columns that are constant",
    "imbalance": "rows of the largest class ÷ rows of the smallest",
    "dead_neurons": "dead ReLUs on the data",
    "duplicate_neurons": "duplicate or dead neurons",
    "removable_neurons": "neurons that can be left out without a change on the box of the data",
    "effective_rank": "the least effective rank of the activations of a layer",
    "float32_flips": "predictions that change in float32",
    "lipschitz_lower": "a lower bound of the Lipschitz constant in the 2-norm",
    "lipschitz_upper": "an upper bound of it",
    "stable_step": "the largest stable step of gradient descent",
    "sharpness": "the largest eigenvalue of the Hessian of the loss",
    "parameters": "how many parameters the network has",
    "operations": "operations of one evaluation",
    "problems": "findings that are problems",
    "warnings": "findings that are warnings",
    "against.flips": "predictions that differ from those of the network it is held against",
    "against.lost": "rows that the other network classifies rightly and this one does not",
    "against.won": "rows that this network classifies rightly and the other one does not",
}
ROBUST = {  # written with norm and radius: `certified_accuracy(linf, 0.01)`
    "certified_accuracy": "share of rows that are right, and certified to stay so within ε",
    "attacked_accuracy": "share of rows that are right, and survive an attack within ε",
}
# some rows bound no mean of all
UNBOUNDED = frozenset({"squared_error", "r_squared", "rmse", "absolute_error"})
CONFIDENCE = 0.95
_FORM = re.compile(
    r"\s*([a-z_0-9.]+)\s*(?:\(\s*linf\s*,\s*([-+.\deE]+)\s*\))?\s*(>=|<=|==|>|<)\s*([-+.\deE]+)\s*"
)
_RELATIONS = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_LISTED = 'require = ["accuracy >= 0.95"]'
_EXAMPLE = "write `accuracy >= 0.95` or `certified_accuracy(linf, 0.01) >= 0.8`"


@dataclass(frozen=True, slots=True)
class Threshold:
    """A quantity, of a radius where it needs one, in relation to a limit."""

    text: str
    quantity: str
    relation: str
    limit: float
    radius: float | None = None

    def holds_for(self, known: Enclosure) -> Met:
        """Met if every number of the enclosure is as asked, missed if none is."""
        relation = _RELATIONS[self.relation]
        ends = [relation(end, self.limit) for end in (known.lo, known.hi)]
        inside = known.lo < self.limit < known.hi
        if self.relation == "==":
            return Met.MET if all(ends) else Met.UNKNOWN if any(ends) or inside else Met.MISSED
        return Met.MET if all(ends) else Met.UNKNOWN if any(ends) else Met.MISSED


def read_thresholds(given: Iterable[str]) -> tuple[Threshold, ...]:
    """From expressions and names of TOML files."""
    texts = [
        text
        for word in given
        for text in (_texts_of(Path(word)) if word.endswith(".toml") else (word,))
    ]
    return tuple(parse_threshold(text) for text in texts)


def project_thresholds(folder: Path) -> list[str]:
    """The thresholds in `pyproject.toml` of a folder, if there are any."""
    path = folder / "pyproject.toml"
    return _texts_of(path) if path.is_file() else []


def _texts_of(path: Path) -> list[str]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            "The thresholds cannot be read.", where=str(path), got=error.strerror
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            "This is not TOML.", where=str(path), got=str(error), remedy="see docs/audit.md"
        ) from None
    here = _table_in(data) if path.name == "pyproject.toml" else data
    if here is None:
        return []
    strange = next((key for key in here if key != "require"), None)
    if strange is not None or "require" not in here:  # else a build passes that was to be stopped
        raise UsageError(
            "Thresholds are the list `require`, and nothing else is read.",
            where=str(path),
            got="no such list" if strange is None else strange,
            remedy=_LISTED,
        )
    texts = here["require"]
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise UsageError(
            "`require` is a list of thresholds.", where=str(path), got=repr(texts), remedy=_LISTED
        )
    return texts


def _table_in(project: Any) -> Any:
    """`[tool.ftheta.audit]` of a `pyproject.toml`, or None."""
    for name in ("tool", "ftheta", "audit"):
        project = project.get(name) if isinstance(project, dict) else None
    return project if isinstance(project, dict) else None


def parse_threshold(text: str) -> Threshold:
    """`name >= number`, or `name(linf, radius) >= number`."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError("This is no threshold.", got=text, remedy=_EXAMPLE)
    name, radius, relation, limit = found.groups()
    if name not in {**QUANTITIES, **ROBUST}:
        remedy = suggest(name, [*QUANTITIES, *ROBUST], "docs/audit.md lists the quantities")
        raise UsageError("No quantity of an audit has this name.", got=name, remedy=remedy)
    if (name in ROBUST) != (radius is not None):
        remedy = f"write `{name}(linf, 0.01)`" if name in ROBUST else f"write `{name}`"
        raise UsageError(
            "A radius is for certified and attacked accuracy, and needed there.",
            got=text,
            remedy=remedy,
        )
    within = None if radius is None else _number(radius, text)
    if within is not None and within <= 0:
        raise UsageError(
            "A radius is a positive number.",
            got=text,
            remedy="`accuracy` is about the rows as they are",
        )
    return Threshold(text.strip(), name, relation, _number(limit, text), within)


def _number(word: str, text: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise UsageError("This is no number.", where=text, got=word, remedy=_EXAMPLE) from None


def require(document: Audit | Comparison, thresholds: Iterable[Threshold]) -> Audit | Comparison:
    """The document with what became of the thresholds."""
    return replace(
        document, requirements=tuple(_judge(document, threshold) for threshold in thresholds)
    )


def _judge(document: Audit | Comparison, threshold: Threshold) -> Requirement:
    known = _known(document, threshold)
    if known is None:
        return Requirement(
            threshold.text,
            Met.UNKNOWN,
            "not known: it was not computed, or needs data, or more rows",
        )
    value = f"{known.lo:.6g}" if known.is_point else f"between {known.lo:.6g} and {known.hi:.6g}"
    sure = (
        ""
        if known.confidence is None
        else f" ({100 * known.confidence:g} % confidence, {known.samples} rows tried)"
    )
    return Requirement(threshold.text, threshold.holds_for(known), f"{value}{sure}")


def _known(document: Audit | Comparison, threshold: Threshold) -> Enclosure | None:
    audit = document.after if isinstance(document, Comparison) else document
    if threshold.radius is not None:
        return _robust_share(audit, threshold.quantity, threshold.radius)
    if threshold.quantity in ("problems", "warnings"):
        severity = Severity.PROBLEM if threshold.quantity == "problems" else Severity.WARNING
        return Enclosure.exact(sum(finding.severity is severity for finding in audit.findings))
    sections = audit.sections
    if threshold.quantity.startswith("against."):
        sections = (document.difference,) if isinstance(document, Comparison) else ()
    facts = reversed([fact for section in sections for fact in section.facts])
    known = {fact.key: fact.value for fact in facts if isinstance(fact.value, Enclosure)}
    found = known.get(threshold.quantity)
    speaks_for_a_sample = (
        found is not None and found.basis is Basis.SAMPLED and found.confidence is None
    )
    if speaks_for_a_sample and threshold.quantity in UNBOUNDED:
        return None
    return known.get(f"{threshold.quantity}_interval", found) if speaks_for_a_sample else found


def _robust_share(audit: Audit, quantity: str, radius: float) -> Enclosure | None:
    """From the radii of the rows tried; an interval for all rows where not all were tried."""
    tables = [t for section in audit.sections for t in section.tables if t.title == RADII_TABLE]
    facts = {fact.key: fact.value for section in audit.sections for fact in section.facts}
    if not tables or "rows_tried" not in facts:
        return None
    cells = _cells(tables[0], quantity)
    reached = facts.get("attacked_within")
    is_beyond = (
        quantity == "attacked_accuracy" and isinstance(reached, Enclosure) and radius > reached.hi
    )
    if NOT_COMPUTED in cells or is_beyond or not cells:
        return None
    count = sum(
        cell >= radius if quantity == "certified_accuracy" else cell > radius for cell in cells
    )
    n = len(cells)
    rows = facts.get("rows")
    if isinstance(rows, Enclosure) and rows.lo == n:
        return Enclosure.equal(count / n)
    return binomial_interval(count, n, CONFIDENCE)


def _cells(table: Table, quantity: str) -> list[Any]:
    """Of every row tried, the radius that a quantity is read from."""
    column = table.columns.index(
        "certified radius" if quantity == "certified_accuracy" else "distance met"
    )
    return [row[column] for row in table.rows]


def exit_code_of(requirements: Iterable[Requirement]) -> int:
    """1 if one is missed, 3 if one is unknown."""
    found = {requirement.met for requirement in requirements}
    return 1 if Met.MISSED in found else 3 if Met.UNKNOWN in found else 0
