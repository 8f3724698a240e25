"""What runs inside a worker of the lab."""

import importlib
import sys
import threading
from types import ModuleType

import pytest

from ftheta.lab.work import Desk, Stopped


class QuietDesk(Desk):
    """A desk without a channel, at work on a job that was stopped; `again` is set when it is interrupted once more."""

    def __init__(self) -> None:
        self.at_work = 1
        self.stopped = 1
        self.again = threading.Event()

    def interrupt(self) -> None:
        self.again.set()


def test_a_job_is_stopped_after_an_import_and_not_in_the_middle_of_it(tmp_path, monkeypatch):
    desk = QuietDesk()
    hook = ModuleType("hook_of_this_test")
    monkeypatch.setattr(hook, "desk", desk, raising=False)
    monkeypatch.setitem(sys.modules, hook.__name__, hook)
    (tmp_path / "slow_to_import.py").write_text(
        "import hook_of_this_test\nhook_of_this_test.desk.on_interrupt()\nwhole = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("slow_to_import").whole
    assert desk.again.wait(30)
    with pytest.raises(Stopped):
        desk.on_interrupt()


def test_a_job_that_nobody_stopped_goes_on():
    desk = QuietDesk()
    desk.stopped = 0
    desk.on_interrupt()
    assert desk.at_work == 1
