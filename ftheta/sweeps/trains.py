"""What a sweep runs: anything that turns cells into outcomes. Here, a function of the user."""

import inspect
import time
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ftheta.logic.errors import UsageError

from .arrays import result_of
from .grid import Cell, Grid
from .identity import code_digest, name_of
from .store import Outcome

LONGEST = 2000  # characters of an error


class Train(Protocol):
    """What a sweep asks of the thing it runs."""

    @property
    def name(self) -> str: ...

    def about(self) -> dict[str, Any]:
        """Everything that an outcome depends on besides the cell, as JSON can say it."""
        ...

    def check(self, grid: Grid) -> None:
        """Refuse a grid that cannot work, before anything runs."""
        ...

    def group(self, settings: Mapping[str, Any]) -> Hashable:
        """Cells of one group are best done together; no outcome depends on it."""
        ...

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Outcome]]:
        """The outcome of each cell by its number, as soon as it is there."""
        ...


class Calls:
    """`function(seed=…, **settings)` once a cell."""

    def __init__(self, function: Callable[..., Any], version: str = "") -> None:
        self.function = function
        self.version = version

    @property
    def name(self) -> str:
        return name_of(self.function)

    def about(self) -> dict[str, Any]:
        return {"function": self.name, "code": code_digest(self.function), "version": self.version}

    def check(self, grid: Grid) -> None:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):  # a built-in that does not say
            return
        try:
            signature.bind_partial(seed=0, **dict.fromkeys(grid.names))
            if isinstance(grid.setting(0), dict) and set(grid.setting(0)) == set(grid.names):
                signature.bind(seed=0, **dict.fromkeys(grid.names))
        except TypeError as error:
            raise UsageError(
                "The function does not take the settings of the grid.",
                where=f"{self.name}{signature}",
                got=f"seed, {', '.join(grid.names)}: {error}",
                remedy="it is called as train(seed=…, **settings)",
            ) from error

    def group(self, settings: Mapping[str, Any]) -> Hashable:
        return None

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Outcome]]:
        for i, cell in enumerate(cells):
            started = time.perf_counter()
            try:
                result = result_of(self.function(**cell.settings, seed=cell.seed))
                error = None
            except (Exception, SystemExit) as failure:
                result = None
                error = describe_failure(failure)
            yield i, Outcome(result, error, time.perf_counter() - started)


def describe_failure(failure: BaseException) -> str:
    """An exception in words, with the line that raised it."""
    frames = traceback.extract_tb(failure.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    words = f"{type(failure).__name__}: {failure}"[:LONGEST] + place
    return words.encode(errors="backslashreplace").decode()


def train_of(given: Any, version: str) -> Train:
    """A function, or an object that knows how to run cells."""
    if all(hasattr(given, part) for part in ("about", "check", "group", "run", "name")):
        if version:
            raise UsageError(
                "A version belongs to a function.",
                got=f"version={version!r}",
                remedy="leave it out",
            )
        return given
    if callable(given):
        return Calls(given, version)
    remedy = "give a function train(seed=…, **settings), or ftheta.sweeps.Networks(…)"
    raise UsageError("This cannot be swept.", got=f"a {type(given).__name__}", remedy=remedy)
