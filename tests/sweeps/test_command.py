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
    line = [
        "sweep",
        "sweepable:train",
        "--grid",
        "width=1,2",
        "--seeds",
        "2",
        "--on",
        "1",
        "--store",
        "runs.db",
    ]
    code, out, err = words(capsys, *line, "--out", "t.csv")
    assert code == 0 and "4 of 4 cells done" in out, err
    assert (folder / "t.csv").read_text().splitlines() == [
        "width,seed,y",
        "1,0,1",
        "1,1,2",
        "2,0,2",
        "2,1,3",
    ]
    code, out, _ = words(capsys, *line, "--json")
    assert code == 0 and json.loads(out)["rows"][3] == {"width": 2, "seed": 1, "y": 3}
    code, out, _ = words(capsys, "sweep", "--status", "--store", "runs.db")
    assert code == 0 and "sweepable:train" in out and "4 cells done" in out
    assert (
        json.loads(words(capsys, "sweep", "--status", "--store", "runs.db", "--json")[1])[0]["done"]
        == 4
    )


def test_failed_cells_give_exit_code_1(capsys, folder):
    code, out, _ = words(capsys, "sweep", "sweepable:train", "--grid", "width=2,3", "--on", "1")
    assert code == 1 and "1 of 2 cells done, 1 failed" in out and "odd" in out


def test_networks_are_read_from_a_file(capsys, folder):
    (folder / "spec.toml").write_text(SPEC)
    code, out, err = words(
        capsys, "sweep", "spec.toml", "--on", "1", "--json", "--grid", "step=0.1,0.01"
    )
    found = json.loads(out)
    assert code == 0 and found["done"] == 4, err
    assert {row["widths"] for row in found["rows"]} == {"3-3"} and found["rows"][0][
        "train_loss"
    ] > 0


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
    assert grid_of(["a=1,2.5,x", "b=none,true,64-64"]) == {
        "a": [1, 2.5, "x"],
        "b": [None, True, "64-64"],
    }
    assert seeds_of("5") == 5 and seeds_of("5,") == [5] and seeds_of("0,3") == [0, 3]


DAMAGED = {
    "networks is a truth value": "networks = true",
    "networks is a list": "networks = [1]",
    "networks is empty": "networks = []",
    "train is a number": "train = 5",
    "train is a word": 'train = "sweepable"',
    "a number of 5,000 digits": "train = 'sweepable:train'\nseeds = " + "9" * 5000,
    "a number of 5,000 digits in base 16": "train = 'sweepable:train'\nseeds = 0x" + "f" * 5000,
    "5,000 brackets": "train = 'sweepable:train'\ngrid = " + "[" * 5000 + "]" * 5000,
    "a date as a version": "train = 'sweepable:train'\nversion = 2020-01-01\ngrid = {width = [2020-01-01]}",
    "a table of tables": "train = 'sweepable:train'\n[grid.width.height]\na = 1",
    "more seeds than cells can be": "train = 'sweepable:train'\nseeds = 9223372036854775807",
    "no UTF-8": b"train = '\xff'",
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_an_error_in_our_form(capsys, folder, text):
    (folder / "bad.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = words(capsys, "sweep", "bad.toml", "--on", "1")
    assert (
        code in (2, 4) and out == "" and err.startswith("ftheta: ") and "Internal error" not in err
    )


@pytest.mark.parametrize(
    "line",
    [
        ["--grid", "width=" + "9" * 5000, "--seeds", "9" * 5000],
        ["--grid", "width=" + "[" * 5000],
        ["--grid", "width=1", "--seeds", "9" * 5000],
        ["--grid", "width=1", "--on", "9" * 5000],
        ["--grid", "width=\udcff"],
        ["--grid", "width=1", "--store", "."],
        ["--grid", "width=1", "--store", "/proc/runs.db"],
        ["--grid", "width=1", "--store", "x" * 300],
        ["--grid", "width=1", "--store", "no/such/runs.db"],
        ["--status", "--store", "x" * 300],
    ],
    ids=lambda line: " ".join(line)[:30],
)
def test_hopeless_words_are_an_error_in_our_form(capsys, folder, line):
    code, out, err = (
        words(capsys, "sweep", "sweepable:train", *line, "--on", "1")
        if "--on" not in line
        else words(capsys, "sweep", "sweepable:train", *line)
    )
    assert code in (1, 2, 4) and "Internal error" not in err
    assert code != 1 or "failed" in out  # the grid was all right, the cell was not


def test_a_list_of_settings_is_not_added_to(capsys, folder):
    (folder / "list.toml").write_text("train = 'sweepable:train'\n[[grid]]\nwidth = 1\n")
    code, _, err = words(capsys, "sweep", "list.toml", "--grid", "width=2", "--on", "1")
    assert code == 2 and "--grid cannot add" in err
