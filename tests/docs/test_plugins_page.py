"""The page on plug-ins, done as it says: make a package, install it, look at it, run its tests."""

import os
import shlex
import subprocess
import sys

from .test_examples import ROOT, blocks

PAGE = ROOT / "docs" / "plugins.md"


def test_the_page_does_what_it_says(tmp_path):
    """Line by line, each in a process of its own; what is installed goes to a folder of the test."""
    site = tmp_path / "site"
    path = {
        **os.environ,
        "PYTEST_ADDOPTS": "",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)]),
    }
    instead = {
        "ftheta": [sys.executable, "-m", "ftheta"],
        "pip": [sys.executable, "-m", "pip", "--disable-pip-version-check"],
        "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
    }
    printed = {}
    for line in "".join(blocks(PAGE, "bash")).splitlines():
        program, *words = shlex.split(line)
        aside = ["--no-index", "--target", str(site)] if program == "pip" else []
        command = [*instead[program], *words, *aside]
        done = subprocess.run(
            command, cwd=tmp_path, env=path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        printed[line] = done.stdout
    assert "product-and-mean" in printed["ftheta list --chapter my_theorems"]
    assert "my-theorems 0.1.0" in printed["ftheta show product-and-mean"]
    assert "✓ proved" in printed["ftheta check product-and-mean --count 20"]
    assert "5 passed" in printed["pytest my-theorems"]
    assert "theorems of my-theorems 0.1.0: product-and-mean" in printed["ftheta doctor"]
