"""`ftheta lipschitz`: its answer as text and JSON, its picture, and what it refuses."""

import json

import pytest

from ftheta.cli import run

SHORT = ["lipschitz", "digits-mlp", "--budget", "1s"]


def test_the_enclosure_is_told_with_its_ladder(capsys):
    assert run(SHORT) == 0
    text = capsys.readouterr().out
    assert "≤ Lip(f) ≤" in text
    assert "LipSDP" in text
    assert "steepest secant" in text


def test_json_holds_both_ends_and_the_witness(capsys, tmp_path):
    picture = tmp_path / "ladder.svg"
    assert run([*SHORT, "--norm", "inf", "--box=0,1", "--json", "--out", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["lo"] <= found["hi"]
    assert found["norm"] == "inf"
    assert len(found["witness"]["x"]) == 64
    assert picture.read_text().startswith("<svg")


@pytest.mark.parametrize(
    "words", [["--norm", "3"], ["--box=1"], ["--box=1,0"], ["--budget", "never"]]
)
def test_what_is_wrong_is_refused_with_exit_code_2(words, capsys):
    assert run([*SHORT[:2], *words]) == 2
    assert "ftheta:" in capsys.readouterr().err
