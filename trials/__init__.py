"""Adversarial trials: each generates hard cases for one kind of answer and looks for a wrong one.

A module of this package holds the trials of one part of the house in a tuple `TRIALS`. Continuous integration tries a
few cases of each (`tests/trials`), `make trials` as many as fit into an hour. A case is a function of the trial's name,
the seed and its number, so that a wrong one can be repeated: `python -m trials --only NAME --seed S --case K`.
"""

import pkgutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np


@dataclass(frozen=True)
class Trial:
    """One class of cases.

    `attempt(rng)` makes one case from the generator, asks ftheta, and compares with an answer that is known by other
    means (exact arithmetic, brute force, a planted falsehood). It returns None if ftheta was right, else one line that
    states the case, the answer and the truth. `few` is the number of cases that continuous integration tries.
    """

    name: str
    says: str
    attempt: Callable[[np.random.Generator], str | None]
    few: int = 10

    def case(self, seed: int, number: int) -> str | None:
        """Attempt one case; an exception is a wrong answer too."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed, number])
        try:
            return self.attempt(rng)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def all_trials() -> Sequence[Trial]:
    """Every trial of the package, in the order of its modules."""
    names = sorted(
        info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_")
    )
    return [trial for name in names for trial in import_module(f"{__name__}.{name}").TRIALS]
