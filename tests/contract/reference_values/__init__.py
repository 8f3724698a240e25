"""Values that the catalogue states, each recomputed independently: one file a chapter."""

from importlib import import_module
from pkgutil import iter_modules

from .reference import Reference

_CHAPTERS = [module.name for module in iter_modules(__path__) if module.name != "reference"]
WITHOUT_REFERENCE = {
    "history-timeline": "a list of dates, which its own tests compare with the bibliography",
    "open-problems-register": "what it measures is open: nobody has published a value",
}
REFERENCE: dict[str, list[Reference]] = {}
for _chapter in _CHAPTERS:
    REFERENCE |= import_module(f"{__name__}.{_chapter}").VALUES
