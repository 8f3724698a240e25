"""The words, signs and colours of the verdicts, for every view."""

from dataclasses import dataclass, replace

from ftheta.languages import later, t
from ftheta.logic.hypotheses import Status
from ftheta.logic.result import Result
from ftheta.logic.verdict import MEANING, Judgement, Verdict


@dataclass(frozen=True, slots=True)
class Look:
    """How a verdict appears: its sign and word, its family (the counter and the CSS class it belongs to) and,
    for the terminal, its colour."""

    sign: str
    word: str
    family: str
    style: str
    means: str


LOOKS = {
    Verdict.PROVED: Look("✓", later("proved"), "holds", "green", MEANING[Verdict.PROVED]),
    Verdict.CERTIFIED: Look("✓", later("certified"), "holds", "green", MEANING[Verdict.CERTIFIED]),
    Verdict.CONSISTENT: Look(
        "✓", later("consistent"), "holds", "green", MEANING[Verdict.CONSISTENT]
    ),
    Verdict.INCONCLUSIVE: Look(
        "~", later("inconclusive"), "open", "yellow", MEANING[Verdict.INCONCLUSIVE]
    ),
    Verdict.INAPPLICABLE: Look(
        "△", later("not applicable"), "fails", "dark_orange", MEANING[Verdict.INAPPLICABLE]
    ),
    Verdict.REFUTED: Look("✗", later("refuted"), "refuted", "red", MEANING[Verdict.REFUTED]),
}
MARKS = {  # of a hypothesis: its sign and its family
    Status.PROVED: ("✓", "holds"),
    Status.SAMPLED: ("~", "open"),
    Status.ASSUMED: ("?", "open"),
    Status.FAILED: ("✗", "refuted"),
}
NOT_CHECKED = Look(
    "–",
    later("not checked"),
    "unchecked",
    "bright_black",
    later("the theorem was not run on this subject"),
)
CONTRADICTED = later("a sample contradicts it, without a witness that could be checked again")
VACUOUS = later("vacuous: the bound holds but lies above the trivial value")


def look(verdict: Verdict | None) -> Look:
    """The look of a verdict; of none, that of a theorem that was not checked."""
    found = NOT_CHECKED if verdict is None else LOOKS[verdict]
    return replace(found, word=t(found.word), means=t(found.means))


def remarks(judged: Judgement | Result) -> tuple[str, ...]:
    """What has to be said beside the verdict word: vacuous, contradicted by a sample, warnings of the data."""
    contradicted = isinstance(judged, Judgement) and judged.contradicted
    warnings = judged.provenance.data_warnings if isinstance(judged, Result) else ()
    told = tuple(t("data warning: {words}", words=warning) for warning in warnings)
    return (t(VACUOUS),) * judged.vacuous + (t(CONTRADICTED),) * contradicted + told
