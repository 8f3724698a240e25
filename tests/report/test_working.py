"""What a terminal shows while work goes on. The screen is rebuilt from the control sequences by a small emulator."""

import io
import os
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import AuditFinding, AuditProgress, Enclosure, Severity
from ftheta.report import working
from ftheta.report.working import Working
from tests.thoroughness import max_examples

COLUMNS = 70


class Terminal(io.StringIO):
    """A screen of rows that knows the few control sequences that are used."""

    encoding = "utf-8"

    def __init__(self) -> None:
        super().__init__()
        self.rows = [""]
        self.row = 0

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part.endswith("A") and part.startswith("\x1b"):
                self.row -= int(part[2:-1])
                assert self.row >= 0
            elif part == "\x1b[2K":
                self.rows[self.row] = ""
            elif part == "\n":
                self.row += 1
                self.rows += [""] * (self.row + 1 - len(self.rows))
            elif not part.startswith(("\x1b", "\r")):
                self.rows[self.row] += part
        return len(text)

    @property
    def shown(self) -> list[str]:
        return [row for row in self.rows if row]


@pytest.fixture
def terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(working, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(working.shutil, "get_terminal_size", lambda: os.terminal_size((COLUMNS, 8)))
    return screen


def found(severity: Severity, says: str) -> AuditFinding:
    return AuditFinding(severity, "what", says, Enclosure.exact(1), "exact")


def test_findings_are_shown_worst_first_above_a_bar_with_the_time_left(terminal):
    with Working("auditing") as shown:
        shown.show(found(Severity.NOTE, "a note"))
        shown.show(found(Severity.PROBLEM, "a problem"))
        shown.advance(AuditProgress(10, 40, 15.0, 60.0, ("rays",)))
        first, second, standing = terminal.shown
    assert first == "PROBLEM  a problem" and second == "NOTE     a note"
    assert re.fullmatch(r"auditing ━{5}─{15}  25 %  about 45 s left · 10 of 40: rays", standing), (
        standing
    )
    assert terminal.shown == []  # gone in the end


def test_no_line_is_wider_than_the_terminal_and_all_fit_on_it(terminal):
    with Working("auditing") as shown:
        for k in range(20):
            shown.show(found(Severity.WARNING, f"{k} " + "long " * 30))
        shown.advance(
            AuditProgress(1, 97, 2.0, 60.0, ("some-fact-with-a-name", "adversarial-robustness"))
        )
        assert max(map(len, terminal.shown)) < COLUMNS and len(terminal.shown) == 7


def test_names_from_a_file_cannot_move_the_cursor(terminal):
    with Working("auditing") as shown:
        shown.show(found(Severity.NOTE, "class \x1b[2Jx is rare"))
        assert "\x1b[2J" not in "".join(terminal.shown) and "is rare" in terminal.shown[0]


def test_nothing_is_written_where_standard_error_is_no_terminal(monkeypatch):
    pipe = io.StringIO()
    monkeypatch.setattr(working.sys, "stderr", pipe)
    with Working("auditing") as shown:
        shown.show(found(Severity.PROBLEM, "a problem"))
        shown.advance(AuditProgress(10, 40, 15.0, 60.0))
    assert pipe.getvalue() == ""


@max_examples(50)
@given(st.integers(0, 90), st.integers(1, 90), st.floats(0, 1e4), st.none() | st.floats(0.1, 1e4))
def test_the_time_left_is_that_of_the_pace_and_never_beyond_the_budget(done, rest, seconds, budget):
    progress = AuditProgress(done, done + rest, seconds, budget)
    left = progress.seconds_left
    assert 0 <= progress.share <= 1
    if left is None:
        assert seconds == 0 or (done == 0 and budget is None)
        return
    assert left >= 0
    if budget is not None:
        assert left <= max(0.0, budget - seconds) * (1 + 1e-9) + 1e-9
    if done:
        assert left <= seconds / done * rest * (1 + 1e-9) + 1e-9
