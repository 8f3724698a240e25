"""Every theorem of the package, found by walking `ftheta.theorems`, and those of plug-ins; and the index that needs no
JAX, with the sources as one line each."""

import json
import pkgutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import ftheta.theorems as root
from ftheta.logic import Hypothesis, Theorem, UsageError, suggest
from ftheta.logic.knob import Knob, Setting

from .bibliography import references
from .plugins import Plugin, Plugins, find_plugins

OWN = "ftheta"  # the package of our theorems
INDEX = Path(__file__).parents[1] / "theorems" / "index.json"


@cache
def theorems() -> Mapping[str, Theorem]:
    """All theorems by id, in the order of the chapters, those of plug-ins last. Imports every theorem module, hence
    JAX."""
    return MappingProxyType(
        {**own_theorems(), **{p.theorem.id: p.theorem for p in plugins().found}}
    )


@cache
def own_theorems() -> Mapping[str, Theorem]:
    """The theorems of ftheta itself."""
    found: dict[str, Theorem] = {}
    for chapter in root.CHAPTERS:
        folder = import_module(f"{root.__name__}.{chapter}")
        for info in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            for item in vars(import_module(info.name)).values():
                if isinstance(item, Theorem) and found.setdefault(item.id, item) is not item:
                    raise ValueError(
                        f"Two theorems have the id {item.id}; the second is in {info.name}."
                    )
    ordered = sorted(found.values(), key=lambda t: (root.CHAPTERS.index(t.chapter), t.id))
    return MappingProxyType({t.id: t for t in ordered})


class _CallableModule(ModuleType):
    """`ft.theorems` is the package of the theorems as soon as it is imported; called, it is the function."""

    def __call__(self) -> Mapping[str, Theorem]:
        return theorems()


sys.modules[root.__name__].__class__ = _CallableModule


@cache
def theorem(name: str) -> Theorem:
    """One theorem by id (`_` and `-` are the same); imports only its module."""
    entry = entry_of(name)
    if entry["package"] != OWN:
        return next(p.theorem for p in plugins().found if p.theorem.id == entry["id"])
    module = import_module(entry["module"])
    return getattr(module, entry["id"].replace("-", "_"))


@cache
def index() -> Mapping[str, dict[str, Any]]:
    """What `list` and `show` print: read from the generated index file, and off the plug-ins."""
    return MappingProxyType(
        {**_own_index(), **{p.theorem.id: _plugin_entry(p) for p in plugins().found}}
    )


@cache
def _own_index() -> Mapping[str, dict[str, Any]]:
    return MappingProxyType({e["id"]: e for e in json.loads(INDEX.read_text(encoding="utf-8"))})


@cache
def plugins() -> Plugins:
    """The theorems of other packages. What is wrong with one is told once, on standard error, and it is left out."""
    found = find_plugins(_own_index())
    for problem in found.problems:
        print(f"ftheta: {problem}", file=sys.stderr)
    return found


def entry_of(name: str) -> dict[str, Any]:
    """The index entry of an id; an unknown one suggests the nearest."""
    wanted = name.lower().replace("_", "-")
    if wanted not in index():
        remedy = suggest(wanted, index(), "`ftheta list` names them all", most=3)
        raise UsageError("There is no theorem of this id.", got=name, remedy=remedy)
    return index()[wanted]


def settings_of(entry: Mapping[str, Any]) -> tuple[Setting, ...]:
    """The knobs of an index entry, to parse values by."""
    described = (
        e | {"knob": Knob(**{**e["knob"], "choices": tuple(e["knob"]["choices"])})}
        for e in entry["knobs"]
    )
    return tuple(Setting(**e) for e in described)


def make_index() -> list[dict[str, Any]]:
    """The index, made anew from the theorem modules and the bibliography."""
    known = references()
    return [_own_entry(t, known) for t in own_theorems().values()]


def write_index() -> None:
    """Write the index file; a test keeps it in step with the modules."""
    INDEX.write_text(
        json.dumps(make_index(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _own_entry(t: Theorem, known: Mapping[str, str]) -> dict[str, Any]:
    from .lessons import place_of_lesson, read_lesson  # imports pydantic

    chapter = (
        (import_module(f"{root.__name__}.{t.chapter}").__doc__ or t.chapter).strip().rstrip(".")
    )
    sources = {source: known[source] for source in t.sources}
    lesson = read_lesson(place_of_lesson(INDEX.parent, t.chapter, t.id))
    return {**_entry(t, chapter, sources, lesson), "package": OWN}


def _plugin_entry(plugin: Plugin) -> dict[str, Any]:
    """A source that is not in our bibliography stands for itself."""
    sources = {source: references().get(source, "") for source in plugin.theorem.sources}
    entry = _entry(plugin.theorem, f"{plugin.package} {plugin.version}", sources, plugin.lesson)
    return {**entry, "package": plugin.package, "package_version": plugin.version}


def _entry(
    t: Theorem, chapter: str, sources: dict[str, str], lesson: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "id": t.id,
        "chapter": t.chapter,
        "chapter_title": chapter,
        "title": t.title,
        "module": t.measure.__module__,
        "statement": t.statement,
        "sources": sources,
        "takes": [kind.__name__ for kind in t.takes],
        "audited": t.audited and "Network" in [kind.__name__ for kind in t.takes],
        "assumes": [_describe_hypothesis(h) for h in t.assumes],
        "adapters": [
            {"takes": a.takes.__name__, **_describe_hypothesis(a.needs)}
            for a in t.adapters
            if a.needs is not None
        ],
        "knobs": [json.loads(json.dumps(asdict(s))) for s in t.settings],
        "subject_knobs": sorted(t.subject_settings),
        "presets": {name: dict(knobs) for name, knobs in t.presets.items()},
        "breakable": t.breaks_on is not None,
        "unbreakable": t.unbreakable,
        "errata": t.errata,
        "gist": t.gist,
        "see_also": list(t.see_also),
        "lesson": lesson,
    }


def _describe_hypothesis(hypothesis: Hypothesis) -> dict[str, str]:
    return {"name": hypothesis.name, "says": hypothesis.says, "remedy": hypothesis.remedy}
