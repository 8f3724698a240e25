"""`ftheta pieces`: the count is that of the library, pictures are written, and what cannot be done is said."""

import json

import numpy as np
import pytest

from ftheta.cli import run
from ftheta.pieces import Box, Polygon, Segment, count_pieces
from ftheta.relu.exact import from_description
from ftheta.subjects.resolve import load

FOUR = [(-0.5, -0.5), (1.5, -0.5), (1.5, 1.5), (-0.5, 1.5)]


def told(capsys, *words):
    assert run(["pieces", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("rows", ["0,7", "0,7,15"])
def test_slices_through_rows_have_the_pieces_that_the_library_counts(capsys, rows):
    net = load("digits-mlp")
    data = load("digits-test")
    p, q, *third = (np.asarray(data.x[int(i)], float).ravel() for i in rows.split(","))  # type: ignore[union-attr]
    domain = Polygon.through(p, q, third[0], FOUR) if third else Segment(p, q)
    count = count_pieces(from_description(net.description), domain)  # type: ignore[union-attr]
    found = told(capsys, "digits-mlp", "--data", "digits-test", "--through", rows)
    assert found["pieces"] == {"lo": count.lo, "hi": count.hi, "basis": "exact"} and count.lo > 1


def test_a_box_is_the_same_in_every_input_and_budgets_are_heeded(capsys, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "net.npz",
        W0=rng.normal(size=(9, 2)),
        b0=rng.normal(size=9),
        W1=rng.normal(size=(1, 9)),
    )
    net = load(tmp_path / "net.npz")
    count = count_pieces(from_description(net.description), Box([-3, -3], [3, 3]))  # type: ignore[union-attr]
    assert told(capsys, str(tmp_path / "net.npz"), "--box=-3,3")["pieces"]["hi"] == count.hi
    found = told(capsys, str(tmp_path / "net.npz"), "--box=-3,3", "--max-cells", "2")
    assert found["pieces"]["lo"] == 2 and found["stopped by"] == "max_cells = 2"


@pytest.mark.parametrize("colour", ["slope", "active", "output", "region", "class"])
def test_pictures_are_written_with_the_decision_boundary_over_them(tmp_path, capsys, colour):
    words = [
        "digits-mlp",
        "--data",
        "digits-test",
        "--through",
        "0,7,15",
        "--colour",
        colour,
        "--boundary",
    ]
    assert run(["pieces", *words, "--out", str(tmp_path / "regions.svg")]) == 0
    drawn = (tmp_path / "regions.svg").read_text(encoding="utf-8")
    assert drawn.count('stroke="#ffffff"') == 1 and "pieces" in drawn


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["digits-mlp", "--through", "0,1,2"], 2, "needs data"),
        (["digits-mlp", "--data", "digits-test", "--through", "0"], 2, "two or three rows"),
        (["digits-mlp", "--data", "digits-test", "--through", "0,1,99999"], 4, "not so many rows"),
        (["digits-mlp", "--data", "digits-test", "--through", "0,0,1"], 2, ""),
        (["digits-mlp", "--box", "1"], 2, "two numbers"),
        (
            ["digits-mlp", "--data", "digits-test", "--through", "0,1", "--out", "x.doc"],
            2,
            "kind of file",
        ),
        (
            [
                "digits-mlp",
                "--data",
                "digits-test",
                "--through",
                "0,7,15",
                "--out",
                "x.svg",
                "--colour",
                "red",
            ],
            2,
            "colour",
        ),
        (["digits-test"], 4, "Network is needed"),
    ],
)
def test_what_cannot_be_done_is_said(words, code, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["pieces", *words]) == code
    assert said in capsys.readouterr().err
