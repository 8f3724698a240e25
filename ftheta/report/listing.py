"""The catalogue in Python: `ft.list()` and `ft.show(id)` say what `ftheta list` and `ftheta show` print."""

from ftheta.catalogue import entry_of, index
from ftheta.languages import t
from ftheta.logic import UsageError, suggest

from .letters import letters
from .notebook import plain_text
from .sheet import sheet


class Listing(tuple[str, ...]):
    """Ids of theorems, shown with their titles."""

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{id:{width}}  {letters(t(index()[id]['title']))}" for id in self)


class Sheet(str):
    """What there is to read of a theorem, shown as it is."""

    def __repr__(self) -> str:
        return str(self)


def list(chapter: str | None = None) -> Listing:
    """The ids of all theorems, or of those of one chapter, shown with their titles."""
    chapters = {entry["chapter"]: None for entry in index().values()}
    if chapter is not None and chapter not in chapters:
        remedy = suggest(chapter, chapters, f"choose one of {', '.join(chapters)}")
        raise UsageError("Unknown chapter.", got=chapter, remedy=remedy)
    return Listing(id for id, entry in index().items() if chapter in (None, entry["chapter"]))


def show(id: str) -> Sheet:
    """A theorem: gist, statement, hypotheses, knobs, presets, sources, and errata in the sources."""
    return Sheet(plain_text(sheet(entry_of(id))))
