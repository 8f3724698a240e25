"""A theorem over a grid of its knobs."""

import tomllib
from pathlib import Path

import pytest

import ftheta as ft
from ftheta.checking import measured
from ftheta.cli import run

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
WITH_EVERY_CHANGE = ("double_descent_features", "implicit_bias_alpha")  # the others at night


def test_a_cell_has_the_verdict_and_the_numbers_of_the_check():
    result = ft.check("gd-strongly-convex", kappa=10, seed=3)
    cell = measured(3, "gd-strongly-convex", kappa=10)
    assert cell.pop("verdict") == result.verdict.value
    assert cell == {name: number.middle for name, number in result.numbers.items()}


def test_knobs_are_swept():
    found = ft.sweep(measured, {"id": ["gd-strongly-convex"], "kappa": [10, 100]}, seeds=1, on=1)
    gamma = found.table().to_pandas().set_index("kappa")["gamma"]
    assert gamma[10] == pytest.approx(81 / 121) and gamma[100] == pytest.approx(0.9607881580)
    found.close()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=path.stem, marks=[pytest.mark.nightly] * (path.stem not in WITH_EVERY_CHANGE)
        )
        for path in EXAMPLES
    ],
)
def test_the_first_cell_of_every_example_runs(path, tmp_path, monkeypatch):
    """The whole studies take minutes to hours; their smallest cell shows that names and knobs are right."""
    study = tomllib.loads(path.read_text())
    if "grid" not in study:
        pytest.skip("no grid of a function")
    small = {"steps": 20, "rows": study["grid"].get("rows", [0])[0], "p": 7}
    lines = [f'train = "{study["train"]}"', "seeds = 1", "[grid]"]
    for name, values in study["grid"].items():
        value = small[name] if name in small and not isinstance(values[0], str) else values[0]
        lines.append(f"{name} = [{value!r}]".replace("'", '"'))
    (tmp_path / "study.toml").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    assert run(["sweep", "study.toml", "--store", "study.db", "--out", "study.csv"]) == 0
    assert len((tmp_path / "study.csv").read_text().splitlines()) == 2
