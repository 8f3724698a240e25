"""`ftheta new-theorem`: a package of one's own with a theorem that passes the contract, to begin from."""

import keyword
import re
import sys
from importlib.resources import files
from pathlib import Path

from ftheta.catalogue import index
from ftheta.logic import UsageError

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_MOST = 60  # letters of a name


def new_theorem(name: str, *, package: str | None = None, out: Path | None = None) -> int:
    """Write a package with a theorem of your own: it runs, and its tests pass; then change what it says.

    Parameters
    ----------
    name
        The id of the theorem: small letters, digits and hyphens.
    package
        The name of the package; without it, `ftheta-` and the id.
    out
        The folder to make; without it, the name of the package, here. One that exists is refused.
    """
    id = _check_name(name, "theorem")
    if id in index():
        owner = index()[id]["package"]
        raise UsageError(
            "There is a theorem of this id.", got=f"{id}, of {owner}", remedy="choose another name"
        )
    package = _check_name(package or f"ftheta-{id}", "package")
    folder = out or Path(package)
    if folder.exists() or folder.is_symlink():
        raise UsageError(
            "The folder exists already.", where=str(folder), remedy="name another one with --out"
        )
    if not folder.absolute().parent.is_dir():
        raise UsageError(
            "The folder around it does not exist.",
            where=str(folder),
            remedy=f"make {folder.parent} first",
        )
    for place, text in skeleton(id, package).items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{folder}: now `pip install -e {folder}`, `ftheta check {id}`, and `pytest` in it")
    return 0


def skeleton(id: str, package: str) -> dict[str, str]:
    """The files of a package with the theorem `id`: their texts by their places in it."""
    function = id.replace("-", "_")
    module = package.replace("-", "_")
    places = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
        f"{module}/__init__.py": "init.py",
        f"{module}/{function}.py": "theorem.py",
        f"{module}/{function}.toml": "theorem.toml",
        f"tests/test_{function}.py": "test_theorem.py",
    }
    words = {"id": id, "function": function, "package": package, "module": module}
    words["title"] = id.replace("-", " ").capitalize()
    return {place: _fill(template, words) for place, template in places.items()}


def _fill(template: str, words: dict[str, str]) -> str:
    text = files("ftheta.cli").joinpath("skeleton", f"{template}.txt").read_text(encoding="utf-8")
    for key, word in words.items():
        text = text.replace(f"@{key}@", word)
    return text


def _check_name(name: str, what: str) -> str:
    """A name that a file, a module and a function can have."""
    wanted = name.lower().replace("_", "-")
    if not _ID.fullmatch(wanted) or len(wanted) > _MOST:
        remedy = "small letters, digits and single hyphens, a letter first, such as my-theorem"
        raise UsageError(f"This cannot be the name of a {what}.", got=name, remedy=remedy)
    module = wanted.replace("-", "_")
    if (
        keyword.iskeyword(module)
        or module in sys.stdlib_module_names
        or module in ("ftheta", "tests", "test")
    ):
        raise UsageError(
            f"This cannot be the name of a {what}.",
            got=name,
            remedy="Python has it already: choose another",
        )
    return wanted
