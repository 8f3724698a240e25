"""What must agree when a version is released."""

import re
import tomllib

from ftheta.catalogue import index
from ftheta.catalogue.bibliography import bibtex, read_bibliography, references
from ftheta.cli import run
from ftheta.report.latex import latex, text_to_latex

from .clean_environment import ROOT


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_bibliography_of_the_package_is_in_step_with_the_file():
    read = read_bibliography()
    assert dict(references()) == {key: entry["line"] for key, entry in read.items()}, (
        "run `make index`"
    )
    assert all(bibtex(key) == entry["bibtex"] for key, entry in read.items()), "run `make index`"


def test_a_theorem_as_latex_has_balanced_braces_and_cites_its_sources(capsys):
    for entry in index().values():
        source = latex(entry)
        bare = re.sub(r"\\[{}]", "", source)
        assert bare.count("{") == bare.count("}"), entry["id"]
        assert source.count(r"\[") == source.count(r"\]"), entry["id"]
        assert len(re.findall(r"(?<!\\)\$", source)) % 2 == 0, entry["id"]
    assert run(["show", "barron-rate", "--latex", "--bibtex"]) == 0
    printed = capsys.readouterr().out
    (keys,) = re.findall(r"\\cite\{([^}]+)\}", printed)
    assert re.findall(r"@\w+\{([^,]+),", printed) == keys.split(",")


def test_words_outside_of_formulas_are_escaped_for_latex():
    assert (
        text_to_latex("50% of `a_b` & **all** $x_1$")
        == r"50\% of \texttt{a\_b} \& \textbf{all} $x_1$"
    )


def test_completion_scripts_know_commands_and_theorems(capsys):
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert run(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert "gd-strongly-convex" in script and "robustness" in script and "seed" in script
    assert run(["completion", "tcsh"]) == 2
