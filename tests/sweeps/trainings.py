"""Functions that the tests sweep; importable, so that worker processes can."""

import math
import os
import signal
import time
from pathlib import Path

import numpy as np


def wave(seed, a, b=0.0):
    """Numbers whose bits would show any difference."""
    rng = np.random.default_rng([seed, int(a * 1000)])
    draws = rng.normal(size=100)
    return {
        "mean": draws.mean() * math.sin(a) + b,
        "high": bool(draws.max() > 2.5),
        "word": f"a{a}",
        "draws": draws[:3],
    }


def slow(seed, a, log, pause=0.02):
    """As `wave`, taking its time and writing down when it begins."""
    with Path(log).open("a") as file:
        file.write(f"{a} {seed}\n")
    time.sleep(pause)
    return wave(seed, a)


def moody(seed, a):
    if a == 1:
        raise ValueError("one is not welcome")
    if a == 2:
        return {"value": float("nan")}
    if a == 3:
        return object()
    if a == 4:
        raise SystemExit(3)
    return {"value": float("inf") if a == 5 else 1.5 * a}


def deadly(seed, a, marks):
    """The cell a = 1 kills its process each time; a = 2 only the first time."""
    mark = Path(marks) / f"{a}-{seed}"
    if a == 1 or (a == 2 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return a * 10.0


def crowded(seed, a):
    """Results that differ from cell to cell, in number and order."""
    return {"late": 1, "early": 2} if a else {"early": 3, "x": 4, "late": 5}


def tiny(seed, a):
    return a + seed


def made(seed, n=8, slope=1.0):
    """Data of a seed, for networks."""
    rng = np.random.default_rng([seed, 7])
    x = rng.normal(size=(n, 2))
    return x, slope * x[:, :1], x[:4] + 1, slope * x[:4, :1]
