"""Worker processes: what is sent comes back, what ends says how, and nobody outlives the client."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.processes.environment import worker_environment
from ftheta.processes.framing import FrameTooLong, dump, load, pack, read
from ftheta.processes.pool import Pool
from ftheta.processes.resources import available_memory, cores
from ftheta.processes.worker import Worker, program

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds until something that must come has not come
CLIENT = """
import sys
sys.path.insert(0, {root!r})
from tests.processes.test_workers import Talk
talk = Talk()
print(talk.worker.pid, flush=True)
if {suspended!r}:
    talk.worker.suspend()
    print("suspended", flush=True)
talk.worker.send({{"kind": "sleep"}})
talk.heard("asleep")
"""


class Talk:
    """One worker, ready, and what it says."""

    def __init__(self, **options: Any) -> None:
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        arguments = program("tests.processes.echo")
        self.worker = Worker(arguments, lambda _, frame: self.inbox.put(frame), **options)
        self.header, _ = self.heard("ready")

    def heard(self, kind: str | None) -> Any:
        frame = self.inbox.get(timeout=PATIENCE)
        assert (frame if frame is None else frame[0]["kind"]) == kind
        return frame


@pytest.fixture
def talk() -> Iterator[Callable[..., Talk]]:
    made: list[Talk] = []

    def start(**options: Any) -> Talk:
        made.append(Talk(**options))
        return made[-1]

    yield start
    for each in made:
        each.worker.kill()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "this never came true"
        time.sleep(0.02)


def test_what_is_sent_comes_back_and_prints_do_not_mix_with_it(talk):
    one = talk()
    assert one.header["pid"] == one.worker.pid and one.header["threads"] == "1"
    for body in (b"", b"x" * 3_000_000, dump({"a": [1, 2.5, None]})):
        one.worker.send({"kind": "echo", "word": "θ"}, body)
        assert one.heard("echo") == ({"kind": "echo", "word": "θ"}, body)
    assert load(body) == {"a": [1, 2.5, None]}


def test_a_worker_that_ends_says_how(talk):
    one = talk(keep_stderr=True)
    one.worker.send({"kind": "exit", "code": 3})
    one.heard(None)
    assert one.worker.ending == "exit code 3" and one.worker.stderr_tail() == "last words"
    one.worker.send({"kind": "echo"})  # to nobody: nothing happens
    two = talk()
    two.worker.kill()
    two.heard(None)
    assert two.worker.ending == "SIGKILL" and two.worker.stderr_tail() == ""


def test_an_answer_longer_than_is_allowed_ends_the_worker(talk):
    one = talk(longest=1000)
    one.worker.send({"kind": "echo"}, b"x" * 1001)
    one.heard(None)
    assert one.worker.ending == "SIGKILL"


def test_memory_is_limited(talk):
    one = talk(memory=2 << 30)
    for asked, got in ((1 << 20, 1 << 20), (1 << 33, -1)):
        one.worker.send({"kind": "take", "bytes": asked})
        assert one.heard("taken")[0]["bytes"] == got


def test_a_suspended_worker_goes_on_where_it_was(talk):
    one = talk()
    one.worker.suspend()
    one.worker.send({"kind": "echo"})
    until(
        lambda: Path(f"/proc/{one.worker.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    )
    assert one.inbox.empty()
    one.worker.resume()
    one.heard("echo")
    one.worker.kill()
    one.worker.suspend()  # nobody is hit who has its number now
    one.worker.resume()


@pytest.mark.parametrize("suspended", [False, True])
def test_a_worker_dies_with_its_client(suspended):
    script = CLIENT.format(root=str(ROOT), suspended=suspended)
    client = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    pid = int(client.stdout.readline())
    if suspended:
        assert client.stdout.readline().strip() == "suspended"
    assert is_alive(pid)
    client.kill()
    client.wait()
    client.stdout.close()
    until(lambda: not is_alive(pid))


def test_a_pool_hears_all_of_its_workers_and_kills_them():
    pool: Pool[Worker] = Pool(
        lambda on_message: Worker(program("tests.processes.echo"), on_message)
    )
    one, two = pool.start_worker(), pool.start_worker()
    found: list[Any] = []
    until(lambda: found.extend(pool.messages(0.1)) or len(found) == 2)
    assert {worker for worker, _ in found} == {one, two}
    pool.kill(one)
    assert pool.messages(PATIENCE) == [(one, None)] and pool.workers == [two]
    pool.kill_all()
    assert pool.messages(PATIENCE) == [(two, None)] and not pool.workers
    assert pool.messages(0.0) == []
    assert not is_alive(one.pid) and not is_alive(two.pid)


@given(
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4),
    st.binary(max_size=50),
)
def test_frames_come_back_as_they_were_sent(header, body):
    stream = io.BytesIO(pack(header, body) * 2)
    assert read(stream) == read(stream) == (header, body)
    assert read(stream) is None


@given(st.integers(0, 40))
def test_a_frame_that_is_cut_off_is_the_end(length):
    whole = pack({"job": 1}, b"x" * 30)
    assert read(io.BytesIO(whole[: min(length, len(whole) - 1)])) is None


def test_a_frame_that_claims_too_much_is_refused_before_it_is_read():
    with pytest.raises(FrameTooLong):
        read(io.BytesIO(b"\xff" * 12))
    with pytest.raises(FrameTooLong):
        pack({}, b"four", most=3)


@pytest.mark.parametrize("flags", ["", "--xla_a=1", "--xla_a=1 --xla_cpu_multi_thread_eigen=false"])
def test_a_worker_has_one_thread_and_the_flags_of_the_user(monkeypatch, flags, tmp_path):
    monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setenv("JAX_PLATFORMS", "theirs")
    found = worker_environment(tmp_path)
    assert found["XLA_FLAGS"].split().count("--xla_cpu_multi_thread_eigen=false") == 1
    assert set(flags.split()) <= set(found["XLA_FLAGS"].split()) and found["OMP_NUM_THREADS"] == "1"
    assert found["JAX_PLATFORMS"] == "theirs" and found["TMPDIR"] == str(tmp_path)
    monkeypatch.delenv("JAX_PLATFORMS")
    assert worker_environment()["JAX_PLATFORMS"] == "cpu"


def test_memory_is_shared_among_the_workers():
    assert 1 <= cores() <= (os.cpu_count() or 1)
    one, many = available_memory(1), available_memory(1000)
    assert one is not None and many is not None and one >= many == 2 << 30
