"""Audits of pages: what is handed on, what is refused, and that no process stays behind."""

import os
from pathlib import Path
from typing import Any

import pytest

from ftheta.lab.audit_work import AuditDesk
from ftheta.lab.audits import MOST

from .clients import Site, eventually

FAKE = (str(Path(__file__).parent / "fake_audit.py"),)


@pytest.fixture
def auditing(site: Site) -> Site:
    assert site.lab is not None
    site.lab.audits.program = FAKE
    return site


def begin(tab: Any, n: int, model: str = "digits-mlp", **more: Any) -> None:
    tab.say({"type": "audit", "n": n, "model": model, **more})


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_what_the_process_says_is_handed_on_and_sources_are_those_of_the_server(auditing):
    with auditing.tab() as tab:
        begin(tab, 5, data="digits-test")
        found = tab.until("audit-findings")[-1]
        assert found["n"] == 5
        words = {name: source["words"] for name, source in found["sources"].items()}
        assert words == {"model": "digits-mlp", "data": "digits-test"}
        tab.say({"type": "audit-part", "n": 6, "part": "row", "rows": [3]})
        assert tab.until("audit-part")[-1]["asked"]["rows"] == [3]


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ({"type": "audit", "n": 1, "model": "no-such"}, "no such subject"),
        ({"type": "audit", "n": 1, "model": "built-in"}, "with a name"),
        ({"type": "audit", "n": 1, "model": "os:system"}, "no such subject"),
        ({"type": "audit-part", "n": 1, "part": "row", "rows": [0]}, "No audit is open"),
        ({"type": "audit-stop", "n": 1}, "No audit is open"),
    ],
)
def test_what_cannot_be_done_is_refused(auditing, message, word):
    with auditing.tab() as tab:
        tab.say(message)
        assert word in tab.until("audit-error")[-1]["error"]["what"]


@pytest.mark.parametrize(
    "message",
    [
        {"type": "audit", "n": 1, "model": "digits-mlp", "budget": 1e9},
        {"type": "audit", "n": 1, "model": "digits-mlp", "path": "/etc/passwd"},
        {"type": "audit-part", "n": 1, "part": "row", "rows": [0, 1, 2, 3]},
        {"type": "audit-part", "n": 1, "part": "shell"},
    ],
)
def test_messages_that_are_not_as_agreed_are_refused(auditing, message):
    with auditing.tab() as tab:
        tab.say(message)
        assert "not as agreed" in tab.until("error")[-1]["error"]["what"]


def test_failures_and_deaths_are_told(auditing):
    with auditing.tab() as tab:
        begin(tab, 1, "circles")
        assert tab.until("audit-error")[-1]["error"]["what"] == "It cannot be read."
        begin(tab, 2, "moons")
        assert "ended" in tab.until("audit-error")[-1]["error"]["what"]


def test_a_process_ends_with_its_page_and_makes_room_for_another(auditing):
    room = auditing.lab.audits
    with auditing.tab() as first, auditing.tab() as second, auditing.tab() as third:
        tabs = (first, second)
        assert len(tabs) == MOST
        for tab in tabs:
            begin(tab, 1, "spirals")
        pids = [tab.until("audit-findings")[-1]["pid"] for tab in tabs]
        begin(third, 1)
        assert "already" in third.until("audit-error")[-1]["error"]["what"]
        begin(first, 2, "spirals")  # in the place of its own
        pids.append(first.until("audit-findings")[-1]["pid"])
        assert is_gone(pids[0])
    eventually(lambda: all(map(is_gone, pids)) and not room.at_work)


def test_uploaded_files_keep_their_names_and_nothing_else_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("ftheta.lab.audit_work.connect", lambda *_: None)
    desk = AuditDesk(tmp_path)
    (tmp_path / "store").mkdir()
    upload = tmp_path / "store" / "upload.npz"
    upload.write_bytes(b"")
    for given, kept in (
        ("my net.npz", "my_net.npz"),
        ("../../x;rm -rf.npz", "_.._x_rm_-rf.npz"),
        (".npz", "file.npz"),
    ):
        place = Path(desk._words({"path": str(upload), "name": given}))
        assert place.parent == tmp_path and place.name == kept and place.resolve() == upload
