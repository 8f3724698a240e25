"""How packages that can be called (`ft.pieces`, `ft.graph`) take modules of torch like the other public functions.

What reads a module stands above these packages, so that they cannot import it; `import ftheta` hands it to them here.
"""

from collections.abc import Callable
from typing import Any

_readers: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []


def let_accept_modules(reader: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """From now on `reader` makes of a function one that takes modules of torch where it takes networks."""
    _readers[:] = [reader]


def accept_modules(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes modules of torch where it takes networks."""
    for reader in _readers:
        return reader(function)
    return function
