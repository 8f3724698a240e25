"""Theorems of other packages: modules, or lists of theorems, that their entry points `ftheta.theorems` name.

Only packages that are installed are looked at. One that fails is named and left out, and the others work.
"""

import sys
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ftheta.logic.theorems import Theorem

GROUP = "ftheta.theorems"
_METADATA = (".dist-info", ".egg-info")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A theorem of another package, with the version of that package and the theorem's lesson, if it has one."""

    theorem: Theorem
    package: str
    version: str
    lesson: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something of another package was left out; `entry` is its entry point, as the package declares it."""

    package: str
    entry: str
    says: str

    def __str__(self) -> str:
        return f"plug-in {self.package} ({self.entry}) was left out: {self.says}"


@dataclass(frozen=True, slots=True)
class Plugins:
    """What other packages bring, by package and id, and what was left out."""

    found: tuple[Plugin, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_plugins(own: Container[str]) -> Plugins:
    """The theorems of other packages whose ids are neither among our `own` ones nor claimed twice."""
    if not _any_package_names_the_group():
        return Plugins()
    from importlib.metadata import entry_points

    offered: list[tuple[Plugin, str]] = []
    problems: list[Problem] = []
    for point in sorted(
        entry_points(group=GROUP), key=lambda point: (_package(point)[0], point.name)
    ):
        package, version = _package(point)
        entry = f"{point.name} = {point.value}"
        try:
            made = [Plugin(t, package, version, _lesson(t)) for t in _theorems(point.load())]
        except (Exception, SystemExit) as error:  # whatever a package does when it is imported
            problems.append(Problem(package, entry, f"{type(error).__name__}: {error}"))
        else:
            offered += [(plugin, entry) for plugin in made]
    found, clashes = _refuse_clashes(offered, own)
    return Plugins(tuple(found), (*problems, *clashes))


def _any_package_names_the_group() -> bool:
    """Whether it is worth importing `importlib.metadata`, which takes longer than all the rest of a short command."""
    return any(
        GROUP in text for folder in dict.fromkeys(sys.path) for text in _entry_points_in(folder)
    )


def _entry_points_in(folder: str) -> Iterator[str]:
    try:
        installed = [path for path in Path(folder).iterdir() if path.suffix in _METADATA]
    except OSError:  # an archive, or a folder that is not there
        return
    for path in installed:
        try:
            yield (path / "entry_points.txt").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):  # most packages have none
            continue


def _package(point: Any) -> tuple[str, str]:
    return (point.dist.name, point.dist.version) if point.dist is not None else (point.module, "")


def _theorems(given: Any) -> list[Theorem]:
    """A module holds theorems that were made in it; otherwise there is a theorem, or a list of them."""
    if isinstance(given, ModuleType):
        held = [t for t in vars(given).values() if isinstance(t, Theorem)]
        made = [t for t in held if f"{t.measure.__module__}.".startswith(f"{given.__name__}.")]
    else:
        made = [given] if isinstance(given, Theorem) else list(given)
    if not made or not all(isinstance(t, Theorem) for t in made):
        raise TypeError(
            f"it names {given!r:.80}, which is neither a module with a theorem nor a list of theorems"
        )
    return made


def _lesson(theorem: Theorem) -> dict[str, Any] | None:
    """The lesson beside the module of the theorem."""
    file = getattr(sys.modules.get(theorem.measure.__module__), "__file__", None)
    path = None if file is None else Path(file).with_name(f"{theorem.id.replace('-', '_')}.toml")
    if path is None or not path.is_file():
        return None
    from .lessons import read_lesson  # imports pydantic

    return read_lesson(path)


def _refuse_clashes(
    offered: list[tuple[Plugin, str]], own: Container[str]
) -> tuple[list[Plugin], list[Problem]]:
    """Neither of two packages has an id that both claim: which one came first would be a matter of their names."""
    claims = Counter(plugin.theorem.id for plugin, _ in offered)
    found = []
    problems = []
    for plugin, entry in offered:
        id = plugin.theorem.id
        others = [
            p.package
            for p, e in offered
            if p.theorem.id == id and (p.package, e) != (plugin.package, entry)
        ]
        holders = ["ftheta"] if id in own else others
        if id in own or claims[id] > 1:
            says = f"its theorem {id} has the id of a theorem of {', '.join(holders) or 'the same package'}"
            problems.append(Problem(plugin.package, entry, says))
        else:
            found.append(plugin)
    return found, problems
