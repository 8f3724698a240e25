"""The six things that can be said, and how several are combined into one."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """From strongest. A verdict never says more than was shown."""

    PROVED = "proved"  # exact arithmetic or outward rounding over the whole stated domain
    CERTIFIED = "certified"  # a sound argument evaluated in float64, tolerance stated
    CONSISTENT = "consistent"  # measured; nothing contradicts
    INCONCLUSIVE = "inconclusive"  # budget or noise
    INAPPLICABLE = "inapplicable"  # a hypothesis fails
    REFUTED = "refuted"  # a witness, re-checked

    @property
    def rank(self) -> int:
        return list(Verdict).index(self)

    @property
    def holds(self) -> bool:
        """Whether the claim stood, in one of the three strengths."""
        return self.rank <= Verdict.CONSISTENT.rank


MEANING = {
    Verdict.PROVED: "exact arithmetic, or enclosures with outward rounding, over the whole stated domain",
    Verdict.CERTIFIED: "a sound argument evaluated in float64; the tolerance is stated",
    Verdict.CONSISTENT: "measured; nothing contradicts the claim",
    Verdict.INCONCLUSIVE: "budget or noise: the best enclosure is given",
    Verdict.INAPPLICABLE: "a hypothesis of the theorem is not met",
    Verdict.REFUTED: "a witness, checked again, contradicts the claim",
}


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The weakest of several verdicts; of none, inconclusive: nothing was shown."""
    return max(verdicts, key=lambda v: v.rank, default=Verdict.INCONCLUSIVE)


def weaken_to(verdict: Verdict, at: Verdict) -> Verdict:
    """The verdict, no stronger than `at`."""
    return max(verdict, at, key=lambda v: v.rank)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one claim with its reason.

    `vacuous`: the bound holds but lies above the trivial value. `contradicted`: a sample speaks against
    the claim, but no witness that could be checked again was given, so it is not refuted.
    """

    verdict: Verdict
    reason: str
    vacuous: bool = False
    contradicted: bool = False
