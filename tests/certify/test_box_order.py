"""Threads that share the boxes of one search keep the order of one thread."""

import numpy as np

from ftheta.certify.boxes import _Part, _Pool


def part(lo: float, hi: float) -> _Part:
    return _Part(np.array([lo]), np.array([hi]), np.zeros(0, np.int8))


def pool_of(*parts: _Part) -> _Pool:
    pool = _Pool([part(0, 4)], lambda _: False, lambda *_: None, np.array([0.0]), ends=np.inf)
    root = pool.take()
    pool.give_back(root, parts, 1, 0)
    pool.threads = 2
    return pool


def lows(parts: list[_Part]) -> list[float]:
    return [float(each.lo[0]) for each in parts]


def test_what_is_given_back_stands_where_it_stood() -> None:
    """The last part comes first. Whoever gives back later has not, for that, what comes first."""
    pool = pool_of(*(part(k, k + 1) for k in range(4)))
    first, second = pool.take(), pool.take()
    assert lows(first) == [1, 3] and lows(second) == [0, 2]
    pool.give_back(first, [first[0], part(3, 3.5), part(3.5, 4)], 1, 0)
    pool.give_back(second, [second[0], part(2, 2.5), part(2.5, 3)], 1, 0)
    assert lows(pool.boxes) == [0, 1, 2, 2.5, 3, 3.5]


def test_parts_of_parts_keep_their_place_too() -> None:
    pool = pool_of(part(0, 2), part(2, 4))
    for _ in range(6):
        first, second = pool.take(), pool.take()
        shares = [second, first]
        for (
            share
        ) in shares:  # each halves the part that it looks at first, and the other order is as good
            *kept, last = share
            lo, hi = float(last.lo[0]), float(last.hi[0])
            halves = [part(lo, (lo + hi) / 2), part((lo + hi) / 2, hi)]
            pool.give_back(share, [*kept, *halves], 1, 0)
        assert lows(pool.boxes) == sorted(lows(pool.boxes))


def test_a_share_that_is_given_back_as_it_was_is_all_there() -> None:
    pool = pool_of(*(part(k, k + 1) for k in range(3)))
    first, second = pool.take(), pool.take()
    pool.give_back(first, first, 0, 0)
    pool.give_back(second, [], 1, 0)
    assert lows(pool.boxes) == lows(first)
