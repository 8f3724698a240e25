"""The budget holds, and a task that goes wrong costs itself alone."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from ftheta.auditing import compare, pool, whole
from ftheta.auditing.budget import Clock
from ftheta.auditing.plan import plan_tasks
from ftheta.auditing.pool import AuditWorker
from ftheta.auditing.whole import audit
from ftheta.logic import AuditProgress, Skipped, SubjectError, UsageError
from ftheta.networks import random_mlp
from ftheta.processes.budgets import seconds_of
from ftheta.subjects import Network

from . import planted

NET = Network.described(random_mlp(np.random.default_rng(0), (2, 3, 1)), "small")

ROOT = Path(__file__).parents[2]
HELD = """
import sys
sys.path.insert(0, {root!r})
from tests.auditing import planted
from tests.auditing.test_workers import NET, Clock, whole
from ftheta.auditing.pool import Pool
whole.plan_tasks = lambda only, skip: [planted.task(name) for name in ("waits", "waits", "slow")]
whole.Clock.of = lambda *_: Clock(3600.0, 0.4)
resume = Pool._set_aside
def told(self, worker):
    resume(self, worker)
    print(*(w.pid for w in self.suspended), flush=True)
Pool._set_aside = told
whole.audit(NET, budget=3600.0, workers=1)
"""


def state(pid: int) -> str | None:
    """R, S, T (stopped), Z …; None where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def audited(monkeypatch, names: str, budget: float | None, **options):
    tasks = [planted.task(name) for name in names.split()]
    monkeypatch.setattr(whole, "plan_tasks", lambda only, skip: tasks)
    return audit(NET, budget=budget, **options)


def skipped(found) -> dict[str, Skipped]:
    return {s.id: s for s in found.skipped}


def facts(found) -> list[str]:
    return [f.name for section in found.sections for f in section.facts]


def short_shares(monkeypatch, seconds: float) -> None:
    """An hour in all, and a few seconds for each task while others wait: starting a process may take long."""
    monkeypatch.setattr(whole.Clock, "of", lambda *_: Clock(3600.0, seconds))


def test_a_task_that_takes_long_is_set_aside_and_goes_on_where_it_was(monkeypatch, tmp_path):
    marks = tmp_path / "begun"
    order = []
    monkeypatch.setenv("PLANTED_FLAG", str(marks))
    short_shares(monkeypatch, 0.4)
    begin = AuditWorker.begin
    told = lambda self, task, assessment: begin(self, order.append(task.id) or task, assessment)
    monkeypatch.setattr(AuditWorker, "begin", told)
    found = audited(monkeypatch, "slow_but_sure quick slow_but_sure talks", 3600.0, workers=1)
    assert sorted(facts(found)) == ["at last", "at last", "drawn", "drawn"] and not found.skipped
    # none began twice
    assert (
        order == ["slow_but_sure", "quick", "slow_but_sure", "talks"] and marks.read_text() == "||"
    )


