import json
import subprocess
import sys
from pathlib import Path

import pytest

from ftheta.logic import UsageError
from ftheta.report.document import from_json
from ftheta.report.save import SUFFIXES, ensure_savable, save, save_audit

from . import samples

BEGINNING = {
    ".pdf": b"%PDF",
    ".svg": b"<svg",
    ".png": b"\x89PNG",
    ".csv": b"category,group,value",
    ".tex": b"%",
    ".html": b"<!DOCTYPE html>",
    ".json": b"{",
}


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".PDF"])
def test_the_suffix_says_which_form_is_written(suffix: str, tmp_path: Path) -> None:
    (path,) = save(samples.result(), tmp_path / f"figure{suffix}")
    assert path.read_bytes().startswith(BEGINNING[suffix.lower()])


def test_further_charts_are_numbered(tmp_path: Path) -> None:
    written = save(samples.rich_result(), tmp_path / "all.svg")
    assert [p.name for p in written] == [
        "all.svg",
        *(f"all-{i}.svg" for i in range(2, len(samples.CHARTS) + 1)),
    ]
    assert all(p.exists() for p in written)


def test_a_single_chart_can_be_saved(tmp_path: Path) -> None:
    (path,) = save(samples.DAG, tmp_path / "graph.pdf")
    assert path.read_bytes().startswith(b"%PDF")
    with pytest.raises(UsageError, match=r"\.csv"):
        save(samples.DAG, tmp_path / "graph.json")


def test_an_audit_is_a_page_or_a_document(tmp_path: Path) -> None:
    page, written = save_audit(samples.audit(), tmp_path / "report.html")
    (document,) = save(samples.audit(), tmp_path / "report.json")
    assert written == document
    assert "Audit of mnist_mlp.onnx" in page.read_text(encoding="utf-8")
    assert from_json(document.read_text(encoding="utf-8")).seed == 0  # type: ignore[union-attr]
    with pytest.raises(UsageError, match=r"\.html, \.json"):
        save(samples.audit(), tmp_path / "report.pdf")


@pytest.mark.parametrize("name", ["figure.gif", "figure", ".pdf"])
def test_an_unknown_suffix_is_refused_with_the_list(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.pdf, \.svg, \.png, \.csv, \.tex, \.html, \.json"):
        ensure_savable(tmp_path / name)


def test_a_missing_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder does not exist"):
        ensure_savable(tmp_path / "nowhere" / "figure.pdf")
    (tmp_path / "folder.pdf").mkdir()
    with pytest.raises(UsageError, match="This is a folder"):
        ensure_savable(tmp_path / "folder.pdf")


def test_a_result_without_charts_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="force=True"):
        save(samples.refuted(), tmp_path / "figure.pdf")


def test_nothing_heavy_is_imported_with_the_report() -> None:
    code = """
import sys, json
import ftheta.report, ftheta.report.notebook
import ftheta.report.card, ftheta.report.save, ftheta.report.document, ftheta.report.html, ftheta.report.sheet
print(json.dumps(sorted({"jax", "numpy", "pydantic", "rich", "vl_convert", "math_core"} & set(sys.modules))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
