"""Facts that misbehave, for workers to perform: they are found by the name of this module."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from ftheta.auditing.part import Part
from ftheta.auditing.plan import Task
from ftheta.logic import (
    Enclosure,
    Evidence,
    Fact,
    Finding,
    Identity,
    SubjectError,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.processes import compilation
from ftheta.subjects import Network


def task(name: str) -> Task:
    return Task(name, "kind", __name__, name, (name, "kind"), is_fact=True)


def quick(net, rng):
    return Part((Fact("drawn", Enclosure.equal(float(rng.normal())), net.name),))


def slow(net, rng):
    time.sleep(3600)


def slow_once(net, rng):
    """Hangs, but not if it is tried again."""
    flag = Path(os.environ["PLANTED_FLAG"])
    if not flag.exists():
        flag.touch()
        time.sleep(3600)
    return Part((Fact("at last", "done"),))


def slow_but_sure(net, rng):
    """Takes three seconds of its own time, and leaves a mark whenever it begins."""
    with Path(os.environ["PLANTED_FLAG"]).open("a") as marks:
        marks.write("|")
    begun = time.process_time()
    while time.process_time() - begun < 3:
        sum(range(1000))
    return Part((Fact("at last", "done"),))


def busy(net, rng):
    while True:
        sum(range(1000))


class _Lingering:
    """Python drops an exception that is raised while such an object is destroyed."""

    def __del__(self) -> None:
        _work(0.8)


def lingers(net, rng):
    _Lingering()
    _work(10)
    return quick(net, rng)


def _work(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def waits(net, rng):
    """Says that it has begun, then waits for ever."""
    Path(os.environ["PLANTED_FLAG"]).touch()
    time.sleep(3600)


def dies(net, rng):
    os.kill(os.getpid(), signal.SIGKILL)


def greedy(net, rng):
    bytearray(1 << 45)


def talks(net, rng):
    print("a line on standard output")
    sys.stdout.flush()
    os.write(1, b"and bytes behind its back")
    return quick(net, rng)


def faulty(net, rng):
    raise ZeroDivisionError("by zero")


def refuses(net, rng):
    raise SubjectError("It does not apply.", got="this", remedy="give that")


def mark() -> None:
    """Leave the number of this process."""
    with Path(os.environ["PLANTED_FLAG"]).open("a") as marks:
        marks.write(f"{os.getpid()}\n")


@hypothesis("it is looked at", remedy="none")
def marked(net: Network) -> Finding:
    mark()
    return Finding.proved("it was", "a mark is left")


@theorem(title="planted", sources=(), on=lambda rng: None, assumes=(marked,))
def looks(net: Network, rng: np.random.Generator) -> Evidence:
    """A theorem that leaves a mark whenever its hypothesis is evaluated."""
    return Evidence(claims=(Identity("nothing", Enclosure.exact(0), Enclosure.exact(0)),))


def __getattr__(name: str) -> Network:
    """`read` is a network that leaves a mark whenever it is read."""
    if name != "read":
        raise AttributeError(name)
    mark()
    return Network.described(random_mlp(np.random.default_rng(0), (2, 3, 1)), "read")


LOADING = 2.0


def loaded_slowly():
    time.sleep(LOADING)
    return None


class Doubles:
    """`apply` of a network with something in it."""

    def __init__(self, part) -> None:
        self.part = part

    def __call__(self, params, x):
        return 2 * x


def compiles(net, rng):
    """A kernel is compiled for longer than the audit may take."""
    with compilation.while_compiling():
        time.sleep(2)
    return quick(net, rng)