@pytest.mark.nightly
def test_a_fact_that_was_set_aside_goes_on_before_theorems_begin(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTED_FLAG", str(tmp_path / "begun"))
    monkeypatch.setattr(pool, "WORTH", 0.0)
    short_shares(monkeypatch, 0.4)
    order: list[object] = []
    begin = AuditWorker.begin
    resume = AuditWorker.go_on
    told = lambda self, task, assessment: begin(
        self, order.append((task.id, task.looking)) or task, assessment
    )
    monkeypatch.setattr(AuditWorker, "begin", told)
    monkeypatch.setattr(AuditWorker, "go_on", lambda self: resume(order.append("goes on") or self))
    (theorem,) = plan_tasks(["depth-conventions"])
    monkeypatch.setattr(
        whole, "plan_tasks", lambda only, skip: [planted.task("slow_but_sure"), theorem]
    )
    found = audit(NET, budget=3600.0, workers=1)
    looked = order.index((theorem.id, True))
    performed = order.index((theorem.id, False))
    assert facts(found) == ["at last"] and [r.id for r in found.results] == [theorem.id]
    assert order[0] == ("slow_but_sure", False) and order.index("goes on") < looked < performed


@pytest.mark.nightly
def test_processes_set_aside_end_with_the_audit_and_with_their_parent(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTED_FLAG", str(tmp_path / "begun"))
    parent = subprocess.Popen(
        [sys.executable, "-c", HELD.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    suspended = [int(word) for word in parent.stdout.readline().split()]
    assert suspended and all(state(pid) == "T" for pid in suspended)
    parent.kill()
    parent.wait()
    deadline = monotonic() + 60
    while any(state(pid) not in (None, "Z") for pid in suspended):
        assert monotonic() < deadline, "it outlived its parent"
        sleep(0.05)


@pytest.mark.nightly
def test_a_task_that_takes_too_long_is_tried_again_where_nothing_can_be_set_aside(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(pool, "MOST_SUSPENDED", 0)
    monkeypatch.setenv("PLANTED_FLAG", str(tmp_path / "begun"))
    short_shares(monkeypatch, 2.0)
    found = audited(monkeypatch, "slow_once quick talks refuses", 3600.0, workers=1)
    assert sorted(facts(found)) == ["at last", "drawn", "drawn"]
    assert found.skipped == (Skipped("refuses", "It does not apply (this)", "give that"),)


def test_a_task_that_never_ends_is_stopped_and_says_how_it_gets_more_time(monkeypatch):
    begun = monotonic()
    found = audited(monkeypatch, "slow slow", 2.0, workers=1)
    (missing,) = set(found.skipped)
    assert (
        missing.unfinished
        and missing.reason.startswith(("stopped after", "not begun"))
        and not found.sections
    )
    assert "--budget 2m" in missing.remedy and "--only" in missing.remedy
    assert monotonic() - begun < 120  # no hang


def test_what_was_not_begun_says_so(monkeypatch):
    found = audited(monkeypatch, "slow quick", 0.05, workers=1)
    assert {id: s.reason.split(":")[0].split(" after")[0] for id, s in skipped(found).items()} == {
        "slow": "stopped",
        "quick": "not begun",
    }
    assert not found.sections


def test_a_process_that_dies_loses_its_own_task_alone(monkeypatch):
    found = audited(monkeypatch, "dies quick faulty greedy talks", 300.0, workers=1)
    assert facts(found) == ["drawn", "drawn"]
    reasons = {id: s.reason for id, s in skipped(found).items()}
    assert reasons["dies"] == "its process ended with SIGKILL"
    assert reasons["faulty"] == "internal error: ZeroDivisionError: by zero"
    assert reasons["greedy"] == "it needs more memory than there is"
    assert not any(s.unfinished for s in found.skipped)


def test_workers_and_this_process_find_the_same(monkeypatch):
    there, here = (audited(monkeypatch, "quick", None, workers=n, seed=3) for n in (1, 0))
    assert there.sections == here.sections and there.sections[0].facts[0].note == "small"


def test_in_this_process_a_timer_interrupts(monkeypatch):
    found = audited(monkeypatch, "busy quick", 1.0, workers=0)
    assert skipped(found)["busy"].reason.startswith("stopped after") and facts(found) == ["drawn"]


def test_a_timer_rings_again_where_python_drops_what_it_raises(monkeypatch, capfd):
    found = audited(monkeypatch, "lingers quick", 0.4, workers=0)
    assert skipped(found)["lingers"].reason.startswith("stopped after")
    assert "Overdue" not in capfd.readouterr().err


def test_a_network_that_cannot_be_handed_over_is_audited_in_this_process(monkeypatch):
    import threading

    lock = threading.Lock()  # does not pickle
    net = Network("locked", lambda params, x: x * 2 if lock else x, (), (2,))
    monkeypatch.setattr(whole, "plan_tasks", lambda only, skip: [planted.task("quick")])
    assert facts(audit(net)) == ["drawn"]


def test_a_hypothesis_is_evaluated_once(monkeypatch, tmp_path):
    marks = tmp_path / "marks"
    monkeypatch.setenv("PLANTED_FLAG", str(marks))
    looked = replace(planted.task("looks"), is_fact=False)
    monkeypatch.setattr(whole, "plan_tasks", lambda only, skip: [looked, planted.task("quick")])
    for workers in (0, 1, 2):
        marks.write_text("")
        found = audit(NET, budget=300.0, workers=workers)
        assert (
            [r.id for r in found.results] == ["looks"]
            and facts(found) == ["drawn"]
            and not found.skipped
        )
        assert len(marks.read_text().split()) == 1


def test_a_network_in_words_is_read_once_a_process_and_by_the_workers_alone(monkeypatch, tmp_path):
    marks = tmp_path / "marks"
    monkeypatch.setenv("PLANTED_FLAG", str(marks))
    monkeypatch.setattr(
        whole, "plan_tasks", lambda only, skip: [planted.task(name) for name in ("quick", "talks")]
    )
    words = "tests.auditing.planted:read"
    there = audit(words, budget=300.0, workers=2)
    readers = marks.read_text().split()
    assert len(readers) == len(set(readers)) <= 2 and str(os.getpid()) not in readers
    marks.write_text("")
    here = compare(words, words, budget=None, workers=0)
    assert marks.read_text().split() == [str(os.getpid())] * 2  # one for each of the two
    assert here.after.subject == there.subject == "read" and here.after.hash == there.hash
    assert here.after.facts == there.facts and here.after.diagram == there.diagram


def test_a_network_that_cannot_be_read_is_told_as_it_is_here():
    with pytest.raises(SubjectError, match="neither a file") as there:
        audit("no-such-network", workers=1)
    with pytest.raises(SubjectError) as here:
        audit("no-such-network", workers=0)
    assert str(there.value) == str(here.value)


@pytest.mark.nightly
def test_progress_tells_how_far_it_is(monkeypatch):
    told: list[AuditProgress] = []
    audited(monkeypatch, "quick refuses", 300.0, workers=1, progress=told.append)
    assert all(now.tasks == 2 and now.budget == 300.0 for now in told)
    assert {id for now in told for id in now.now} <= {"quick", "refuses"}
    assert [now.done for now in told] == sorted(now.done for now in told)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("60s", 60.0), ("2m", 120.0), ("90", 90.0), (".5h", 1800.0), (12, 12.0), (None, None)],
)
def test_budgets_are_read(words, seconds):
    assert seconds_of(words) == seconds


@pytest.mark.parametrize("words", ["", "abc", "-5", "0", "1e400", "5 days", float("nan")])
def test_budgets_that_are_no_times_are_refused(words):
    with pytest.raises(UsageError, match="60s, 2m"):
        seconds_of(words)


def test_a_share_is_a_fifth_of_the_budget_or_more_where_there_are_few():
    assert [Clock.of(60.0, tasks, 2).share for tasks in (1, 4, 40)] == [60.0, 30.0, 12.0]


def test_a_fact_may_take_a_fifth_of_the_budget_and_a_theorem_a_tenth_as_the_page_says():
    words = {"fifth": 1 / 5, "tenth": 1 / 10}
    page = " ".join((ROOT / "docs" / "audit.md").read_text(encoding="utf-8").split())
    told = re.search(
        r"a fact that used a (\w+) of the budget, or a theorem that used a (\w+), is stopped", page
    )
    assert told is not None
    clock = Clock.of(60.0, 40, 2)
    fact = planted.task("quick")
    shares = [clock.share_of(task) / 60.0 for task in (fact, replace(fact, is_fact=False))]
    assert shares == pytest.approx([words[word] for word in told.groups()])
