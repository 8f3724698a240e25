"""What goes to another process of the same audit, through a pipe: nothing that is unpacked here comes from a file."""

import pickle
from typing import Any


def pack(thing: Any) -> bytes | None:
    """The bytes, or None where it does not pickle. Functions without a name need cloudpickle."""
    try:
        import cloudpickle as pickler  # type: ignore[import-not-found]
    except ImportError:
        pickler = pickle
    try:
        return pickler.dumps(thing)
    except Exception:  # whatever a foreign object raises
        return None


def unpack(data: bytes) -> Any:
    """What was packed."""
    return pickle.loads(data)
