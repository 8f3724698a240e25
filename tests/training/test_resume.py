"""A run that was cut, interrupted or killed and then resumed is the uninterrupted run, bit for bit."""

import os
import signal
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import numpy as np
import optax
import pytest

from ftheta.logic import SubjectError, UsageError
from ftheta.training import Batches, Checkpoint, Fit, Stop, fit
from ftheta.training.progress import Line, draw_bar
from ftheta.training.run import _Run

from .problems import linear, mlp, regression, same_bits

HOW = {"step": 0.01, "batch": Batches(7), "seed": 5}


def equal_runs(one: Fit, other: Fit) -> bool:
    histories = (one.history.arrays(), other.history.arrays())
    states = (one._saved.state, other._saved.state)
    return one.steps == other.steps and same_bits(*states) and same_bits(*histories)


def cut(monkeypatch, *lengths: int) -> None:
    """Chunks of these lengths, over and over."""
    turns = cycle(lengths)
    usual = _Run._length
    monkeypatch.setattr(_Run, "_length", lambda self: min(next(turns), usual(self)))


@pytest.fixture(scope="module")
def whole() -> Fit:
    return fit(mlp(), regression(), steps=60, **HOW)


@pytest.mark.parametrize("lengths", [(1,), (2, 5, 1), (8, 3)])
def test_no_bit_depends_on_the_chunks(whole, monkeypatch, lengths):
    cut(monkeypatch, *lengths)
    assert equal_runs(fit(mlp(), regression(), steps=60, **HOW), whole)


@pytest.mark.parametrize("at", [0, 1, 8, 31, 60])
def test_resuming_from_a_file_continues_bit_for_bit(whole, tmp_path, at):
    place = tmp_path / "run.npz"
    fit(mlp(), regression(), steps=at, checkpoint=place, **HOW)
    resumed = fit(mlp(), regression(), steps=60, checkpoint=place, resume=True, **HOW)
    assert equal_runs(resumed, whole) and resumed.seconds > 0
    again = fit(mlp(), regression(), steps=60, checkpoint=place, resume=True, **HOW)
    assert equal_runs(again, whole)


def test_resuming_in_memory_continues_bit_for_bit(whole):
    part = fit(mlp(), regression(), steps=11, **HOW)
    assert equal_runs(part.resume(40).resume(60), whole)
    with pytest.raises(UsageError, match="further"):
        part.resume(5)


def test_an_optimiser_with_random_keys_resumes_too(tmp_path):
    optimiser = lambda: optax.chain(optax.add_noise(0.1, 0.5, 3), optax.sgd(0.01))
    once = fit((np.ones(3), linear), regression(), "squared", optimiser(), steps=20)
    place = tmp_path / "run.npz"
    fit((np.ones(3), linear), regression(), "squared", optimiser(), steps=9, checkpoint=place)
    twice = fit(
        (np.ones(3), linear),
        regression(),
        "squared",
        optimiser(),
        steps=20,
        checkpoint=place,
        resume=True,
    )
    assert same_bits(once.params, twice.params)


