"""The conversation with a page: the newest wins, all can be cancelled, a dead worker is replaced, nobody starves."""

import json
import os
import signal
import threading
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ..thoroughness import max_examples
from .clients import Site, eventually, running


def pids(site: Site) -> set[int]:
    assert site.lab is not None
    pools = (site.lab.pool, site.lab.background.pool)
    return {w.process.pid for pool in pools for w in pool.workers}


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    """What was said, but for the progress, which a slow machine may report of anything."""
    return [m["type"] for m in messages if m["type"] != "progress"]


def busy(site: Site) -> list[int]:
    assert site.lab is not None
    return [w.process.pid for w in site.lab.pool.workers if w.job is not None]


def test_a_run_is_started_and_answered(site):
    with site.tab() as tab:
        tab.run(3, "fast")
        assert kinds(tab.until("result")) == ["started", "result"]
        tab.run(4, "fast")
        assert {m["n"] for m in tab.until("result")} == {4}


def test_the_newest_wins_and_the_ones_between_are_dropped_silently(site):
    with site.tab() as tab:
        tab.run(0, "sleep 20")
        tab.until("started")
        for n in range(1, 30):
            tab.run(n, "sleep 0.05", seed=n)
        heard = tab.until("result")
        while heard[-1]["n"] != 29:
            heard += tab.until("result")
    answered = [m["n"] for m in heard if m["type"] in ("result", "cancelled")]
    assert answered[0] == 0 and heard[1]["type"] != "result" and len(answered) < 29
    assert (
        answered
        == sorted(answered)
        == [m["n"] for m in [{"n": 0}, *heard] if m.get("type", "started") == "started"]
    )


def test_a_stale_computation_of_the_same_theorem_may_end_if_it_is_quick(site):
    with site.tab() as tab:
        tab.run(1, "sleep 0.1", knobs={"kappa": 1.0})
        tab.until("started")
        tab.run(2, "sleep 0.1", knobs={"kappa": 2.0})
        assert [m["n"] for m in (tab.until("result")[-1], tab.until("result")[-1])] == [1, 2]


def test_a_stale_computation_of_the_same_theorem_is_stopped_if_it_is_slow(site):
    began = time.monotonic()
    with site.tab() as tab:
        tab.run(1, "sleep 15", seed=1)
        tab.until("started")
        tab.run(2, "sleep 15", seed=2)
        assert tab.until("cancelled")[-1]["n"] == 1
        tab.say({"type": "cancel", "n": 2})
        assert tab.until("cancelled")[-1]["n"] == 2
    assert time.monotonic() - began < 12


def test_cancel_frees_the_worker(site):
    with site.tab() as tab:
        tab.run(1, "sleep 30")
        eventually(lambda: busy(site))
        tab.say({"type": "cancel", "n": 1})
        assert tab.until("cancelled")[-1]["n"] == 1
        eventually(lambda: not busy(site), 5)
        tab.say({"type": "cancel", "n": 1})  # of nothing: no answer, no harm
        tab.run(2, "fast")
        assert tab.until("result")[-1]["n"] == 2


def test_one_that_does_not_heed_is_killed_and_a_spare_takes_its_place(site):
    with site.tab() as tab:
        tab.run(1, "stubborn 60")
        tab.until("progress")
        (stuck,) = busy(site)
        tab.say({"type": "cancel", "n": 1})
        tab.until("cancelled")
        tab.run(2, "fast")
        assert tab.until("result")[-1]["pid"] != stuck
        eventually(lambda: stuck not in pids(site), 10)
    eventually(lambda: len(pids(site)) == 4, 20)


def test_progress_is_told_while_it_lasts(site):
    with site.tab() as tab:
        tab.run(1, "sleep 1.5")
        told = [m for m in tab.until("result") if m["type"] == "progress"]
    assert len(told) >= 2
    assert told[-1]["text"] == "gathering the evidence"
    assert told[-1]["seconds"] > told[0]["seconds"] > 0


