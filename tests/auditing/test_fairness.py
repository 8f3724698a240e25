"""What the budget of an audit counts: neither start-up, nor load of the machine, nor kernels being compiled."""

from time import monotonic

import numpy as np
import pytest

from ftheta.auditing import fairness, whole
from ftheta.auditing.budget import Clock
from ftheta.auditing.fairness import LEAST, CompilationRecord, Fairness, Usage
from ftheta.auditing.pool import Pool
from ftheta.auditing.whole import audit
from ftheta.networks import random_mlp
from ftheta.subjects import Network

from . import planted

NET = Network.described(random_mlp(np.random.default_rng(0), (2, 3, 1)), "small")


class Process:
    """One process at work, as it is told of."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.held = 0.0
        self.compile_seconds = 0.0


def looked_at(
    monkeypatch, seconds: float, used: dict[int, tuple[float, float]], compiled=None, cores: int = 2
):
    """What `Fairness` holds of so many seconds in which processes ran and waited for so long."""
    now = [100.0]
    usage = {pid: Usage(5.0, 7.0) for pid in used}
    monkeypatch.setattr(fairness, "monotonic", lambda: now[0])
    monkeypatch.setattr(fairness, "usage_of", lambda pid: usage[pid])
    monkeypatch.setattr(fairness, "cores", lambda: cores)
    processes = [Process(pid) for pid in used]
    fair = Fairness()
    now[0] += 1.0
    fair.look(processes)
    now[0] += seconds
    for process in processes:
        ran, waited = used[process.pid]
        usage[process.pid] = Usage(5.0 + ran, 7.0 + waited)
        process.compile_seconds += (compiled or {}).get(process.pid, 0.0)
        process.held = 0.0
    return fair.look(processes), processes


@pytest.mark.parametrize(
    ("used", "counted"),
    [
        ({1: (4.0, 0.0)}, 4.0),  # nothing else runs
        ({1: (0.0, 0.0)}, 4.0),  # it sleeps
        ({1: (2.0, 2.0)}, 2.0),  # another process had half of the time
        ({1: (1.0, 3.0), 2: (3.0, 1.0)}, 2.0),
        (
            {1: (4.0, 4.0), 2: (4.0, 4.0)},
            4.0,
        ),  # four threads on two processors: nobody else is to blame
        ({1: (0.1, 3.9)}, 4 * LEAST),  # however busy the machine is, it ends
    ],
)
def test_the_share_of_the_processor_is_the_share_of_the_time_that_counts(
    monkeypatch, used, counted
):
    held, processes = looked_at(monkeypatch, 4.0, used)
    assert 4.0 - held == pytest.approx(counted)
    assert all(process.held == pytest.approx(held) for process in processes)


def test_kernels_that_are_compiled_do_not_count(monkeypatch):
    held, (one, other) = looked_at(monkeypatch, 4.0, {1: (4.0, 0.0), 2: (4.0, 0.0)}, {1: 3.0})
    assert (one.held, other.held, held) == pytest.approx((3.0, 0.0, 1.5))


def test_where_the_system_does_not_tell_all_time_counts(monkeypatch):
    monkeypatch.setattr(fairness, "Path", lambda _: planted.Path("/nowhere"))
    assert fairness.usage_of(1) is None
    process = Process(1)
    fair = Fairness()
    fair._looked -= 1.0
    fair.look([process])
    fair._looked -= 1.0
    assert fair.look([process]) == 0.0


def test_a_record_is_read_while_it_is_written():
    record = CompilationRecord()
    same = CompilationRecord(record.descriptor)
    with same.under_way():
        assert record.seconds > 0
    total = record.seconds
    assert record.seconds == total == same.seconds
    same.close()
    record.close()


def test_a_clock_runs_from_when_it_is_begun():
    clock = Clock.of(10.0, 1, 1)
    assert clock.seconds_used == 0.0 and clock.left == 10.0
    clock.begin()
    clock.held = -3.0
    assert 3.0 <= clock.seconds_used < 4.0


class SlowToLoad:
    """A part of a network that takes long to be read in a worker."""

    def __reduce__(self):
        return planted.loaded_slowly, ()


def test_reading_the_network_takes_nothing_off_the_budget(monkeypatch):
    monkeypatch.setattr(whole, "plan_tasks", lambda only, skip: [planted.task("quick")])
    net = Network("slow to load", planted.Doubles(SlowToLoad()), (), (2,))
    found = audit(net, budget=1.0, workers=1)
    assert not found.skipped and [
        fact.name for section in found.sections for fact in section.facts
    ] == ["drawn"]
    assert found.seconds > planted.LOADING


@pytest.mark.parametrize("workers", [0, 1])
def test_a_kernel_that_is_compiled_takes_nothing_off_the_budget(monkeypatch, workers):
    monkeypatch.setattr(
        whole, "plan_tasks", lambda only, skip: [planted.task("compiles"), planted.task("quick")]
    )
    found = audit(NET, budget=1.0, workers=workers)
    assert not found.skipped and len(found.sections[0].facts) == 2


@pytest.mark.nightly
def test_the_budget_is_kept_within_a_tenth(monkeypatch):
    ended = []
    give_up = Pool._give_up

    def told(self, clock, done):
        ended.append((clock.seconds_used, monotonic()))
        give_up(self, clock, done)

    monkeypatch.setattr(Pool, "_give_up", told)
    monkeypatch.setattr(
        whole, "plan_tasks", lambda only, skip: [planted.task("slow"), planted.task("busy")]
    )
    found = audit(NET, budget=5.0, workers=2)
    ((used, at),) = ended
    assert len(found.skipped) == 2 and 5.0 <= used <= 5.5
    assert monotonic() - at < 5.0  # the workers are ended, and the report is made
