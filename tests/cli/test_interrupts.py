"""Ctrl-C is heeded at the first press, wherever it is pressed."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from trials.interrupts import COMMANDS, press

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

PRELUDE = """
import gc, os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from ftheta.processes import interrupts
interrupts.watch()

def press():
    os.kill(os.getpid(), signal.SIGINT)

def run_on(seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    print("ran on")
"""


def ended(body: str) -> tuple[int, str, str]:
    """A process that does this under the watch; `heeded` is printed where the interrupt arrives."""
    body = textwrap.indent(textwrap.dedent(body), "    ")
    script = f"{PRELUDE}\ntry:\n{body}\nexcept KeyboardInterrupt:\n    print('heeded')\n"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.parametrize(
    "place",
    [
        # a callback of the garbage collector, as JAX has one
        """
        gc.callbacks.append(lambda *_: press())
        gc.collect()
        gc.callbacks.pop()
        """,
        # an object that is cleared away
        """
        class Cleared:
            def __del__(self): press(); time.sleep(0.01)
        Cleared()
        """,
        # a callback that Python calls from C and whose exceptions it drops
        """
        import weakref
        class Watched: pass
        watched = Watched()
        kept = weakref.ref(watched, lambda _: (press(), time.sleep(0.01)))
        del watched
        """,
        # a library that catches everything
        """
        try:
            press(); time.sleep(0.01)
        except:
            pass
        """,
        # a library that makes another exception of it
        """
        try:
            press(); time.sleep(0.01)
        except BaseException as error:
            try:
                raise RuntimeError from error
            except RuntimeError:
                pass
        """,
        # again and again
        """
        for _ in range(5):
            try:
                press(); time.sleep(0.2)
            except BaseException:
                pass
        """,
    ],
    ids=["collector", "cleared", "weakref", "bare except", "another exception", "again"],
)
def test_an_interrupt_that_is_swallowed_is_raised_again(place):
    code, out, err = ended(f"{textwrap.dedent(place)}\nrun_on()\n")
    assert (code, out, err) == (0, "heeded", "")


def test_clearing_up_after_an_interrupt_is_not_interrupted():
    body = """
    try:
        press(); time.sleep(1)
    finally:
        time.sleep(0.5)
        print("cleared up")
    """
    assert ended(body)[:2] == (0, "cleared up\nheeded")


def test_what_is_held_together_is_done_as_a_whole():
    body = """
    with interrupts.held():
        press(); time.sleep(0.3)
        print("whole")
    print("not reached")
    """
    assert ended(body)[:2] == (0, "whole\nheeded")


def test_whoever_heeds_ends_in_order_and_a_second_press_ends_at_once():
    orderly = "try:\n    press(); time.sleep(1)\nexcept KeyboardInterrupt:\n    interrupts.heed()\n"
    assert ended(f"{orderly}\ntime.sleep(0.5)\nprint('in order')")[:2] == (0, "in order")
    later = "threading.Timer(1.0, press).start()\n"
    code, out, err = ended(f"{later}{orderly}\nrun_on()\n")
    assert code == 130 and out == "" and "interrupted" in err and "Traceback" not in err


def test_a_second_press_ends_native_code_too():
    body = """
    import numpy as np
    big = np.random.default_rng(0).normal(size=(6000, 6000))
    threading.Timer(0.5, press).start()
    threading.Timer(1.5, press).start()
    np.linalg.svd(big)
    """
    started = time.monotonic()
    code, _, err = ended(body)
    assert code == 130 and "interrupted" in err and time.monotonic() - started < 60


ALARM = "from ftheta.processes.compilation import clock\n"


def test_an_alarm_ends_what_runs_on_though_it_is_swallowed_once():
    body = """
    with interrupts.alarm_at(clock() + 0.1) as alarm:
        try:
            time.sleep(1)
        except BaseException:
            pass
        run_on()
    """
    code, out, err = ended(ALARM + textwrap.dedent(body))
    assert (code, out, err) == (0, "heeded", "")


def test_a_press_is_heard_after_an_alarm_was_heeded():
    body = """
    with interrupts.alarm_at(clock() + 0.1) as alarm:
        try:
            run_on()
        except KeyboardInterrupt:
            interrupts.heed()
        time.sleep(0.3)
        print(alarm.rang)
    time.sleep(0.3)
    press(); run_on()
    """
    assert ended(ALARM + textwrap.dedent(body))[:2] == (0, "True\nheeded")


def test_what_ends_in_time_hears_no_alarm():
    body = "with interrupts.alarm_at(clock() + 0.2) as alarm:\n    pass\ntime.sleep(0.4)\nprint(alarm.rang)"
    assert ended(ALARM + body)[:2] == (0, "False")


def test_a_question_that_never_ends_is_a_timeout():
    """Whatever goes on in it: here the reading of the network does not look at the clock."""
    body = """
    import ftheta.certify.vnnlib, ftheta.verifying
    from ftheta.cli import run
    ftheta.certify.vnnlib.read_query = lambda path: type("Asked", (), {"version": (1, 0)})()
    ftheta.verifying.verify = lambda *_, **__: run_on()
    print(run(["verify", "net.onnx", "never.vnnlib", "--timeout", "0.1"]))
    """
    code, out, err = ended(body)
    assert (code, out.splitlines()) == (0, ["timeout", "3"]) and "no search" in err


def test_leaving_waits_for_no_thread_and_does_what_is_due_at_the_end():
    begun = time.monotonic()
    code, out, _ = ended("""
        import atexit
        atexit.register(print, "cleared up")
        threading.Thread(target=time.sleep, args=(20,)).start()
        print("shown", end=" ")
        interrupts.leave()
        """)
    assert (code, out) == (130, "shown cleared up")
    assert time.monotonic() - begun < 10


def test_two_signals_of_one_press_are_one_press():
    body = "try:\n    press(); press(); time.sleep(1)\nexcept KeyboardInterrupt:\n    interrupts.heed()\n"
    assert ended(f"{body}\npress()\ntime.sleep(0.6)\nprint('in order')")[:2] == (0, "in order")


def test_a_process_that_ignores_ctrl_c_goes_on_doing_so():
    script = PRELUDE.replace("default_int_handler", "SIG_IGN") + "press(); run_on(0.2)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.strip()) == (0, "ran on")


def test_extension_modules_are_initialised_undisturbed():
    """An interrupt inside of that is another exception, or a crash: it waits until the module is there."""
    from ftheta.processes.interrupts import _would_be_lost

    def exec_module():
        return _would_be_lost(sys._getframe())

    named = exec_module.__code__.replace(co_qualname="ExtensionFileLoader.exec_module")
    exec_module.__code__ = named
    assert exec_module() and not _would_be_lost(sys._getframe())
    assert gc.isenabled()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_one_press_ends_every_command(command):
    assert press(command, np.random.default_rng(1).uniform(0.5, 4.0)) is None


@pytest.mark.nightly
@pytest.mark.timeout(3600)  # it starts two hundred processes
def test_no_press_of_two_hundred_is_lost():
    rng = np.random.default_rng(16)
    faults = [press(COMMANDS[k % len(COMMANDS)], rng.uniform(0.3, 9.0)) for k in range(200)]
    assert [fault for fault in faults if fault] == []


def test_the_signal_of_python_stays_where_nobody_watches():
    from ftheta.processes import interrupts

    usual = signal.getsignal(signal.SIGINT)
    interrupts.heed()
    with interrupts.held():
        pass
    assert not interrupts.was_pressed() and signal.getsignal(signal.SIGINT) is usual
