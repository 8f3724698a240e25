"""Theorems of other packages: found by their entry points, used like ours; what fails is named and left out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ftheta as ft
from ftheta import catalogue
from ftheta.catalogue.plugins import GROUP, find_plugins
from ftheta.cli import run
from ftheta.cli.new_theorem import skeleton
from ftheta.testing import assert_theorem

ROOT = Path(__file__).parents[2]
CACHES = (catalogue.plugins, catalogue.index, catalogue.theorem, catalogue.theorems)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages; the catalogue is read anew before and after."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)
    for cache in CACHES:
        cache.cache_clear()
    yield folder
    for cache in CACHES:
        cache.cache_clear()
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def install(site: Path, package: str, points: dict[str, str], **modules: str) -> None:
    """What an installer leaves behind: metadata with entry points, and modules."""
    metadata = site / f"{package.replace('-', '_')}-2.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.5\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)


def install_skeleton(site: Path, id: str, package: str) -> None:
    for place, text in skeleton(id, package).items():
        path = site / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    function = id.replace("-", "_")
    install(site, package, {id: f"{package.replace('-', '_')}.{function}"})


def test_a_theorem_of_another_package_is_used_like_ours(site, capsys):
    install_skeleton(site, "product-and-mean", "other-theorems")
    own = len(catalogue.own_theorems())
    assert run(["list", "--chapter", "other_theorems", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["package"]) == ("product-and-mean", "other-theorems")
    assert listed["chapter_title"] == "other-theorems 2.5"
    assert run(["show", "product-and-mean"]) == 0
    shown = capsys.readouterr().out
    assert "other-theorems 2.5" in shown and "Idea of the proof" in shown
    assert run(["check", "product_and_mean", "--count", "3"]) == 0
    assert run(["check", "product-and-mean", "--kount", "3"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert list(ft.list("other_theorems")) == ["product-and-mean"]
    assert len(ft.theorems()) == own + 1
    assert str(ft.check("product-and-mean").verdict) == "proved"
    assert str(ft.check("product-and-mean", shift=3.0, force=True).verdict) == "refuted"


def test_the_lab_lists_it_in_a_chapter_of_its_own(site):
    from ftheta.lab.contents import catalogue as contents

    install_skeleton(site, "product-and-mean", "other-theorems")
    served = contents()
    assert served["chapters"][-1] == {"id": "other_theorems", "title": "other-theorems 2.5"}
    assert served["theorems"][-1]["lesson"]["parts"]


def test_our_own_index_is_made_without_them(site):
    install_skeleton(site, "product-and-mean", "other-theorems")
    assert "product-and-mean" in catalogue.index()
    assert "product-and-mean" not in {entry["id"] for entry in catalogue.make_index()}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("x = 3", "neither a module with a theorem nor a list"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_one_that_fails_is_named_once_and_the_rest_works(site, capsys, text, says):
    install(site, "failing", {"bad": "failing_module"}, failing_module=text)
    install_skeleton(site, "product-and-mean", "other-theorems")
    assert run(["list", "--chapter", "other_theorems"]) == 0
    assert run(["show", "hat-function"]) == 0
    told = capsys.readouterr().err
    assert told.count("plug-in failing (bad = failing_module) was left out") == 1 and says in told
    assert run(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["plugins"] == {"other-theorems 2.5": ["product-and-mean"]}
    assert len(report["plugin_problems"]) == 1 and says in report["plugin_problems"][0]


def test_a_wrong_lesson_is_named_with_its_file(site):
    install_skeleton(site, "product-and-mean", "other-theorems")
    (site / "other_theorems" / "product_and_mean.toml").write_text('why = "because"')
    (problem,) = find_plugins(()).problems
    assert "product_and_mean.toml" in problem.says


def test_an_id_of_ours_is_refused_with_both_names(site):
    install_skeleton(site, "hat-function", "other-theorems")
    found = find_plugins(catalogue.own_theorems())
    assert not found.found
    assert "other-theorems" in str(found.problems[0]) and "theorem of ftheta" in str(
        found.problems[0]
    )


def test_an_id_that_two_packages_claim_is_given_to_neither(site):
    install_skeleton(site, "product-and-mean", "first-theorems")
    install_skeleton(site, "product-and-mean", "second-theorems")
    found = find_plugins(())
    assert not found.found
    first, second = map(str, found.problems)
    assert "plug-in first-theorems" in first and "theorem of second-theorems" in first
    assert "plug-in second-theorems" in second and "theorem of first-theorems" in second


def test_an_entry_point_may_name_a_list(site):
    install_skeleton(site, "product-and-mean", "other-theorems")
    lister = (
        "from other_theorems.product_and_mean import product_and_mean\nALL = [product_and_mean]\n"
    )
    (site / "other_theorems-2.5.dist-info" / "entry_points.txt").write_text(
        f"[{GROUP}]\nall = lister:ALL\n"
    )
    (site / "lister.py").write_text(lister)
    assert [p.theorem.id for p in find_plugins(()).found] == ["product-and-mean"]


def test_without_plugins_nothing_is_imported_to_look_for_them():
    code = (
        "import sys, ftheta.catalogue as c; c.index(); print('importlib.metadata' in sys.modules)"
    )
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


# -- new-theorem ------------------------------------------------------------------------------------------------------


def test_the_contract_names_everything_that_a_theorem_lacks(site):
    from dataclasses import replace

    install_skeleton(site, "product-and-mean", "other-theorems")
    good = catalogue.theorem("product-and-mean")
    assert_theorem(good)
    bad = replace(
        good, gist="no full stop", title="of $x$", presets={"broken on purpose": {}}, sources=()
    )
    with pytest.raises(AssertionError) as told:
        assert_theorem(bad)
    for words in (
        "gist=",
        "title=",
        "sources=",
        "textbook",
        "no hypothesis fails on the negative control",
    ):
        assert words in str(told.value)


def test_a_new_package_has_the_names_that_were_asked_for(tmp_path, monkeypatch):
    """docs/plugins.md installs such a package and runs its tests."""
    monkeypatch.chdir(tmp_path)
    assert run(["new-theorem", "Sum_of_squares"]) == 0
    written = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    module = "ftheta-sum-of-squares/ftheta_sum_of_squares"
    assert {f"{module}/sum_of_squares.py", f"{module}/sum_of_squares.toml"} <= written
    assert not any(
        "@"
        in (tmp_path / p)
        .read_text()
        .replace("@hypothesis(", "")
        .replace("@theorem(", "")
        .replace("@pytest.", "")
        for p in written
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["hat-function"], "There is a theorem of this id"),
        (["2fast"], "small letters"),
        (["../up"], "small letters"),
        (["lambda"], "Python has it already"),
        (["mine", "--package", "json"], "Python has it already"),
        (["mine", "--out", "there"], "exists already"),
        (["mine", "--out", "no/where"], "does not exist"),
    ],
)
def test_a_name_or_a_folder_that_cannot_be_is_refused(words, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    assert run(["new-theorem", *words]) == 2
    assert says in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["there"]
    assert not list((tmp_path / "there").iterdir())
