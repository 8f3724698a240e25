"""`ftheta transport`, `ftheta distance`, and theorems about two files."""

import json

import numpy as np
import pytest

from ftheta.cli import run


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, shift in (("a.csv", 0.0), ("b.csv", 2.0)):
        np.savetxt(name, rng.normal(size=(20, 2)) + shift, delimiter=",", header="u,v", comments="")
    np.savetxt("line.csv", rng.normal(size=(5, 1)), delimiter=",", header="u", comments="")
    return tmp_path


def test_a_plan_is_proved_and_written(files, capsys):
    assert run(["transport", "a.csv", "b.csv", "--json", "--out", "plan.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["value"]["basis"] == "exact"
    assert found["value"]["lo"] <= found["value"]["hi"]
    rows = np.loadtxt("plan.csv", delimiter=",", skiprows=1)
    assert rows[:, 2].sum() == pytest.approx(1)
    assert sorted(rows[:, 0]) == list(range(20))


def test_entropic_transport_is_told_beside_the_exact_one(files, capsys):
    assert run(["transport", "a.csv", "b.csv", "--epsilon", "0.5"]) == 0
    told = capsys.readouterr().out
    assert "entropic cost" in told and "optimal cost" in told


@pytest.mark.parametrize("kind", ["w1", "w2", "mmd", "energy", "bures"])
def test_every_distance_is_told(files, capsys, kind):
    assert run(["distance", "a.csv", "b.csv", "--kind", kind, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == kind and found["interval"]["lo"] <= found["value"]["hi"]
    assert 0 < found["p_value"] <= 0.02


def test_wrong_words_have_the_usual_exit_codes(files, capsys):
    assert run(["transport", "a.csv", "line.csv"]) == 4
    assert "different dimensions" in capsys.readouterr().err
    assert run(["distance", "a.csv", "b.csv", "--kind", "w3"]) == 2
    assert run(["transport", "a.csv", "none.csv"]) == 4
    (files / "header.csv").write_text("u,v\n")
    assert run(["transport", "a.csv", "header.csv"]) == 4
    assert "There are no rows." in capsys.readouterr().err
    assert run(["transport", "a.csv", "b.csv", "--out", "plan.png"]) == 2


def test_a_theorem_takes_two_files(files, capsys):
    assert run(["check", "mmd-test", "--on", "a.csv", "--against", "b.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["provenance"]["against"] == "b.csv"
    assert found["verdict"] == "consistent"
    assert run(["check", "mmd-test", "--on", "a.csv", "--against", "line.csv"]) == 4
    assert run(["check", "mmd-test", "--against", "b.csv"]) == 2
    assert run(["check", "mmd-test", "--on", "a.csv", "--strict"]) == 3
