"""`ftheta robustness`: its answer as text and JSON, its picture, and what it refuses."""

import json

import pytest

from ftheta.cli import run

SHORT = ["robustness", "digits-mlp", "--data", "digits-test", "--budget", "10s"]


def test_it_answers_and_draws(tmp_path, capsys):
    picture = tmp_path / "curves.svg"
    assert (
        run([*SHORT, "--rows", "6", "--eps", "0.02,0.001", "--figure", str(picture), "--json"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["eps"] == [0.001, 0.02] and found["rows"] == 6
    assert all(c <= a for c, a in zip(found["certified"], found["attacked"]))
    assert "<svg" in picture.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "more, words",
    [
        (["--norm", "3"], "1, 2 or inf"),
        (["--eps", "a,b"], "list of numbers"),
        (["--eps=-1"], "finite numbers"),
        (["--clip", "1"], "two numbers"),
        (["--clip", "3,4"], "outside clip"),
        (["--rows", "0"], "At least one row"),
        (["--figure", "curves.doc"], "curves.doc"),
    ],
)
def test_bad_words_are_refused(more, words, capsys):
    assert run([*SHORT, *more]) == 2
    assert words in capsys.readouterr().err
