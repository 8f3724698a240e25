"""`ftheta approximate`: the numbers are those of the library, files are written, and what cannot be done is said."""

import json

import pytest

import ftheta as ft
from ftheta.cli import run

FAST = ("--method", "cpa", "--eps", "0.1", "--seconds", "1000")


def test_the_certificate_is_that_of_the_library(capsys, tmp_path):
    net = tmp_path / "net.npz"
    figure = tmp_path / "wave.svg"
    words = [
        "approximate",
        "sin(6*x) + x",
        "--box=0,1",
        *FAST,
        "--out",
        str(net),
        "--figure",
        str(figure),
        "--json",
    ]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    made = ft.approximate("sin(6*x) + x", (0, 1), 0.1, method="cpa")
    assert (
        told["certified"] == made.certified.hi
        and told["neurons"] == made.neurons
        and told["reached"]
    )
    assert ft.load(net).description.widths == made.network.widths  # type: ignore[union-attr]
    assert figure.exists() and (tmp_path / "wave-2.svg").exists()


def test_the_card_says_what_is_proved(capsys):
    assert run(["approximate", "x*y", "--box=0,1;-1,1", *FAST]) == 0
    out = capsys.readouterr().out
    assert "certified: sup |f − g| ≤" in out and "reached" in out


@pytest.mark.parametrize(
    "words, code, said",
    [
        (("x*x", "--eps", "1e-9", "--neurons", "4", "--method", "cpa", "--strict"), 3, ""),
        (("x*x", "--box=0,inf"), 2, "bounded"),
        (("x*x", "--activation", "square"), 2, "degree 2"),
        (("x*x", "--box=0"), 2, "two numbers"),
        (("x*x", "--out", "net.txt"), 2, ".npz"),
        (("digits-mlp",), 4, ""),
    ],
)
def test_what_cannot_be_done_is_said(capsys, words, code, said):
    assert run(["approximate", *words]) == code
    assert said in capsys.readouterr().err
