"""How a theorem is opened in the lab."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode


def lab_line(id: str) -> str:
    """The line that opens the lab at a theorem."""
    return f"ftheta lab {id}"


def lab_address(id: str, preset: str = "", knobs: Mapping[str, Any] = MappingProxyType({})) -> str:
    """What the address of the lab ends in for a state of the knobs, as the lab writes it."""
    spelled = {
        name: str(value).lower() if isinstance(value, bool) else f"{value}"
        for name, value in knobs.items()
    }
    query = urlencode(({"preset": preset} if preset else {}) | spelled)
    return f"#/{id}{'?' * bool(query)}{query}"
