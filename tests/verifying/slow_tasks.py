"""Work for workers that takes a moment."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from ftheta.sweeps.grid import Cell
from ftheta.sweeps.store import Outcome


class Squares:
    """The square of each value, and a line in a log when it begins."""

    name = "squares"

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Outcome]]:
        for i, cell in enumerate(cells):
            with Path(cell.settings["log"]).open("a", encoding="utf-8") as file:
                file.write(f"{cell.settings['value']}\n")
            time.sleep(0.2)
            yield i, Outcome({"square": cell.settings["value"] ** 2}, None, 0.2)
