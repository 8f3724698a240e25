"""All that was seen so far: a file of JSON lines, a page that loads itself again, the output of a notebook cell."""

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from .observation import Observation
from .page import draw_page, draw_panels

BETWEEN_PAGES = 2.0  # seconds at least


class Log:
    """The observations, each a line of `file`, and all of them on `page`; either may be None."""

    def __init__(self, file: Path | None, page: Path | None, title: str) -> None:
        self.file = file
        self.page = page
        self.title = title
        self.observations: list[Observation] = []
        self._drawn = 0.0
        self._display: Any = None
        if file is not None:
            file.write_text("", encoding="utf-8")

    def add(self, observation: Observation) -> None:
        self.observations.append(observation)
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(observation.document, ensure_ascii=False) + "\n")
        if perf_counter() - self._drawn >= BETWEEN_PAGES:
            self.draw()

    def draw(self) -> None:
        """Write the page, and show it anew in a notebook, where there is one."""
        self._drawn = perf_counter()
        if self.page is not None:
            self.page.write_text(draw_page(self.title, self.observations), encoding="utf-8")
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if shell is not None and self.observations:
            self._show()

    def _show(self) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        shown = HTML(self.html)
        if self._display is None:
            self._display = display(shown, display_id=True)
        else:
            self._display.update(shown)

    @property
    def html(self) -> str:
        """The charts as a piece of HTML."""
        return draw_panels(self.observations)
