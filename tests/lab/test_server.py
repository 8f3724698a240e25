"""The lab as a user starts it: a process with its workers, from the address it prints to Ctrl-C."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from ftheta.cli import run
from ftheta.lab.exports import MEDIA

from .clients import Site, eventually

LAB = [sys.executable, "-m", "ftheta", "lab", "--port", "0", "--no-browser"]


@contextmanager
def started(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A lab and the line it prints."""
    process = subprocess.Popen(
        [*LAB, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.wait()


def site_of(line: str) -> Site:
    found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]{20,})", line)
    assert found, line
    return Site(int(found[1]), token=found[2])


def children(pid: int) -> set[int]:
    """The processes that the lab started, by the kernel's account."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = re.search(r"^PPid:\s+(\d+)", status.read_text(), re.M)
        except OSError:  # it ended while we looked
            continue
        if parent and int(parent[1]) == pid:
            found.add(int(status.parent.name))
    return found


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.fixture(scope="module")
def site(own_cache):
    with started("hoeffding-chebyshev", "--subject", "digits-mlp", "--workers", "1") as (_, line):
        assert "#/hoeffding-chebyshev?subject=given" in line
        yield site_of(line)


def test_a_theorem_is_run_and_run_again_by_the_same_worker(site: Site):
    with site.tab() as tab:
        for n in range(3):
            tab.run(n, "hoeffding-chebyshev", knobs={"delta": 0.1 + n / 100})
            message = tab.until("result", "error")[-1]
            assert (
                message["type"] == "result"
                and message["document"]["provenance"]["knobs"]["delta"] == 0.1 + n / 100
            )
        tab.run(9, "hoefding")
        assert "did you mean hoeffding-chebyshev" in tab.until("error")[-1]["error"]["remedy"]
        tab.run(10, "hoeffding-chebyshev", knobs={"delta": 7})
        assert tab.until("error")[-1]["knob"] == "delta"


def test_the_subject_given_at_start_is_one_of_the_list_and_can_be_run(site: Site):
    given = {s["id"]: s for s in site.get("/api/subjects").json}["given"]
    assert given["kind"] == "Network" and ["outputs", "10"] in given["facts"]
    with site.tab() as tab:
        tab.run(1, "hoeffding-chebyshev", subject="given")
        assert tab.until("result")[-1]["document"]["provenance"]["subject"] == "digits-mlp"


def test_an_uploaded_network_is_run_and_a_broken_or_hostile_file_is_refused(site: Site):
    file = io.BytesIO()
    np.savez(file, W0=np.ones((3, 2)), b0=np.zeros(3), W1=np.ones((1, 3)))
    entry = site.post("/api/subjects?name=mine.npz", file.getvalue())
    assert entry.status == 201 and entry.json["kind"] == "Network"
    with site.tab() as tab:
        tab.run(1, "network-calculus", subject=entry.json["id"])
        assert tab.until("result")[-1]["document"]["provenance"]["subject"] == "mine.npz"
    pickled = io.BytesIO()
    np.savez(pickled, W0=np.array([print], dtype=object))
    for content in (b"", b"PK\x03\x04", pickled.getvalue()):
        refused = site.post("/api/subjects?name=theirs.npz", content)
        assert (
            refused.status == 422
            and "/tmp" not in refused.body.decode()
            and refused.json["error"]["what"]
        )


def test_every_format_can_be_exported(site: Site):
    state = json.dumps({"theorem": "hoeffding-chebyshev", "knobs": {"trials": 100}})
    for format, media in MEDIA.items():
        answer = site.post(f"/api/export?format={format}", state)
        assert (
            answer.status == 200
            and answer.headers["content-type"] == media
            and len(answer.body) > 20
        )
        assert f"hoeffding-chebyshev.{format}" in answer.headers["content-disposition"]
    code = site.post("/api/export?format=py", state).body.decode()
    assert "trials=100" in code and compile(code, "snippet", "exec")


def test_a_small_picture_is_drawn(site: Site):
    eventually(lambda: site.get("/api/thumbnail/hoeffding-chebyshev").status == 200, 60)
    assert site.get("/api/thumbnail/hoeffding-chebyshev").body.startswith(b"<svg")


@pytest.mark.parametrize("busy", [False, True])
def test_ctrl_c_ends_everything(busy):
    with started("--workers", "1") as (process, line):
        site = site_of(line)
        eventually(lambda: len(children(process.pid)) >= 2)
        if busy:
            with site.tab() as tab:
                tab.run(1, "nonsmooth-proximal")
                tab.until("progress", "result")
                workers = _interrupted(process)
        else:
            workers = _interrupted(process)
    eventually(lambda: not any(alive(pid) for pid in workers), 10)


def _interrupted(process: subprocess.Popen[str]) -> set[int]:
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    return workers


def test_workers_end_when_the_lab_is_killed():
    with started("--workers", "1") as (process, _):
        eventually(lambda: len(children(process.pid)) >= 2)
        workers = children(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    eventually(lambda: not any(alive(pid) for pid in workers), 20)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_every_address_asks_for_a_token(host):
    with started("--host", host, "--workers", "1") as (_, line):
        site = site_of(line)
        assert Site(site.port, token="").get("/").status == 401
        assert site.get("/").status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_an_empty_token_is_refused(host, capsys):
    assert run(["lab", "--host", host, "--token", "", "--no-browser", "--port", "0"]) == 2
    assert "token" in capsys.readouterr().err


def test_the_folder_of_a_killed_lab_is_swept_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with started("--workers", "1") as (process, line):
        site_of(line).post("/api/subjects?name=a.txt", b"abc")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (left,) = tmp_path.glob("ftheta-lab-*")
    with started("--workers", "1") as (process, line):
        eventually(lambda: not left.exists(), 20)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    eventually(lambda: not list(tmp_path.glob("ftheta-lab-*")))


def test_a_wrong_theorem_subject_or_port_is_told_before_anything_is_served(capsys):
    assert run(["lab", "adamm", "--no-browser"]) == 2 and "did you mean" in capsys.readouterr().err
    assert run(["lab", "--port", "99999", "--no-browser"]) == 2
    assert run(["lab", "--subject", "no/such/file.npz", "--no-browser", "--port", "0"]) == 4
    assert run(["lab", "--workers", "0", "--no-browser", "--port", "0"]) == 2
