"""What a theorem asks of its subject, checked before anything is concluded."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .enclosure import Basis, Enclosure
from .verdict import Verdict


class Status(StrEnum):
    """How well a hypothesis is known to hold. Anything below proved caps the verdict at consistent."""

    PROVED = "proved"
    SAMPLED = "sampled"
    ASSUMED = "assumed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check returns: the status, the number behind it, and a sentence with that number in it.

    A hypothesis proved by a float64 computation (basis FLOAT) lets the verdict reach certified at most. `why` says in
    one line why a proof is one: read off the graph, exact arithmetic, outward rounding over the whole domain. What a
    user states is assumed, what was looked at in places is sampled: neither has a `why`. `awaits` names what is missing
    where the hypothesis cannot be decided because another one fails: views name the other one alone.
    """

    status: Status
    note: str
    number: Enclosure | None = None
    basis: Basis = Basis.EXACT
    why: str = ""
    awaits: str = ""

    @property
    def cap(self) -> Verdict:
        """The strongest verdict that this finding allows."""
        if self.status is Status.FAILED:
            return Verdict.INAPPLICABLE
        if self.status is not Status.PROVED:
            return Verdict.CONSISTENT
        return Verdict.PROVED if self.basis is Basis.EXACT else Verdict.CERTIFIED

    @classmethod
    def proved(
        cls, note: str, why: str, number: Enclosure | None = None, *, basis: Basis = Basis.EXACT
    ) -> "Finding":
        """It holds, and `why` says why that is a proof."""
        return cls(Status.PROVED, note, number, basis, why)

    @classmethod
    def sampled(cls, note: str, number: Enclosure | None = None) -> "Finding":
        """It held wherever it was looked at."""
        return cls(Status.SAMPLED, note, number, Basis.SAMPLED)

    @classmethod
    def assumed(cls, note: str) -> "Finding":
        """Nothing speaks against it, and nothing proves it."""
        return cls(Status.ASSUMED, note)

    @classmethod
    def failed(cls, note: str, number: Enclosure | None = None) -> "Finding":
        """It does not hold."""
        return cls(Status.FAILED, note, number)

    @classmethod
    def undecided(cls, awaits: str) -> "Finding":
        """Failed, because another hypothesis fails: this one cannot be decided without what that one asks for."""
        return cls(Status.FAILED, f"cannot be decided without {awaits}", awaits=awaits)

    @classmethod
    def decide(
        cls,
        holds: bool,
        note: str,
        why: str,
        number: Enclosure | None = None,
        *,
        basis: Basis = Basis.FLOAT,
    ) -> "Finding":
        """Proved (on the given basis, and why that is a proof) or failed."""
        return cls.proved(note, why, number, basis=basis) if holds else cls.failed(note, number)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A named condition. `says` is its LaTeX or plain statement, `remedy` how a user can meet it."""

    name: str
    says: str
    check: Callable[..., Finding]
    remedy: str = ""

    def __call__(self, subject: Any, knobs: Mapping[str, Any]) -> Finding:
        """Check the subject; the check receives the knobs that its signature names."""
        return self.check(subject, **named_knobs(self.check, knobs))


def hypothesis(
    says: str, *, remedy: str = "", name: str = ""
) -> Callable[[Callable[..., Finding]], Hypothesis]:
    """Turn `check(subject, *, knob, ...) -> Finding` into a Hypothesis, named after the function if not otherwise."""

    def wrap(check: Callable[..., Finding]) -> Hypothesis:
        return Hypothesis(name or check.__name__.replace("_", " "), says, check, remedy)

    return wrap


def named_knobs(function: Callable[..., Any], knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Those knobs that the function's signature names as keyword-only parameters."""
    wanted = inspect.signature(function).parameters.values()
    return {p.name: knobs[p.name] for p in wanted if p.kind is p.KEYWORD_ONLY and p.name in knobs}