def test_evaluations_and_patience_are_resumed(tmp_path):
    x, y = regression(60)
    how = {
        **HOW,
        "validation": (x[40:], y[40:]),
        "evaluate_every": 4,
        "metrics": {"mean": lambda p, t: p.mean()},
    }
    once = fit(mlp(), (x[:40], y[:40]), steps=50, **how)
    place = tmp_path / "run.npz"
    fit(mlp(), (x[:40], y[:40]), steps=19, checkpoint=place, **how)
    twice = fit(mlp(), (x[:40], y[:40]), steps=50, checkpoint=place, resume=True, **how)
    assert equal_runs(once, twice) and twice.history.evaluated.tolist() == list(range(0, 50, 4))
    assert once._saved.best == twice._saved.best


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from ftheta.training import Checkpoint, fit
from tests.training.problems import mlp, regression
from tests.training.test_resume import HOW
trained = fit(mlp(), regression(), steps={steps}, checkpoint=Checkpoint(Path({place!r}), seconds=0), resume=True, **HOW)
print(trained.steps, trained.interrupted)
"""


def started(place: Path, steps: int) -> subprocess.Popen[str]:
    """Another process at work, with some steps already in its checkpoint."""
    script = SCRIPT.format(root=str(Path(__file__).parents[2]), steps=steps, place=str(place))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120
    while not place.exists() and process.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    return process


def test_a_killed_run_resumes_bit_for_bit(tmp_path):
    place = tmp_path / "run.npz"
    process = started(place, steps=10**9)
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = int(np.load(place)["history.step"][-1]) + 1
    resumed = fit(mlp(), regression(), steps=done + 10, checkpoint=place, resume=True, **HOW)
    assert equal_runs(resumed, fit(mlp(), regression(), steps=done + 10, **HOW))


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_in_another_process_keeps_what_is_done(tmp_path):
    place = tmp_path / "run.npz"
    process = started(place, steps=10**9)
    process.send_signal(signal.SIGINT)
    try:
        steps, interrupted = process.communicate(timeout=60)[0].split()
    finally:
        process.kill()
    assert interrupted == "True" and int(steps) > 0 and process.returncode == 0
    assert len(np.load(place)["history.step"]) == int(steps)


def test_ctrl_c_returns_the_fit_so_far_which_resumes_to_the_same_end(monkeypatch):
    once = fit(mlp(), regression(), steps=60, **HOW)
    usual = Line.now

    def press(self, step, loss, rate):
        if step >= 20:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Line, "now", press)
    cut(monkeypatch, 4)
    part = fit(mlp(), regression(), steps=60, **HOW)
    assert part.interrupted and part.stopped_by == "interrupted" and 20 <= part.steps < 24
    monkeypatch.setattr(Line, "now", usual)
    rest = part.resume()
    assert not rest.interrupted and equal_runs(rest, once)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    place = tmp_path / "run.npz"
    x, y = regression()
    fit(mlp(), (x, y), steps=3, checkpoint=place, **HOW)
    again = {"steps": 6, "checkpoint": place, "resume": True}
    with pytest.raises(UsageError, match="exists"):
        fit(mlp(), (x, y), steps=6, checkpoint=place, **HOW)
    with pytest.raises(UsageError, match="another data"):
        fit(mlp(), (x, y + 1), **again, **HOW)
    with pytest.raises(UsageError, match="another seed"):
        fit(mlp(), (x, y), **again, **{**HOW, "seed": 6})
    with pytest.raises(UsageError, match="another batches"):
        fit(mlp(), (x, y), **again, **{**HOW, "batch": 5})
    with pytest.raises(UsageError, match="another program"):
        fit(mlp(), (x, y), **again, **{**HOW, "step": 0.02})
    with pytest.raises(UsageError, match="another program"):
        fit(mlp(), (x, y), "huber", **again, **HOW)


def test_broken_checkpoints_are_refused(tmp_path):
    place = tmp_path / "run.npz"
    (x, y) = regression()
    again = {"steps": 6, "checkpoint": place, "resume": True, **HOW}
    np.savez(place, W0=np.eye(2))
    with pytest.raises(SubjectError, match="not a checkpoint"):
        fit(mlp(), (x, y), **again)
    place.write_bytes(b"PK nonsense")
    with pytest.raises(SubjectError, match="cannot be read"):
        fit(mlp(), (x, y), **again)
    place.unlink()
    fit(mlp(), (x, y), steps=3, checkpoint=place, **HOW)
    arrays = dict(np.load(place))
    np.savez(place, **(arrays | {"state.0": arrays["state.0"][:1]}))
    with pytest.raises(SubjectError, match="damaged"):
        fit(mlp(), (x, y), **again)
    del arrays["history.loss"]
    np.savez(place, **arrays)
    with pytest.raises(SubjectError, match="damaged"):
        fit(mlp(), (x, y), **again)


def test_checkpoint_arguments_are_checked(tmp_path):
    with pytest.raises(UsageError, match="nothing to resume"):
        fit(mlp(), regression(), steps=1, resume=True)
    with pytest.raises(UsageError, match=r"\.npz"):
        fit(mlp(), regression(), steps=1, checkpoint=tmp_path / "run.pt")
    with pytest.raises(UsageError, match="folder"):
        fit(mlp(), regression(), steps=1, checkpoint=tmp_path / "none" / "run.npz")


def test_a_failed_write_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    place = tmp_path / "run.npz"
    fit(mlp(), regression(), steps=3, checkpoint=place, **HOW)
    before = place.read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(UserWarning, match="not written: no space"):
        done = fit(mlp(), regression(), steps=6, checkpoint=Checkpoint(place), resume=True, **HOW)
    assert done.steps == 6
    assert place.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["run.npz"]


def test_the_line_of_progress_is_for_terminals(capsys):
    fit(mlp(), regression(), steps=3, **HOW)
    assert capsys.readouterr().err == ""
    fit(mlp(), regression(), steps=3, progress=True, stop=Stop(), **HOW)
    assert "compiling" in capsys.readouterr().err
    assert (
        draw_bar(50, 100, 0.125, 25.0)
        == "████████████░░░░░░░░░░░░ 50 of 100 · loss 0.125 · 25 steps/s · 0:02 left"
    )


@pytest.mark.parametrize("path", [5, None, b"run.npz", ["run.npz"]])
def test_a_checkpoint_is_a_file(path):
    with pytest.raises(UsageError, match="is a file"):
        Checkpoint(path)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "30", None, True])
def test_a_checkpoint_is_written_every_so_many_seconds(seconds):
    with pytest.raises(UsageError, match="seconds"):
        Checkpoint("run.npz", seconds)


def test_the_name_of_a_checkpoint_may_be_a_word(tmp_path):
    place = tmp_path / "run.npz"
    fit(mlp(), regression(), steps=2, checkpoint=Checkpoint(str(place), 1), **HOW)
    assert Checkpoint(str(place), 1) == Checkpoint(place, 1) and place.is_file()
    for name in ("x" * 300 + ".npz", "/proc/run.npz", str(tmp_path / "no" / "run.npz")):
        with pytest.raises(UsageError):
            fit(mlp(), regression(), steps=2, checkpoint=name, **HOW)
