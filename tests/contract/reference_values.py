"""Values that the catalogue states, each recomputed independently: knobs -> numbers of the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reference:
    expected: Mapping[str, float]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-9


REFERENCE: dict[str, list[Reference]] = {
    "gd-strongly-convex": [
        Reference({"gamma": 81 / 121, "error at K": 2 * (9 / 11) ** 20}, {"kappa": 10, "steps": 10}),
        Reference({"gamma": 0.6694214876, "error at K": 0.0361431900}, {"kappa": 10, "steps": 10}, rtol=2e-9),
        Reference({"gamma": 0.9607881580}, {"kappa": 100}),
    ]
}
