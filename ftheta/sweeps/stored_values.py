"""Values of settings and results as SQLite keeps them."""

import json
from math import isnan
from typing import Any


def to_stored_value(value: Any) -> Any:
    """Numbers and words as they are, NaN as nothing (SQLite has none), everything else as JSON in bytes."""
    if isinstance(value, float):
        return None if isnan(value) else value
    if isinstance(value, (bool, tuple, list)) or (isinstance(value, int) and abs(value) >= 1 << 63):
        return json.dumps(value).encode()
    return value


def read(value: Any) -> Any:
    """The value that `to_stored_value` wrote; NaN comes back as None."""
    if not isinstance(value, bytes):
        return value
    found = json.loads(value)
    return tuple(found) if isinstance(found, list) else found
