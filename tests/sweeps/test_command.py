"""`ftheta sweep` as a user meets it."""

import json

import pytest

from ftheta.cli import run
from ftheta.sweeps.command import grid_of, seeds_of

SPEC = """
seeds = 2
[networks]
data = "digits-test"
loss = "cross-entropy"
steps = 5
rows = 20
[grid]
widths = ["3-3"]
step = [0.1]
"""

SOURCE = """
def train(seed, width, name="x"):
    if width == 3:
        raise ValueError("odd")
    return {"y": width + seed}
"""


def words(capsys, *arguments):
    code = run([str(word) for word in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweepable.py").write_text(SOURCE)
    return tmp_path


def test_a_function_is_swept_kept_and_resumed(capsys, folder):
    line = ["sweep", "sweepable:train", "--grid", "width=1,2", "--seeds", "2", "--on", "1", "--store", "runs.db"]
    code, out, err = words(capsys, *line, "--out", "t.csv")
    assert code == 0 and "4 of 4 cells done" in out, err
    assert (folder / "t.csv").read_text().splitlines() == ["width,seed,y", "1,0,1", "1,1,2", "2,0,2", "2,1,3"]
    code, out, _ = words(capsys, *line, "--json")
    assert code == 0 and json.loads(out)["rows"][3] == {"width": 2, "seed": 1, "y": 3}
    code, out, _ = words(capsys, "sweep", "--status", "--store", "runs.db")
    assert code == 0 and "sweepable:train" in out and "4 cells done" in out
    assert json.loads(words(capsys, "sweep", "--status", "--store", "runs.db", "--json")[1])[0]["done"] == 4


def test_failed_cells_give_exit_code_1(capsys, folder):
    code, out, _ = words(capsys, "sweep", "sweepable:train", "--grid", "width=2,3", "--on", "1")
    assert code == 1 and "1 of 2 cells done, 1 failed" in out and "odd" in out


def test_networks_are_read_from_a_file(capsys, folder):
    (folder / "spec.toml").write_text(SPEC)
    code, out, err = words(capsys, "sweep", "spec.toml", "--on", "1", "--json", "--grid", "step=0.1,0.01")
    found = json.loads(out)
    assert code == 0 and found["done"] == 4, err
    assert {row["widths"] for row in found["rows"]} == {"3-3"} and found["rows"][0]["train_loss"] > 0


@pytest.mark.parametrize(
    "line, code, part",
    [
        ((), 2, "What shall be swept"),
        (("nothing",), 2, "not clear what"),
        (("no.such:thing",), 4, "cannot be imported"),
        (("sweepable:train", "--grid", "width"), 2, "--grid width=16"),
        (("sweepable:train", "--grid", "height=1"), 2, "does not take"),
        (("sweepable:train", "--grid", "width=1", "--seeds", "x"), 2, "whole numbers"),
        (("sweepable:train", "--grid", "width=1", "--out", "t.xlsx"), 2, ".csv"),
        (("sweepable:train", "--grid", "width=1", "--on", "moon"), 2, "where to run"),
        (("missing.toml",), 4, "no such file"),
        (("broken.toml",), 4, "cannot be read"),
        (("parts.toml",), 4, "unknown part"),
        (("both.toml",), 4, "function or of networks"),
        (("nets.toml",), 4, "no networks"),
        (("--status", "--store", "none.db"), 2, "no such store"),
    ],
)
def test_bad_words_give_a_clear_error(capsys, folder, line, code, part):
    (folder / "broken.toml").write_text("a = ")
    (folder / "parts.toml").write_text("trian = 1")
    (folder / "both.toml").write_text("seeds = 1")
    (folder / "nets.toml").write_text("[networks]\ncolour = 1")
    got, out, err = words(capsys, "sweep", *line)
    assert got == code and part in err and out == "" and "Traceback" not in err


def test_words_become_values():
    assert grid_of(["a=1,2.5,x", "b=none,true,64-64"]) == {"a": [1, 2.5, "x"], "b": [None, True, "64-64"]}
    assert seeds_of("5") == 5 and seeds_of("5,") == [5] and seeds_of("0,3") == [0, 3]
