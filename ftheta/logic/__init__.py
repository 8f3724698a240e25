"""The words of a theorem. Nothing here imports JAX or NumPy, and a name is imported when it is first used: errors are
wanted everywhere, charts by few."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapter import Adapter as Adapter
    from .chart import Axis as Axis
    from .chart import Bars as Bars
    from .chart import Chart as Chart
    from .chart import Curves as Curves
    from .chart import Dag as Dag
    from .chart import Diagram as Diagram
    from .chart import Handle as Handle
    from .chart import Heatmap as Heatmap
    from .chart import Histogram as Histogram
    from .chart import Layer as Layer
    from .chart import Motion as Motion
    from .chart import Points as Points
    from .chart import Regions as Regions
    from .chart import Series as Series
    from .chart import Vertex as Vertex
    from .chart import draw_curves as draw_curves
    from .claim import AtMost as AtMost
    from .claim import Claim as Claim
    from .claim import Converges as Converges
    from .claim import Exists as Exists
    from .claim import Identity as Identity
    from .claim import Rate as Rate
    from .enclosure import Basis as Basis
    from .enclosure import Enclosure as Enclosure
    from .enclosure import nearest_float as nearest_float
    from .errors import FthetaError as FthetaError
    from .errors import SubjectError as SubjectError
    from .errors import UnknownSubjectError as UnknownSubjectError
    from .errors import UsageError as UsageError
    from .errors import suggest as suggest
    from .evidence import Evidence as Evidence
    from .evidence import Examples as Examples
    from .hypotheses import Finding as Finding
    from .hypotheses import Hypothesis as Hypothesis
    from .hypotheses import Status as Status
    from .hypotheses import hypothesis as hypothesis
    from .knob import Knob as Knob
    from .knob import Setting as Setting
    from .result import Audit as Audit
    from .result import Change as Change
    from .result import Check as Check
    from .result import Comparison as Comparison
    from .result import Fact as Fact
    from .result import Judged as Judged
    from .result import Provenance as Provenance
    from .result import Request as Request
    from .result import Result as Result
    from .result import Section as Section
    from .result import Skipped as Skipped
    from .severity import AuditFinding as AuditFinding
    from .severity import AuditProgress as AuditProgress
    from .severity import Met as Met
    from .severity import Requirement as Requirement
    from .severity import Severity as Severity
    from .table import Table as Table
    from .theorems import Theorem as Theorem
    from .theorems import theorem as theorem
    from .verdict import Judgement as Judgement
    from .verdict import Verdict as Verdict
    from .witness import Witness as Witness

_NAMES = {
    "adapter": ("Adapter",),
    "chart": (
        "Axis",
        "Bars",
        "Chart",
        "Curves",
        "Dag",
        "Diagram",
        "Handle",
        "Heatmap",
        "Histogram",
        "Layer",
        "Motion",
        "Points",
        "Regions",
        "Series",
        "Vertex",
        "draw_curves",
    ),
    "claim": ("AtMost", "Claim", "Converges", "Exists", "Identity", "Rate"),
    "enclosure": ("Basis", "Enclosure", "nearest_float"),
    "errors": ("FthetaError", "SubjectError", "UnknownSubjectError", "UsageError", "suggest"),
    "evidence": ("Evidence", "Examples"),
    "hypotheses": ("Finding", "Hypothesis", "Status", "hypothesis"),
    "knob": ("Knob", "Setting"),
    "result": (
        "Audit",
        "Change",
        "Check",
        "Comparison",
        "Fact",
        "Judged",
        "Provenance",
        "Request",
        "Result",
        "Section",
        "Skipped",
    ),
    "severity": ("AuditFinding", "AuditProgress", "Met", "Requirement", "Severity"),
    "table": ("Table",),
    "theorems": ("Theorem", "theorem"),
    "verdict": ("Judgement", "Verdict"),
    "witness": ("Witness",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value  # found at once the next time
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
