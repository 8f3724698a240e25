"""The whole site, built by Sphinx from the stored runs of two theorems."""

import subprocess
import sys

import pytest

from ftheta.catalogue import index
from website.contents import ROOT, Contents
from website.inspection import inspect_site
from website.results import ResultStore, store_runs
from website.writing import list_pages, write_sources

STORED = ("hat-function", "gd-strongly-convex")


@pytest.mark.nightly
def test_the_site_is_built_without_a_warning_and_every_link_leads_somewhere(tmp_path):
    store = ResultStore(tmp_path / "results")
    assert store_runs(store, STORED) == []
    contents = Contents.of_package()
    assert write_sources(contents, store, tmp_path / "source") == len(list_pages(contents))
    sphinx = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    built = subprocess.run(
        [*sphinx, tmp_path / "source", tmp_path / "html"], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    found = inspect_site(tmp_path / "html")
    assert found.broken == [] and found.unread == []
    assert len(found.without_picture) == len(index()) - len(STORED)
    assert all((tmp_path / "html" / f"{name}.html").is_file() for name in list_pages(contents))
    assert "hat-function" in (tmp_path / "html" / "searchindex.js").read_text(encoding="utf-8")
