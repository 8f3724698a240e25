"""The notebooks of `examples/notebooks`: every cell runs, shows something, and what the last one asserts is so."""

import ast
from pathlib import Path

import pytest

from ftheta.logic import Result

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
QUICK = ("attention_clustering", "neural_ode_against_resnet")


def cells_of(path):
    """The cells of a file in the percent format: whether each is words, its first line, and its source."""
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [k for k, line in enumerate(lines) if line.startswith("# %%")]
    assert starts[0] == 0, "nothing stands before the first cell"
    for begin, end in zip(starts, [*starts[1:], len(lines)]):
        source = "\n".join(lines[begin + 1 : end])
        yield lines[begin] == "# %% [markdown]", begin + 1, source


def run_notebook(path):
    """What every code cell shows, in order; a cell of statements alone shows nothing."""
    names = {"__name__": "__main__"}
    shown = []
    for is_words, line, source in cells_of(path):
        if is_words:
            continue
        tree = ast.increment_lineno(ast.parse(source), line)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), str(path), "eval"), names))
    return shown


def is_picture(value):
    return isinstance(value, Result) or hasattr(value, "title")


def test_there_are_ten():
    assert len(NOTEBOOKS) == 10


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_a_title_and_ends_with_a_check(path):
    cells = list(cells_of(path))
    assert cells[0][0] and cells[0][2].startswith("# # ")
    words = [line for is_words, _, text in cells if is_words for line in text.splitlines()]
    assert all(line.startswith("#") or not line for line in words)
    assert not cells[-1][0] and cells[-1][2].splitlines()[-1].startswith("assert ")


@pytest.mark.parametrize("name", QUICK)
def test_every_cell_of_a_quick_notebook_runs(name):
    assert any(is_picture(value) for value in run_notebook(FOLDER / f"{name}.py"))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path.stem not in QUICK], ids=lambda path: path.stem
)
def test_every_cell_of_every_notebook_runs(path):
    assert any(is_picture(value) for value in run_notebook(path))
