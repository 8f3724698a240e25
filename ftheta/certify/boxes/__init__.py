"""Verification by splitting boxes of inputs: zonotopes with outward rounding, for networks of few inputs.

`search_inputs` gives each thread a share of the open boxes; a compiled search goes on with it for some thousand boxes
and hands back what is left.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ftheta.certify.questions import Case
from ftheta.certify.searches import Search
from ftheta.relu.network import ReluNetwork

from .arrays import Net, Rows, allocate, net_arrays, row_arrays
from .search import FOUND, FULL, PAUSED, search_boxes

CHUNK = 1000  # boxes that a thread looks at before it shares what is left
SHORT = 32  # the same where boxes can be decided by other means: at first, and while that goes well
DEPTH = 512  # boxes that a thread has room for at first
FINISHING = 0.15  # of the time, for attempts at boxes by other means that fail
FIRST_MARGIN = 1e-13  # by how much a point must meet the rows after one that met them only in float64 was refused

Finish = Callable[[np.ndarray, np.ndarray], bool | np.ndarray]
"""Decides a box by other means: True if it is closed, a point that was accepted, False if that is not known."""


@dataclass
class _Pool:
    """Boxes that no thread has taken, and what has become of the others."""

    boxes: list[np.ndarray]
    propose: Callable[[np.ndarray], bool]
    ends: float
    finish: Finish | None = None
    began: float = field(default_factory=time.perf_counter)
    finishing: float = 0.0
    chunk: int = CHUNK
    working: int = 0
    looked_at: int = 0
    stuck: int = 0
    margin: float = 0.0
    found: np.ndarray | None = None
    error: BaseException | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def is_over(self) -> bool:
        done = not self.boxes and self.working == 0
        return done or self.found is not None or self.error is not None or time.perf_counter() >= self.ends

    def take(self) -> np.ndarray | None:
        """The newest box, or None when the search is over."""
        with self.changed:
            while not self.is_over:
                if self.boxes:
                    self.working += 1
                    return self.boxes.pop()
                self.changed.wait(0.05)
            self.changed.notify_all()
            return None

    def give_back(self, left: Sequence[np.ndarray], looked_at: int, stuck: int) -> None:
        with self.changed:
            self.boxes += left
            self.looked_at += looked_at
            self.stuck += stuck
            self.working -= 1
            self.changed.notify_all()

    def finish_boxes(self, boxes: list[np.ndarray]) -> list[np.ndarray]:
        """Boxes that are left after the smallest ones were decided by other means, while these are able to."""
        left = list(boxes)
        while self.finish is not None and left:
            begun = time.perf_counter()
            if self.finishing > FINISHING * (begun - self.began):
                break
            answer = self.finish(left[-1][0], left[-1][1])
            if answer is False:
                self.finishing += time.perf_counter() - begun
                break
            if answer is not True:
                self.found = answer
                break
            left.pop()
            self.chunk = min(self.chunk, SHORT)
        return left

    def ask(self, point: np.ndarray) -> None:
        """Propose a point; if it only looked like a counter-example, the next one must look better."""
        with self.changed:
            if self.found is None and self.propose(point):
                self.found = point
            self.margin = max(FIRST_MARGIN, 10 * self.margin)


def search_inputs(
    net: ReluNetwork,
    case: Case,
    *,
    seconds: float,
    propose: Callable[[np.ndarray], bool],
    finish: Finish | None = None,
    threads: int = 1,
) -> Search:
    """Search the box of a case for a counter-example, by bisecting it.

    `propose(point)` decides exactly whether a point is one, `finish(lo, hi)` is asked about small boxes. The search
    ends when a counter-example is found, when every box is closed, or after so many `seconds`.
    """
    box = np.array(case.box.outer(), np.float64)
    arrays = net_arrays(net)
    rows = row_arrays(case.unsafe, net.widths[0], net.widths[-1])
    _compile(arrays, rows)
    pool = _Pool([box], propose, time.perf_counter() + seconds, finish, chunk=CHUNK if finish is None else SHORT)
    helpers = [threading.Thread(target=_work, args=(pool, arrays, rows), daemon=True) for _ in range(threads - 1)]
    for helper in helpers:
        helper.start()
    _work(pool, arrays, rows)
    for helper in helpers:
        helper.join()
    if pool.error is not None:
        raise pool.error
    left = len(pool.boxes) + pool.stuck
    closed = pool.found is None and left == 0
    return Search(closed, pool.found, 0.0 if closed else -np.inf, pool.looked_at, left)


def _compile(net: Net, rows: Rows) -> None:
    """Search nothing, so that compiling does not count against the time."""
    nothing = np.empty((0, int(net.widths[0])))
    search_boxes(net, rows, *allocate(net, rows), nothing, nothing, 0, 0, 0.0, np.empty(0), np.zeros(2, np.int64))


def _work(pool: _Pool, net: Net, rows: Rows) -> None:
    """What one thread does: take a box, search below it for a while, give back what is left."""
    scratch = allocate(net, rows)
    inputs = int(net.widths[0])
    lower = np.empty((DEPTH, inputs))
    upper = np.empty((DEPTH, inputs))
    witness = np.empty(inputs)
    while (box := pool.take()) is not None:
        counts = np.zeros(2, np.int64)
        left = [box]
        try:
            lower[0] = box[0]
            upper[0] = box[1]
            steps = pool.chunk
            status, top = search_boxes(net, rows, *scratch, lower, upper, 1, steps, pool.margin, witness, counts)
            left = [np.stack([lower[k], upper[k]]) for k in range(top)]
            pool.chunk = min(2 * steps, CHUNK)
            if counts[1] and pool.finish is not None and steps > 1:  # it went too deep: once more, in shorter turns
                pool.chunk = min(SHORT, max(1, steps // 4))
                left = [box]
                counts[1] = 0
                status = PAUSED
            if status == FOUND:
                pool.ask(witness.copy())
            elif status == FULL:
                lower = np.concatenate([lower, np.empty_like(lower)])
                upper = np.concatenate([upper, np.empty_like(upper)])
            else:
                left = pool.finish_boxes(left)
        except BaseException as error:
            pool.error = error
        finally:
            pool.give_back(left, int(counts[0]), int(counts[1]))
