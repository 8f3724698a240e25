"""What `ft.lipschitz` returns: both ends of an enclosure, how each was found, and everything that was tried."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Literal

import numpy as np

from ftheta.logic.chart import Axis, Bars
from ftheta.logic.enclosure import Enclosure

from ..traced_programs import MEANING
from .secants import SteepestSecant

NAMES = {1.0: "ℓ1", 2.0: "ℓ2", inf: "ℓ∞"}


@dataclass(frozen=True, eq=False)
class Rung:
    """One bound that was tried: its `value`, what it `rests_on`, and the seconds of processor time that it took.

    `certificate` holds arrays that prove it, where it needs any, and `again` computes the bound from them once more.
    """

    method: str
    end: Literal["upper", "lower"]
    value: float
    seconds: float
    rests_on: str
    certificate: Mapping[str, Any] = field(default_factory=dict)
    again: Callable[[], float] | None = None

    def to_dict(self, *, with_certificate: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = {
            "method": self.method,
            "end": self.end,
            "value": _number(self.value),
            "seconds": round(self.seconds, 4),
            "rests_on": self.rests_on,
        }
        if with_certificate:
            found["certificate"] = {name: _plain(value) for name, value in self.certificate.items()}
        return found


@dataclass(frozen=True, eq=False)
class LipschitzConstant:
    r"""`lo` $\le\mathrm{Lip}(f)\le$ `hi` in the `norm` of inputs and outputs, on the `domain`.

    `lower` and `upper` are the rungs of the `ladder` that give the two ends. `witness` is the secant of the lower end:
    two inputs of the domain. `remarks` say what stands in the way of a bound, and where.
    """

    name: str
    norm: float
    domain: str
    ladder: tuple[Rung, ...]
    witness: SteepestSecant | None
    remarks: tuple[str, ...] = ()
    meaning: str = MEANING

    @property
    def lower(self) -> Rung | None:
        return max(
            (rung for rung in self.ladder if rung.end == "lower"),
            key=lambda r: r.value,
            default=None,
        )

    @property
    def upper(self) -> Rung | None:
        return min(
            (rung for rung in self.ladder if rung.end == "upper"),
            key=lambda r: r.value,
            default=None,
        )

    @property
    def lo(self) -> float:
        """No Lipschitz constant is smaller: there is a secant this steep."""
        return 0.0 if self.lower is None else self.lower.value

    @property
    def hi(self) -> float:
        """A Lipschitz constant; ∞ where none was found."""
        return inf if self.upper is None else self.upper.value

    @property
    def enclosure(self) -> Enclosure:
        return Enclosure.between(self.lo, self.hi)

    @property
    def ratio(self) -> float:
        """`hi` over `lo`."""
        return self.hi / self.lo if self.lo > 0 else inf if self.hi > 0 else 1.0

    def verify(self) -> bool:
        """Compute both ends again from their certificates alone, and say whether they hold."""
        upper = self.upper
        lower = self.lower
        above = upper is None or upper.again is None or upper.again() <= upper.value
        below = lower is None or lower.again is None or lower.again() >= lower.value
        return above and below

    def chart(self) -> Bars:
        """The ladder: every bound that was tried, lower ends first."""
        ends = {"lower": "≥ ", "upper": "≤ "}
        rungs = [rung for rung in self.ladder if isfinite(rung.value)]
        rungs.sort(key=lambda rung: (rung.end == "upper", rung.value))
        values = [rung.value for rung in rungs]
        positive = [value for value in values if value > 0]
        scale = (
            "log"
            if positive and min(values) > 0 and max(positive) > 100 * min(positive)
            else "linear"
        )
        title = f"bounds of Lip(f) in {NAMES[self.norm]}, {self.name}"
        names = tuple(f"{ends[rung.end]}{rung.method}" for rung in rungs)
        return Bars(title, Axis("Lip(f)", scale), names, ("bound",), (tuple(values),))

    def to_dict(self) -> dict[str, Any]:
        """The whole result in numbers, words and lists, as JSON has them."""
        witness = None
        if self.witness is not None:
            witness = {
                "x": self.witness.x.tolist(),
                "y": self.witness.y.tolist(),
                "slope": [_number(self.witness.slope.lo), _number(self.witness.slope.hi)],
                "evaluated in": self.witness.how,
            }
        return {
            "network": self.name,
            "norm": _number(self.norm) if self.norm == inf else int(self.norm),
            "domain": self.domain,
            "meaning": self.meaning,
            "lo": _number(self.lo),
            "hi": _number(self.hi),
            "lower": None if self.lower is None else self.lower.to_dict(),
            "upper": None if self.upper is None else self.upper.to_dict(with_certificate=True),
            "witness": witness,
            "ladder": [rung.to_dict() for rung in self.ladder],
            "remarks": list(self.remarks),
        }

    def __repr__(self) -> str:
        return f"LipschitzConstant({self.lo:.6g} … {self.hi:.6g}, norm {NAMES[self.norm]}, {self.domain})"

    def __str__(self) -> str:
        head = f"{self.name}: {self.lo:.6g} ≤ Lip(f) ≤ {self.hi:.6g} in {NAMES[self.norm]} on {self.domain}"
        rows = [
            f"  {'≥' if rung.end == 'lower' else '≤'} {rung.value:<12.6g} {rung.method} ({rung.rests_on}; "
            f"{rung.seconds:.2f} s)"
            for rung in self.ladder
        ]
        return "\n".join(
            [head, *rows, *(f"  {remark}" for remark in self.remarks), f"  about {self.meaning}"]
        )


def _number(value: float) -> float | str:
    return value if isfinite(value) else "inf" if value > 0 else "-inf"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return _number(value) if isinstance(value, float) else value
