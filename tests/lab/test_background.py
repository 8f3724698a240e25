"""Subjects, uploads, small pictures and exports, with workers that compute nothing."""

import json
import os
import socket
from contextlib import ExitStack, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.datasets.naming import SETS
from ftheta.lab import subject_store
from ftheta.processes.caching import cache_folder, compiled_kept, trim
from ftheta.subjects.resolve import BUILT_IN

from ..thoroughness import max_examples
from .clients import Site, eventually, running
from .fake_worker import SVG


def test_the_built_in_subjects_are_listed(site: Site):
    listed = site.get("/api/subjects").json
    known = [*subject_store.NAMED, *subject_store.BUNDLED]
    assert [s["id"] for s in listed][: len(known)] == known
    assert all(s["kind"] in ("Network", "Dataset") for s in listed)
    assert set(known) <= {*BUILT_IN, *SETS}
    assert listed[0] == {
        "id": "digits-mlp",
        "name": "digits-mlp",
        "kind": "Network",
        "facts": [["size", "1"]],
    }


def test_the_subject_given_at_the_start_goes_by_the_name_of_its_file(tmp_path):
    held = subject_store.SubjectStore(None, "/a/folder/net.npz", tmp_path)
    assert (held.entries[subject_store.GIVEN].name, held.source(subject_store.GIVEN)) == (
        "net.npz",
        {"words": "/a/folder/net.npz"},
    )


def test_an_upload_is_kept_once_and_named_by_its_content(site: Site):
    first = site.post("/api/subjects?name=net.npz", b"abc")
    again = site.post("/api/subjects?name=other.NPZ", b"abc")
    assert first.status == again.status == 201 and first.json == again.json
    assert first.json["id"].startswith("file-") and first.json["name"] == "net.npz"
    assert first.json in site.get("/api/subjects").json
    with site.tab() as tab:
        tab.run(1, "fast", subject=first.json["id"])
        assert tab.until("result", "error")[-1]["type"] == "result"


@max_examples(40)
@given(
    name=st.text(max_size=30)
    | st.sampled_from(["../../evil", "/etc/cron.d/x", "C:\\a", "\x00", "\u202egnp.", "a" * 500])
)
def test_no_name_leads_out_of_the_folder(site: Site, name):
    from urllib.parse import quote

    assert site.lab is not None
    answer = site.post(
        f"/api/subjects?name={quote(name, errors='replace')}.npz", name.encode(errors="replace")
    )
    assert answer.status == 201
    shown = answer.json["name"]
    assert (
        ("/" not in shown and "\\" not in shown and shown.isprintable())
        or "\u2028" in shown
        or shown
    )
    files = [path for path in site.lab.store.folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} <= {f"upload{suffix}" for suffix in subject_store.SUFFIXES}


@pytest.mark.parametrize(
    "name", ["", "model.py", "model.pkl", "npz", "numpy:load", "model.npz.exe", "model.npz/"]
)
def test_other_files_are_refused(site: Site, name):
    answer = site.post(f"/api/subjects?name={name}", b"abc")
    assert answer.status == 422 and ".onnx" in answer.json["error"]["remedy"]


def test_a_file_too_large_is_refused_by_its_stated_length_and_while_it_comes(
    site: Site, monkeypatch
):
    refused = site.ask(
        "POST",
        "/api/subjects?name=a.npz",
        b"",
        **{"Content-Length": str(subject_store.LARGEST + 1)},
    )
    assert refused.status == 413
    monkeypatch.setattr(subject_store, "LARGEST", 10_000)

    def chunks():
        for _ in range(100):
            yield b"x" * 1000

    assert site.lab is not None
    before = set(site.lab.store.folder.iterdir())
    answer = site.ask(
        "POST",
        "/api/subjects?name=a.npz",
        _chunked(chunks()),
        **{"Transfer-Encoding": "chunked", "Content-Length": ""},
    )
    assert answer.status == 413 and set(site.lab.store.folder.iterdir()) == before


def test_a_file_that_grows_too_large_piece_by_piece_is_refused(site: Site, monkeypatch):
    monkeypatch.setattr(subject_store, "LARGEST", 10_000)
    assert site.lab is not None
    room = site.lab.store.room
    kept = room.bytes
    with begun_upload(site, "Transfer-Encoding: chunked") as line:
        line.sendall(_chunk(b"x" * 6000))
        eventually(lambda: room.bytes == kept + 6000)
        line.sendall(_chunk(b"x" * 6000))
        assert line.recv(4096).split()[1] == b"413"
    assert room.bytes == kept


def _chunked(chunks) -> bytes:
    return b"".join(map(_chunk, chunks)) + b"0\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_the_lab_keeps_only_so_many_files(site: Site, monkeypatch):
    monkeypatch.setattr(subject_store, "MOST_FILES", 0)
    assert site.post("/api/subjects?name=a.npz", b"one more").status == 422


def test_many_files_at_once_find_no_more_room_than_one_after_the_other(monkeypatch):
    """Each sends its headers, waits until all of them have, then its bytes."""
    monkeypatch.setattr(subject_store, "MOST_FILES", 8)
    with running(workers=1) as site, ExitStack() as all_of_them:
        lines = [
            all_of_them.enter_context(begun_upload(site, "Content-Length: 4")) for _ in range(20)
        ]
        for i, line in enumerate(lines):
            line.sendall(b"%04d" % i)
        statuses = [line.recv(4096).split()[1] for line in lines]
        assert statuses.count(b"201") == 8 and statuses.count(b"422") == 12
        assert site.lab is not None and len(list(site.lab.store.folder.iterdir())) == 8


