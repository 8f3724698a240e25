"""Verification by splitting boxes of inputs: zonotopes with outward rounding, for networks of few inputs.

An `InputSearch` gives each thread a share of the open boxes; a compiled search goes on with it for a while and hands
back what is left. As long as nothing is compiled, small networks are searched by the same functions uncompiled.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ftheta.certify.ball_parts import FloatBall
from ftheta.certify.loading import is_at_hand, say_that_it_compiles
from ftheta.certify.questions import Case
from ftheta.certify.searches import Search
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork

from .arrays import OFF, Net, Rows, allocate, net_arrays, row_arrays
from .search import FOUND, FULL, LEAF, search_boxes

Finish = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], bool | None]
"""Whether no counter-example is in a part of a box, given by both ends, the fixed signs, and which neurons pass on:
False if one was found, None if neither is known."""

SMALL = 20_000  # steps for the bounds of one part, up to which they are taken uncompiled,
PATIENCE = 1.0  # for so many seconds
CHUNK = 16  # boxes that a thread looks at before it first shares what is left
TURN = 0.03  # seconds that this may take: the number of boxes is made to fit
DEPTH = 512  # boxes that a thread has room for at first
FINEST = 2.0**-40  # of a side of the box: parts that are narrower are not bisected
FIRST_MARGIN = 1e-13  # by how much a point must meet the rows after one that met them only in float64 was refused


@dataclass(frozen=True, eq=False)
class _Part:
    """A box, and the signs of the neurons that are fixed in it; `rank` is its place in the order of the search: one
    thread alone would go on with the highest."""

    lo: np.ndarray
    hi: np.ndarray
    signs: np.ndarray
    rank: tuple[int, ...] = ()

    def is_the_same(self, other: "_Part") -> bool:
        pairs = ((self.lo, other.lo), (self.hi, other.hi), (self.signs, other.signs))
        return all(np.array_equal(a, b) for a, b in pairs)


@dataclass
class _Pool:
    """Parts of the box that none of the threads has taken, and what has become of the others."""

    boxes: list[_Part]
    propose: Callable[[np.ndarray], bool]
    finish: Finish
    finest: np.ndarray
    threads: int = 1
    ends: float = 0.0
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
        return done or self.found is not None or self.error is not None or clock() >= self.ends

    def take(self) -> list[_Part]:
        """An equal share of the parts, large ones and small ones, for each thread that is idle; none when the search is
        over."""
        with self.changed:
            while not self.is_over:
                if self.boxes:
                    idle = self.threads - self.working
                    self.working += 1
                    share = self.boxes[::-1][::idle][::-1]  # the newest one is in it
                    del self.boxes[len(self.boxes) - 1 :: -idle]
                    return share
                self.changed.wait(0.05)
            self.changed.notify_all()
            return []

    def give_back(
        self, parts: Sequence[_Part], left: Sequence[_Part], looked_at: int, stuck: int
    ) -> None:
        """What is `left` of the parts that were taken. They stand where they stood in the order of the search, so that
        two threads find a counter-example no later than one would."""
        with self.changed:
            self.boxes += _ranked(parts, left)
            self.boxes.sort(key=lambda part: part.rank)
            self.looked_at += looked_at
            self.stuck += stuck
            self.working -= 1
            self.changed.notify_all()

    def ask(self, point: np.ndarray) -> None:
        """Propose a point; if it only looked like a counter-example, the next one must look better."""
        with self.changed:
            if self.found is None and self.propose(point):
                self.found = point
            self.margin = max(FIRST_MARGIN, 10 * self.margin)

    def close(self, leaf: _Part, passes: np.ndarray) -> list[_Part]:
        """Decide a part in which all signs are known; what is left of it."""
        with self.changed:
            if self.found is not None:
                return [leaf]
            is_closed = self.finish(leaf.lo, leaf.hi, leaf.signs, passes)
            if is_closed is None:
                return self._halve(leaf)
            if not is_closed:
                self.found = 0.5 * leaf.lo + 0.5 * leaf.hi
            return [] if is_closed else [leaf]

    def _halve(self, part: _Part) -> list[_Part]:
        """Both halves of a part across its longest side; none if it is too small, and counted as stuck."""
        length = part.hi - part.lo
        side = int(np.argmax(np.where(length > self.finest, length, 0.0)))
        middle = 0.5 * part.lo[side] + 0.5 * part.hi[side]
        if not (length[side] > self.finest[side] and part.lo[side] < middle < part.hi[side]):
            self.stuck += 1
            return []
        lower = part.hi.copy()
        upper = part.lo.copy()
        lower[side] = middle
        upper[side] = middle
        return [_Part(part.lo, lower, part.signs), _Part(upper, part.hi, part.signs)]


def _ranked(parts: Sequence[_Part], left: Sequence[_Part]) -> list[_Part]:
    """What is left of `parts`, with ranks: the last ones were searched first, so that what is new comes from the first
    one that has changed."""
    kept = 0
    while kept < min(len(parts), len(left)) and left[kept].is_the_same(parts[kept]):
        kept += 1
    new = left[kept:]
    if not new:
        return list(parts[:kept])
    rank = parts[min(kept, len(parts) - 1)].rank
    return [*parts[:kept], *(replace(part, rank=(*rank, k)) for k, part in enumerate(new))]


class InputSearch:
    """A search of the box of a case for a counter-example, by bisecting it and by fixing signs of neurons.

    `propose(point)` decides exactly whether a point is one, `finish` whether one is in a part of the box with known
    signs.
    """

    def __init__(
        self, net: ReluNetwork, case: Case, propose: Callable[[np.ndarray], bool], finish: Finish
    ) -> None:
        box = np.array(case.box.outer(), np.float64)
        self._box = box
        self._net = net_arrays(net)
        self._rows = row_arrays(case.unsafe, net.widths[0], net.widths[-1])
        self._ball = None if case.ball is None else FloatBall.around(case.ball)
        self._waits = not is_at_hand(search_boxes)
        whole = _Part(box[0], box[1], np.zeros(len(self._net.biases), np.int8))
        self._pool = _Pool([whole], propose, finish, FINEST * (box[1] - box[0]))

    def go_on(self, seconds: float, threads: int = 1) -> Search:
        """Search until one is found, every part is closed, or so many `seconds` are over; what it has come to so far.

        Called again, it goes on with the parts that are open. Where it would have to be compiled first, the first call
        only looks whether it is soon over without that.
        """
        pool = self._pool
        if self._waits:
            self._waits = False
            self._go_on_uncompiled()
        elif pool.boxes and pool.found is None:
            self._go_on_compiled(seconds, threads)
        if pool.error is not None:
            raise pool.error
        left = len(pool.boxes) + pool.stuck
        closed = pool.found is None and left == 0
        return Search(closed, pool.found, 0.0 if closed else -np.inf, pool.looked_at, left)

    def list_open(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The parts of the box that are open, by their ends; the whole box where some were too small to be kept, or a
        thread was interrupted while it took or gave back its share."""
        pool = self._pool
        if pool.stuck or pool.working:
            return [(self._box[0], self._box[1])]
        return [(part.lo, part.hi) for part in pool.boxes]

    def stop(self) -> Search:
        """What an interrupted search has come to: nothing is decided by it."""
        pool = self._pool
        return Search(
            False, None, -np.inf, pool.looked_at, len(pool.boxes) + pool.stuck, interrupted=True
        )

    def compile(self) -> None:
        """Search nothing, so that compiling does not count against the time."""
        if not is_at_hand(search_boxes):
            say_that_it_compiles("the search for counter-examples")
        net = self._net
        nothing = np.empty((0, int(net.widths[0])))
        signs = np.empty((0, len(net.biases)), np.int8)
        scratch = allocate(net, self._rows)
        counts = np.zeros(2, np.int64)
        search_boxes(
            net, self._rows, *scratch, nothing, nothing, signs, 0, np.empty(0), 0, 0.0, np.empty(0), counts
        )  # fmt: skip

    def _go_on_uncompiled(self) -> None:
        """For a moment, if one part takes few enough steps."""
        widths = self._net.widths
        generators = int(widths[0] + self._net.rectified.sum())
        if generators * int((widths[1:] * widths[:-1]).sum()) <= SMALL:
            pool = self._pool
            pool.threads = 1
            pool.ends = clock() + PATIENCE
            with np.errstate(all="ignore"):
                _work(pool, self._net, self._rows, self._ball, search_boxes.py_func)

    def _go_on_compiled(self, seconds: float, threads: int) -> None:
        pool = self._pool
        self.compile()
        pool.threads = max(threads, 1)
        pool.ends = clock() + seconds
        work = (pool, self._net, self._rows, self._ball, search_boxes)
        helpers = [
            threading.Thread(target=_work, args=work, daemon=True) for _ in range(threads - 1)
        ]
        for helper in helpers:
            helper.start()
        try:
            _work(*work)
        except BaseException as error:  # Ctrl-C while it waits for the others: they end, too
            pool.error = error
        for helper in helpers:
            helper.join()


