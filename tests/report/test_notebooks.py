"""Notebooks of theorems and courses: the form that Jupyter and marimo read, and code that runs."""

import ast
import json
import re
import sys
from types import ModuleType

import pytest

from ftheta.catalogue import index
from ftheta.cli import run
from ftheta.courses import NAMES, built_in_courses
from ftheta.logic import Result, UsageError
from ftheta.report.notebook_cells import Run, Words
from ftheta.report.notebook_files import cells_of, to_jupyter, to_marimo, write_notebook

ALL = [*index(), *NAMES]
QUICK = ["hat-function", "gd-strongly-convex"]


def run_jupyter(text):
    """The code cells one after another, each result as a notebook would show it."""
    names: dict = {}
    shown = []
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            *statements, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(statements, []), "notebook", "exec"), names)
            is_value = isinstance(last, ast.Expr)
            exec(compile(ast.Module([] if is_value else [last], []), "notebook", "exec"), names)
            shown += (
                [eval(compile(ast.Expression(last.value), "notebook", "eval"), names)]
                if is_value
                else []
            )
    return shown


class Marimo(ModuleType):
    """As much of marimo as a file of ours needs: cells are run in order, with the names that earlier ones returned."""

    def __init__(self, text):
        super().__init__("marimo")
        functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        returned = [function.body[-1].value for function in functions]
        self.definitions = [[name.id for name in value.elts] if value else [] for value in returned]
        self.words = []
        self.cards = []
        self.names = {}

    def App(self):
        return self

    def md(self, text):
        self.words.append(text)
        return text

    def Html(self, text):
        self.cards.append(text)
        return text

    def cell(self, function=None, *, hide_code=False):
        if function is None:
            return self.cell
        arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
        returned = function(**{name: self.names[name] for name in arguments}) or ()
        self.names |= dict(zip(self.definitions.pop(0), returned))
        return function


def run_marimo(text, monkeypatch):
    stub = Marimo(text)
    monkeypatch.setitem(sys.modules, "marimo", stub)
    exec(compile(text, "notebook.py", "exec"), {"__name__": "notebook"})
    return stub


@pytest.mark.parametrize("name", QUICK)
def test_the_code_of_a_notebook_runs_and_shows_results(name):
    cells = cells_of(name)
    shown = run_jupyter(to_jupyter(cells))
    assert len(shown) == sum(isinstance(cell, Run) for cell in cells) >= 4
    assert all(isinstance(result, Result) and result.id == name for result in shown)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in ALL if name not in QUICK])
def test_the_code_of_every_notebook_runs(name):
    assert all(isinstance(result, Result) for result in run_jupyter(to_jupyter(cells_of(name))))


def test_the_same_cells_run_in_marimo(monkeypatch):
    cells = cells_of("hat-function")
    stub = run_marimo(to_marimo(cells), monkeypatch)
    assert isinstance(stub.names["result"], Result)
    assert stub.names["forced"].provenance.forced
    assert len(stub.words) + len(stub.cards) == len(cells)
    assert all("<math" in card and "$" not in card for card in stub.cards)


@pytest.mark.parametrize("name", ALL)
def test_every_notebook_has_the_form_that_jupyter_and_marimo_read(name):
    cells = cells_of(name)
    notebook = json.loads(to_jupyter(cells))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", id) for id in ids)
    assert all(set(cell) >= {"cell_type", "metadata", "source"} for cell in notebook["cells"])
    defined = [cell.name for cell in cells if isinstance(cell, Run)]
    assert len(defined) == len(set(defined)), "marimo allows one definition of a name"
    functions = [
        node for node in ast.parse(to_marimo(cells)).body if isinstance(node, ast.FunctionDef)
    ]
    assert len(functions) == len(cells) + 1
    texts = [node.args[0].value for f in functions for node in ast.walk(f) if _is_words(node)]
    flat = lambda text: [line.strip() for line in text.strip().splitlines()]
    assert [flat(text) for text in texts] == [
        flat(cell.text) for cell in cells if isinstance(cell, Words)
    ]


def _is_words(node):
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "mo.md"
        and isinstance(node.args[0], ast.Constant)
    )


def test_text_with_quotes_of_its_own_is_still_a_literal():
    text = 'three """ quotes and a \\ backslash'
    made = to_marimo([Words(text)])
    (found,) = [node.args[0].value for node in ast.walk(ast.parse(made)) if _is_words(node)]
    assert found == text


def test_a_course_has_its_pages_and_exercises_in_order():
    course = built_in_courses()["murari"]
    runs = [cell.name for cell in cells_of("murari") if isinstance(cell, Run)]
    assert sum(name.startswith("page_") for name in runs) == len(list(course.pages))
    assert sum(name.startswith("answer_") for name in runs) == sum(
        s.exercise is not None for s in course.sections
    )


def test_a_file_that_exists_is_kept_unless_forced(tmp_path, capsys):
    path = tmp_path / "adam.ipynb"
    path.write_text("mine")
    assert run(["notebook", "adam", "--out", str(path)]) == 2
    assert path.read_text() == "mine" and "exists already" in capsys.readouterr().err
    assert run(["notebook", "adam", "--out", str(path), "--force"]) == 0
    assert json.loads(path.read_text())["nbformat"] == 4


def test_the_file_is_named_after_the_theorem(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["notebook", "Hat_Function"]) == 0
    assert (tmp_path / "hat-function.ipynb").is_file()
    assert "jupyter lab hat-function.ipynb" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "file", "words"),
    [
        ("murrari", "a.ipynb", "murari"),
        ("adam", "a.txt", ".ipynb, .py"),
        ("adam", "no/a.py", "make"),
    ],
)
def test_what_cannot_be_written_is_refused_with_a_remedy(name, file, words, tmp_path):
    with pytest.raises(UsageError) as told:
        write_notebook(name, tmp_path / file)
    assert words in told.value.remedy