def test_a_worker_killed_from_outside_is_replaced_and_the_computation_begins_again(site):
    with site.tab() as tab:
        tab.run(1, "sleep 1")
        eventually(lambda: busy(site))
        (victim,) = busy(site)
        os.kill(victim, signal.SIGKILL)
        heard = tab.until("result", "error")
    assert kinds(heard) == ["started", "notice", "result"]
    assert heard[-1]["pid"] != victim


def test_a_worker_that_dies_once_is_tried_again_and_one_that_dies_twice_is_an_error(site):
    with site.tab() as tab:
        tab.run(1, "die-once")
        assert kinds(tab.until("result")) == ["started", "notice", "result"]
        tab.run(2, "die")
        heard = tab.until("error")
    assert kinds(heard) == ["started", "notice", "error"]
    assert "memory" in heard[-1]["error"]["remedy"]


def test_errors_say_what_where_got_and_remedy_and_name_the_knob(site, capfd):
    with site.tab() as tab:
        tab.run(1, "misused")
        heard = tab.until("error")[-1]
        assert heard["knob"] == "kappa"
        assert heard["error"] == {
            "what": "Option --kappa cannot take this value.",
            "where": "--kappa",
            "got": "-1",
            "remedy": "give a value between 1 and 9",
        }
        tab.run(2, "bug")
        internal = tab.until("error")[-1]["error"]
        assert internal["what"] == "Internal error: ZeroDivisionError." and "Traceback" not in str(
            internal
        )
        tab.run(3, "fast", subject="../../etc/passwd")
        assert "no such subject" in tab.until("error")[-1]["error"]["what"]
    assert "Traceback" in capfd.readouterr().err  # it is told where the lab was started


def test_a_page_that_leaves_takes_its_computation_with_it(site):
    with site.tab() as tab:
        tab.run(1, "sleep 60")
        eventually(lambda: busy(site))
    eventually(lambda: not busy(site), 10)


def test_ten_tabs_take_turns_even_beside_a_greedy_one():
    """Every tab asks again as soon as it is answered; in the order of the answers no tab is two turns ahead."""
    order: list[int] = []
    with running() as site:
        gate = threading.Barrier(11)

        def visit(who: int) -> None:
            with site.tab() as tab:
                gate.wait(30)
                for n in range(3):
                    tab.run(n, "sleep 0.05")
                    tab.until("result")
                    order.append(who)

        def flood() -> None:
            with site.tab() as tab:
                gate.wait(30)
                for n in range(200):
                    tab.run(n, "sleep 0.05")
                    time.sleep(0.005)

        threads = [threading.Thread(target=visit, args=[who]) for who in range(10)]
        threads.append(threading.Thread(target=flood))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(order) == 30
    for turn in range(1, len(order)):
        served = [order[:turn].count(who) for who in range(10)]
        assert max(served) - min(served) <= 2


@max_examples(60)
@given(
    text=st.one_of(
        st.text(max_size=40),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
        ).map(json.dumps),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["run", "cancel", "x"]), "n": st.integers() | st.none()},
            optional={
                "state": st.dictionaries(
                    st.sampled_from(["theorem", "knobs", "seed", "force"]), st.integers()
                )
            },
        ).map(json.dumps),
    )
)
def test_no_message_breaks_the_conversation(site, text):
    with site.tab() as tab:
        tab.say(text)
        tab.run(7, "fast")
        heard = tab.until("result")
    assert set(kinds(heard)) <= {"error", "started", "result"}


def test_binary_and_overlong_messages_close_the_line_and_nothing_else(site):
    with site.tab() as tab:
        tab.line.send(b"\x00\x01")
        eventually(lambda: tab.line.state.name == "CLOSED" or not _alive(tab))
    with site.tab() as tab:
        tab.line.send(" " * (1 << 20))
        eventually(lambda: not _alive(tab))
    with site.tab() as tab:
        tab.run(1, "fast")
        assert tab.until("result")


def _alive(tab) -> bool:
    try:
        tab.line.recv(timeout=0.1)
    except TimeoutError:
        return True
    except Exception:
        return False
    return True