def test_the_bytes_of_files_on_their_way_are_counted(monkeypatch):
    monkeypatch.setattr(subject_store, "MOST_BYTES", 1000)
    with running(workers=1) as site, ExitStack() as all_of_them:
        lines = [
            all_of_them.enter_context(begun_upload(site, "Content-Length: 400")) for _ in range(4)
        ]
        for i, line in enumerate(lines):
            line.sendall(b"%0399d" % i)  # nobody has ended: 4 · 399 bytes want room
        assert site.lab is not None
        eventually(lambda: site.lab is not None and site.lab.store.room.bytes == 798)
        for line in lines:
            with suppress(OSError):  # those that were refused
                line.sendall(b"x")
        statuses = [line.recv(4096).split()[1] for line in lines]
        assert sorted(statuses) == [b"201", b"201", b"422", b"422"]
        lines[0].close()
        assert site.lab.store.room.bytes == 800 and site.lab.store.room.files == 2


def begun_upload(site: Site, announced: str) -> socket.socket:
    """A connection on which an upload was announced, with its length or in chunks."""
    return site.say(
        "POST /api/subjects?name=a.npz HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        f"Origin: {site.origin}",
        f"Cookie: {site.cookie}",
        announced,
        "",
    )


def test_an_upload_that_is_broken_off_or_refused_leaves_nothing(site: Site):
    assert site.lab is not None
    room = site.lab.store.room
    folder = site.lab.store.folder
    before = (room.files, room.bytes, set(folder.iterdir()))
    with begun_upload(site, "Content-Length: 10") as line:
        line.sendall(b"12345")
        eventually(lambda: room.bytes == before[1] + 5)
    site.post("/api/subjects?name=a.npz", b"unreadable")
    eventually(lambda: (room.files, room.bytes, set(folder.iterdir())) == before)


def test_uploads_are_gone_when_the_lab_ends():
    with running(workers=1) as site:
        site.post("/api/subjects?name=a.npz", b"abc")
        assert site.lab is not None and list(site.lab.store.folder.iterdir())
    assert not site.lab.scratch.folder.exists()


def test_small_pictures_are_made_once_and_kept_for_the_next_time():
    def picture(site: Site, query: str = ""):
        return site.get(f"/api/thumbnail/gd-strongly-convex{query}")

    with running(workers=1) as site:
        first = picture(site)
        assert first.status == 202 and int(first.headers["retry-after"]) >= 1
        eventually(lambda: picture(site).status == 200)
        made = picture(site)
        assert made.body.decode() == SVG and made.headers["x-verdict"] == "proved"
        assert made.headers["content-type"] == "image/svg+xml"
        assert b"#60a5fa" in picture(site, "?theme=dark").body  # the same blue, for the dark
    with running(workers=1) as site:
        assert picture(site).status == 200  # from the folder, at once
        assert site.get("/api/thumbnail/no-such-theorem").status == 400


def test_an_export_is_made_where_the_result_still_is(site: Site):
    with site.tab() as tab:
        tab.run(1, "fast", seed=77)
        pid = tab.until("result")[-1]["pid"]
    answer = site.post("/api/export?format=pdf", json.dumps({"theorem": "fast", "seed": 77}))
    assert answer.status == 200 and answer.body == f"pdf {pid}".encode()
    assert answer.headers["content-disposition"] == 'attachment; filename="fast.pdf"'
    elsewhere = site.post("/api/export?format=svg", json.dumps({"theorem": "fast", "seed": 78}))
    assert elsewhere.status == 200 and elsewhere.body != f"svg {pid}".encode()


@max_examples(60)
@given(
    format=st.sampled_from(["pdf", "sh", "exe", ""]),
    body=st.binary(max_size=60) | st.text(max_size=20).map(lambda t: json.dumps({"theorem": t})),
)
def test_no_request_for_an_export_is_an_internal_error(site: Site, format, body):
    answer = site.post(f"/api/export?format={format}", body)
    assert answer.status in (200, 400, 422)
    if answer.status != 200:
        assert set(answer.json["error"]) == {"what", "where", "got", "remedy"}


def test_an_overlong_state_is_refused(site: Site):
    assert site.post("/api/export?format=py", b" " * (1 << 20)).status in (400, 413)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/"),
        ("PUT", "/api/subjects"),
        ("GET", "/api/export"),
        ("GET", "/ws"),
        ("GET", "/api"),
    ],
)
def test_other_requests_have_no_answer(site: Site, method, path):
    assert site.ask(method, path, Origin=site.origin if method != "GET" else "").status in (
        404,
        405,
    )


def test_the_cache_is_kept_small_and_the_oldest_goes_first(tmp_path):
    for i in range(5):
        path = tmp_path / f"{i}"
        path.write_bytes(b"x" * 100)
        os.utime(path, (i, i))
    trim(tmp_path, 250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3", "4"]


def test_the_cache_is_where_the_user_wants_it_or_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("a", "b") == tmp_path / "ftheta" / "a" / "b"
    (tmp_path / "ftheta" / "file").write_text("")
    assert cache_folder("file") is None
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "ftheta"


def test_compiled_programs_are_kept_where_the_user_says_else_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/their/own")
    assert compiled_kept()["JAX_COMPILATION_CACHE_DIR"] == "/their/own"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    assert compiled_kept()["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "ftheta" / "compiled")
