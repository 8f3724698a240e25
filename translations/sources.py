"""Everything that is to be translated, read off the sources: one list a catalogue."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cyclopts import App

from ftheta.catalogue import index
from ftheta.cli import app
from ftheta.cli.help_words import one_line, paragraphs
from ftheta.courses import built_in_courses
from ftheta.logic.verdict import MEANING

from .messages import Message

ROOT = Path(__file__).parents[1]
VIEWS = ("ftheta/cli", "ftheta/report", "ftheta/lab")
_CALLS = {"t", "tn", "later"}
# t("…") and tn("…", "…", of the lab's pages; a text is one literal on one line
_SCRIPT = re.compile(r'\b(tn?)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?')


def collect() -> dict[str, list[Message]]:
    """The messages of each catalogue, every one once, in the order in which they are met."""
    found = {
        "interface": [*_verdicts(), *(m for folder in VIEWS for m in _python(ROOT / folder))],
        "help": list(_help(app)),
        "lab": list(_scripts(ROOT / "ftheta/lab/static")),
        "site": list(_python(ROOT / "website")),
        "theorems": list(_theorems()),
        "courses": list(_courses()),
    }
    return {
        name: list({m.key: m for m in reversed(ms)}.values())[::-1] for name, ms in found.items()
    }


def _verdicts() -> Iterator[Message]:
    yield from (Message(meaning, "ftheta/logic/verdict.py") for meaning in MEANING.values())


def _python(folder: Path) -> Iterator[Message]:
    for path in sorted(folder.glob("**/*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
            if isinstance(call.func, ast.Name) and call.func.id in _CALLS:
                yield from _called(call, path)


def _called(call: ast.Call, path: Path) -> Iterator[Message]:
    """A call with literal words; one with a name looks up what is collected elsewhere."""
    words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    if not words or not isinstance(call.args[0], ast.Constant):
        return
    assert isinstance(call.func, ast.Name)
    second = words[1] if len(words) > 1 else ""
    counted = call.func.id == "tn"
    context = "" if counted else second
    yield Message(words[0], _place(path), second if counted else "", context)


def _scripts(folder: Path) -> Iterator[Message]:
    for path in sorted(folder.glob("*.js")):
        for call, one, many in _SCRIPT.findall(path.read_text(encoding="utf-8")):
            plural = json.loads(many) if many and call == "tn" else ""
            yield Message(json.loads(one), _place(path), plural)


def _help(command: App) -> Iterator[Message]:
    """What `--help` says of the command line and of every command."""
    where = "ftheta --help"
    yield from (Message(words, where) for words in paragraphs(str(command.help)))
    for name in command:
        if name.startswith("-"):
            continue
        below = command[name]
        yield from (
            Message(words, f"ftheta {name} --help") for words in paragraphs(str(below.help))
        )
        for argument in below.assemble_argument_collection(parse_docstring=True):
            if argument.parameter.help:
                yield Message(one_line(argument.parameter.help), f"ftheta {name} --help")


def _theorems() -> Iterator[Message]:
    entries = [entry for entry in index().values() if entry["package"] == "ftheta"]
    for chapter in dict.fromkeys(entry["chapter_title"] for entry in entries):
        yield Message(chapter, "the chapters")
    for entry in entries:
        yield Message(entry["title"], entry["id"])
        yield Message(entry["gist"], entry["id"])


def _courses() -> Iterator[Message]:
    """Everything but quotations, which stay in the language of their sources."""
    for name, course in built_in_courses().items():
        where = f"ftheta/courses/{name}.toml"
        yield Message(course.title, where)
        for section in course.sections:
            yield Message(section.title, where)
            yield from (Message(page.look, where) for page in section.pages if page.look)
            if section.exercise is not None:
                yield Message(section.exercise.ask, where)
                yield Message(section.exercise.answer, where)


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


Sources = Mapping[str, list[Message]]