def _work(
    pool: _Pool,
    net: Net,
    rows: Rows,
    ball: FloatBall | None,
    search: Callable[..., tuple[int, int]],
) -> None:
    """What one thread does: take a part, search below it for a while, give back what is left."""
    scratch = allocate(net, rows, ball)
    inputs = int(net.widths[0])
    lower = np.empty((DEPTH, inputs))
    upper = np.empty((DEPTH, inputs))
    signs = np.empty((DEPTH, len(net.biases)), np.int8)
    witness = np.empty(inputs)
    chunk = CHUNK if search is search_boxes else 1
    while parts := pool.take():
        counts = np.zeros(2, np.int64)
        left = parts
        try:
            while len(lower) < len(parts) + DEPTH // 2:
                lower, upper, signs = (
                    np.concatenate([a, np.empty_like(a)]) for a in (lower, upper, signs)
                )
            for k, part in enumerate(parts):
                lower[k] = part.lo
                upper[k] = part.hi
                signs[k] = part.signs
            began = time.perf_counter()
            status, top = search(
                net,
                rows,
                *scratch,
                lower,
                upper,
                signs,
                len(parts),
                pool.finest,
                chunk,
                pool.margin,
                witness,
                counts,
            )
            chunk = _fit_chunk(chunk, int(counts[0]), time.perf_counter() - began)
            left = [_Part(lower[k].copy(), upper[k].copy(), signs[k].copy()) for k in range(top)]
            if status == FOUND:
                pool.ask(witness.copy())
            elif status == LEAF:
                left += pool.close(left.pop(), (scratch[0].lines[0] != OFF) | ~net.rectified)
            elif status == FULL:
                lower, upper, signs = (
                    np.concatenate([a, np.empty_like(a)]) for a in (lower, upper, signs)
                )
        except BaseException as error:
            pool.error = error
            left = parts  # all of them are open again: what was under way may be half done
        finally:
            pool.give_back(parts, left, int(counts[0]), int(counts[1]))


def _fit_chunk(chunk: int, looked_at: int, seconds: float) -> int:
    """How many boxes to look at next, so that it takes about a `TURN`; at most four times as many as before."""
    fitting = looked_at * TURN / max(seconds, 1e-9)
    return max(1, min(4 * chunk, int(fitting)))
