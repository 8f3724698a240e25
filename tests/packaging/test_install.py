"""What a user has who installs ftheta: the wheel and the source distribution, outside of the checkout."""

import json
import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from .clean_environment import ROOT, CleanEnvironment, build

pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> CleanEnvironment:
    environment = CleanEnvironment(tmp_path_factory.mktemp("installed"))
    environment.install(wheel)
    return environment


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "ftheta"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    tracked = set(listed.stdout.split())
    assert "ftheta/py.typed" in names and "ftheta/theorems/references.json" in names
    assert tracked <= names and all(name.startswith("ftheta/") for name in names)


def test_the_metadata_name_authors_licence_and_platforms(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(place).decode())
    assert metadata["Author"] and metadata["License-Expression"] == "MIT"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    base = [words for words in metadata.get_all("Requires-Dist", []) if "extra ==" not in words]
    assert any(words.startswith("starlette") for words in base)
    assert not any(words.startswith("torch") for words in base)


@pytest.mark.nightly
def test_an_installed_copy_lists_shows_checks_and_cites(installed):
    assert "hat-function" in installed.run("list").stdout
    cited = installed.run("show", "barron-rate", "--latex", "--bibtex").stdout
    assert r"\begin{theorem}" in cited and "@article{barron1993" in cited
    checked = json.loads(installed.run("check", "hat-function", "--json").stdout)
    assert checked["verdict"] == "proved"
    counted = installed.execute(
        "from ftheta.catalogue.bibliography import references; print(len(references()))"
    )
    assert int(counted.stdout) > 200, counted.stderr


@pytest.mark.nightly
def test_an_installed_copy_has_no_part_that_was_not_asked_for(installed):
    assert "No module named 'torch'" in installed.execute("import torch").stderr
    missing = installed.run("check", "adjoint-method", "--preset", "diffrax")
    assert missing.returncode == 2 and "pip install 'ftheta[ode]'" in missing.stderr


@pytest.mark.nightly
def test_the_report_of_an_installed_copy_prints_its_references_in_full(installed):
    audited = installed.run("audit", "digits-mlp", "--budget", "20s", "--out", "report.html")
    assert audited.returncode in (0, 1), audited.stderr
    page = (installed.outside / "report.html").read_text(encoding="utf-8")
    known = json.loads(
        (ROOT / "ftheta" / "theorems" / "references.json").read_text(encoding="utf-8")
    )
    assert not [key for key in known if re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", page)]


@pytest.mark.nightly
def test_an_installed_copy_serves_the_lab(installed):
    command = [
        installed.python.with_name("ftheta"),
        "lab",
        "--no-browser",
        "--port",
        "0",
        "--workers",
        "1",
    ]
    lab = subprocess.Popen(
        command,
        cwd=installed.outside,
        env=installed.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert lab.stdout is not None
    try:
        address = next(found[0] for line in lab.stdout if (found := re.search(r"http://\S+", line)))
        # the token becomes a cookie
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address) as page:
            assert "ftheta" in page.read().decode()
    finally:
        lab.terminate()
        lab.wait(20)
        lab.stdout.close()


@pytest.mark.nightly
def test_the_source_distribution_builds_the_same_wheel(wheel, tmp_path):
    archive = build("sdist", tmp_path / "sdist")
    with tarfile.open(archive) as files:
        files.extractall(tmp_path, filter="data")
    (source,) = tmp_path.glob("ftheta-*")
    command = ["hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "wheel")]
    subprocess.run([sys.executable, "-m", *command], cwd=source, check=True, capture_output=True)
    (again,) = (tmp_path / "wheel").iterdir()
    with zipfile.ZipFile(wheel) as ours, zipfile.ZipFile(again) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())
