"""What a reference value is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reference:
    """Numbers that a run with these knobs must give, to within `rtol` of them."""

    expected: Mapping[str, float]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-9
