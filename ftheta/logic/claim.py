"""The few shapes a conclusion can take, and how each is judged.

A claim holds only if it holds for every pair of numbers in the two enclosures, and is contradicted only if
it fails for every pair. An EXACT enclosure already contains its rounding and a statistical one its error.
One that carries the rounding of float64 is compared with the claim's tolerance: certified means
"within the tolerance", and a contradiction has to exceed it.

A contradiction refutes only between two EXACT enclosures: those of the claim itself, or those of a `Witness`, in
which both sides were evaluated again at one point in rationals, in balls or in intervals rounded outward. The
tolerance of a claim is relative to its two sides; what float64 loses by cancellation is relative to the numbers that
cancelled, which may be larger by any factor. So float64 alone contradicts without refuting: the judgement is
inconclusive, and says that it is contradicted. The same is true of a sample.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite, isinf
from typing import Literal, TypeAlias

from .enclosure import Basis, Enclosure
from .verdict import Judgement, Verdict
from .witness import Coordinate, Witness

_EARNED = {
    Basis.EXACT: Verdict.PROVED,
    Basis.FLOAT: Verdict.CERTIFIED,
    Basis.SAMPLED: Verdict.CONSISTENT,
}
RTOL = 1e-9
UNKNOWN = "nothing is known of one side"


@dataclass(frozen=True, slots=True)
class AtMost:
    """`left <= right`. `trivial` is the value that `left` cannot exceed anyway: a bound above it is vacuous."""

    what: str
    left: Enclosure
    right: Enclosure
    trivial: float = inf
    witness: Witness | None = None
    rtol: float = RTOL
    atol: float = 0.0
    kind: Literal["at-most"] = "at-most"

    def judge(self) -> Judgement:
        left = _round_outward(self.left, self)
        right = _round_outward(self.right, self)
        vacuous = right.lo >= self.trivial
        if left.lo > right.hi:
            return _contradiction(self, self.witness, _exceeds)
        # what is no number in float64 is within no bound, and a bound that overflowed is none
        known = _is_known(left, right)
        if _at_most(self.left.hi, self.right.lo, self) and (known or _is_exact(left, right)):
            return Judgement(
                _strongest_verdict(left, right), _basis_reason(self, left, right), vacuous
            )
        if not known:
            return Judgement(Verdict.INCONCLUSIVE, UNKNOWN, vacuous)
        if _is_sampled(left, right):
            return Judgement(Verdict.CONSISTENT, _basis_reason(self, left, right), vacuous)
        return Judgement(Verdict.INCONCLUSIVE, "the enclosures of the two sides overlap", vacuous)


@dataclass(frozen=True, slots=True)
class Identity:
    """`left = right`: proved for exact points, certified within the tolerance otherwise."""

    what: str
    left: Enclosure
    right: Enclosure
    witness: Witness | None = None
    rtol: float = RTOL
    atol: float = 0.0
    kind: Literal["identity"] = "identity"

    def judge(self) -> Judgement:
        left = _round_outward(self.left, self)
        right = _round_outward(self.right, self)
        if _are_apart(left, right):
            return _contradiction(self, self.witness, _are_apart)
        if not _is_known(left, right):
            return Judgement(Verdict.INCONCLUSIVE, UNKNOWN)
        if _is_sampled(left, right):
            return Judgement(Verdict.CONSISTENT, _basis_reason(self, left, right))
        if left.is_point and right.is_point and left.basis is right.basis is Basis.EXACT:
            return Judgement(Verdict.PROVED, "equal in exact arithmetic")
        width = max(self.left.width, self.right.width)
        if isfinite(width) and width <= self.rtol * _size(self.left, self.right) + self.atol:
            return Judgement(Verdict.CERTIFIED, f"equal within {_tolerance(self)}")
        return Judgement(
            Verdict.INCONCLUSIVE, "the enclosures overlap but are wider than the tolerance"
        )


@dataclass(frozen=True, slots=True)
class Rate:
    """`error(n) = O(n^-order)`, read off the fitted slope of log error against log n.

    A finite run neither proves nor refutes an asymptotic rate: consistent or inconclusive.
    With `sharp` the error is claimed to be no smaller either.
    """

    what: str
    order: float
    slope: Enclosure
    scales: tuple[float, ...]
    errors: tuple[float, ...]
    slack: float = 0.1
    sharp: bool = False
    kind: Literal["rate"] = "rate"

    def judge(self) -> Judgement:
        fast_enough = self.slope.hi <= -self.order + self.slack
        not_faster = not self.sharp or self.slope.lo >= -self.order - self.slack
        fitted = f"fitted slope in [{self.slope.lo:.4g}, {self.slope.hi:.4g}] over {len(self.scales)} scales"
        wanted = f"{'exactly' if self.sharp else 'at most'} {-self.order:g} (slack {self.slack:g})"
        verdict = Verdict.CONSISTENT if fast_enough and not_faster else Verdict.INCONCLUSIVE
        return Judgement(verdict, f"{fitted}; claimed {wanted}")


@dataclass(frozen=True, slots=True)
class Converges:
    """Values that approach a limit: the last one is within `within` of it. Never proved, never refuted."""

    what: str
    limit: Enclosure
    values: tuple[Enclosure, ...]
    scales: tuple[float, ...]
    within: float
    kind: Literal["converges"] = "converges"

    def judge(self) -> Judgement:
        last = self.values[-1]
        distance = max(last.hi - self.limit.lo, self.limit.hi - last.lo)
        verdict = Verdict.CONSISTENT if distance <= self.within else Verdict.INCONCLUSIVE
        at = f"at scale {self.scales[-1]:g} the distance is at most {distance:.3g}"
        return Judgement(verdict, f"{at}; asked: {self.within:g}")


@dataclass(frozen=True, slots=True)
class Exists:
    """Something exists with `achieved <= wanted`: `found` describes it. Not finding it refutes nothing."""

    what: str
    found: Mapping[str, Coordinate]
    achieved: Enclosure
    wanted: Enclosure
    rtol: float = RTOL
    atol: float = 0.0
    kind: Literal["exists"] = "exists"

    def judge(self) -> Judgement:
        judged = AtMost(
            self.what, self.achieved, self.wanted, rtol=self.rtol, atol=self.atol
        ).judge()
        if judged.verdict is Verdict.REFUTED or judged.contradicted:
            return Judgement(Verdict.INCONCLUSIVE, "what was found does not do; something else may")
        return judged


Claim: TypeAlias = AtMost | Identity | Rate | Converges | Exists


def _carries_rounding(side: Enclosure) -> bool:
    return side.basis is not Basis.EXACT and side.level is None


def _round_outward(side: Enclosure, claim: AtMost | Identity) -> Enclosure:
    return side.widened(claim.rtol, claim.atol) if _carries_rounding(side) else side


def _loosen(side: Enclosure, claim: AtMost | Identity) -> Enclosure:
    """A side of a witness with the tolerance that the claim allows, where it allows one."""
    tolerant = _carries_rounding(claim.left) or _carries_rounding(claim.right)
    return side.widened(claim.rtol, claim.atol) if tolerant else side


def _at_most(a: float, b: float, claim: AtMost) -> bool:
    """`a <= b`, within the tolerance where one of the sides carries rounding."""
    if a <= b or not (_carries_rounding(claim.left) or _carries_rounding(claim.right)):
        return a <= b
    return isfinite(a) and isfinite(b) and a - b <= claim.rtol * max(abs(a), abs(b)) + claim.atol


def _strongest_verdict(*sides: Enclosure) -> Verdict:
    return _EARNED[max((e.basis for e in sides), key=lambda b: b.rank)]


def _is_exact(*sides: Enclosure) -> bool:
    return all(e.basis is Basis.EXACT for e in sides)


def _is_known(*sides: Enclosure) -> bool:
    """Whether something is known of every side: what is no number has an enclosure without ends, and what float64
    calls infinite may be a number beyond it."""
    return not any(
        isinf(e.lo) and isinf(e.hi) and (e.lo < e.hi or e.basis is not Basis.EXACT) for e in sides
    )


def _is_sampled(*sides: Enclosure) -> bool:
    return any(e.basis is Basis.SAMPLED for e in sides)


def _size(left: Enclosure, right: Enclosure) -> float:
    return max(abs(left.middle), abs(right.middle))


def _exceeds(left: Enclosure, right: Enclosure) -> bool:
    return left.lo > right.hi


def _are_apart(left: Enclosure, right: Enclosure) -> bool:
    return left.lo > right.hi or right.lo > left.hi


def _tolerance(claim: AtMost | Identity) -> str:
    return f"relative {claim.rtol:g}" + (f" and absolute {claim.atol:g}" if claim.atol else "")


def _basis_reason(claim: AtMost | Identity, left: Enclosure, right: Enclosure) -> str:
    sampled = [e for e in (left, right) if e.samples is not None]
    if sampled:
        fewest = min(sampled, key=lambda e: e.samples or 0)
        return f"{fewest.sample_count}{_stated_level(left, right)}; nothing contradicts"
    if _strongest_verdict(left, right) is Verdict.PROVED:
        return "exact arithmetic or outward rounding on both sides"
    return f"float64 within {_tolerance(claim)}"


def _stated_level(left: Enclosure, right: Enclosure) -> str:
    """How sure the sampled sides are, and what that rests on."""
    levels = [e.level for e in (left, right) if e.level is not None]
    if not levels:
        return ""
    guaranteed = left.nominal is None and right.nominal is None
    assumed = "; ".join(dict.fromkeys(e.assuming for e in (left, right) if e.assuming))
    return f" at {'' if guaranteed else 'nominal '}confidence {min(levels):g}" + (
        f" ({assumed})" if assumed else ""
    )


def _contradiction(
    claim: AtMost | Identity, witness: Witness | None, fails: Callable[..., bool]
) -> Judgement:
    """Refuted only by EXACT numbers; float64 or a sample alone contradicts without refuting."""
    if _is_exact(claim.left, claim.right):
        return Judgement(Verdict.REFUTED, "the enclosures of the two sides are strictly apart")
    if witness is None:
        source = (
            "the sample contradicts"
            if _is_sampled(claim.left, claim.right)
            else "float64 contradicts"
        )
        reason = f"{source} the claim, without a witness to check again"
        return Judgement(Verdict.INCONCLUSIVE, reason, contradicted=True)
    if not _is_exact(witness.left, witness.right):
        reason = "the claim fails at a point in float64, where rounding may be all there is"
        return Judgement(Verdict.INCONCLUSIVE, reason, contradicted=True)
    if fails(_loosen(witness.left, claim), _loosen(witness.right, claim)):
        return Judgement(Verdict.REFUTED, f"fails at the witness, re-checked: {witness.how}")
    if isinf(witness.left.width) or isinf(witness.right.width):
        reason = "float64 contradicts the claim at a point where it cannot be evaluated again with an error bound"
        return Judgement(Verdict.INCONCLUSIVE, reason, contradicted=True)
    return Judgement(Verdict.INCONCLUSIVE, "the witness did not survive being checked again")
