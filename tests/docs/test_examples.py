"""Every example in the documentation runs."""

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from ftheta.cli import run
from ftheta.networks.onnx.write import write
from ftheta.relu.network import ReluNetwork

ROOT = Path(__file__).parents[2]
SHORT = "2s"  # instead of the budgets of audits in the pages, which two workers would spend to the last second
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples_run_and_print_what_they_say(page, tmp_path, monkeypatch, without_workers):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for i, block in enumerate(blocks(page, "python")):
        if ">>>" in block:
            case = doctest.DocTestParser().get_doctest(
                block, names, f"{page.name}[{i}]", str(page), 0
            )
            runner.run(case, clear_globs=False)
            names |= case.globs
        else:
            path = tmp_path / f"block_{i}.py"  # a real file, so that source lines can be found
            path.write_text(block)
            exec(compile(block, str(path), "exec"), names)
    assert runner.summarize(verbose=False).failed == 0


NAMES = (("f", "X", "Y"), ("g", "V", "W"))
"""Of two networks, their inputs and their outputs."""


def write_files_of_the_pages(folder: Path) -> None:
    """The files that a reader has and that command lines name: networks, and properties that they have."""
    for name in ("net.onnx", "a.onnx", "b.onnx"):
        write(ReluNetwork.dense([np.eye(1), -np.eye(1)], [np.zeros(1), np.zeros(1)]), folder / name)
    asserted = "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= Y_0 2))"
    (folder / "property.vnnlib").write_text(
        f"(declare-const X_0 Real)(declare-const Y_0 Real){asserted}"
    )
    declared = (
        f"(declare-network {f} (declare-input {x} real [1,1]) (declare-output {y} real [1,1]))"
        for f, x, y in NAMES
    )
    asserted = "(assert (and (>= X[0,0] 0.0) (<= X[0,0] 1.0) (== V[0,0] X[0,0]) (> Y[0,0] (+ W[0,0] 1.0))))"
    (folder / "query.vnnlib").write_text(
        f"(vnnlib-version <2.0>)\n{' '.join(declared)}\n{asserted}"
    )
    (folder / "instances.csv").write_text("net.onnx,property.vnnlib,20\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_command_lines_in_the_pages_run(page, tmp_path, monkeypatch, capsys, without_workers):
    monkeypatch.chdir(tmp_path)
    write_files_of_the_pages(tmp_path)
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(re.sub(r"(?<=--budget )\d+s", SHORT, line), comments=True)
            if words and words[0] == "ftheta":
                assert run(words[1:]) == 0, line


def test_links_between_the_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
