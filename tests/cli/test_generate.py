"""`ftheta generate`: new rows from a file."""

import json

import numpy as np
import pytest

from ftheta.cli import run


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    rows = np.array([3.0, -1.0]) + np.random.default_rng(0).normal(size=(60, 2))
    np.savetxt(path, rows, delimiter=",", header="u,v", comments="")
    return path


@pytest.mark.parametrize("kind", ["coupling", "exact", "diffusion"])
def test_new_rows_have_the_columns_and_the_place_of_the_old_ones(table, tmp_path, kind, capsys):
    out = tmp_path / "new.csv"
    assert (
        run(["generate", str(table), "--n", "80", "--kind", kind, "--out", str(out), "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["rows"] == 80
    assert out.read_text().startswith("u,v\n")
    made = np.loadtxt(out, delimiter=",", skiprows=1)
    assert made.shape == (80, 2)
    assert made.mean(0) == pytest.approx([3.0, -1.0], abs=0.8)


def test_a_wrong_kind_or_file_is_refused(table, capsys):
    assert run(["generate", str(table), "--kind", "coupler"]) == 2
    assert run(["generate", str(table), "--out", "rows.xlsx"]) == 2
    assert "did you mean coupling" in capsys.readouterr().err


def test_more_rows_than_memory_holds_are_refused(table, capsys):
    assert run(["generate", str(table), "--n", str(10**14)]) == 2
    assert "at most 50,000,000" in capsys.readouterr().err
