"""Which cells are handed out next, how many at a time, and what becomes of those whose worker died."""

from array import array
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence

from .grid import Grid
from .trains import Train

TASK_SECONDS = 0.2  # of work in a task of cells that are done one by one
LARGEST = 256  # cells in a task


class Schedule:
    """Places of the grid that are still to be done. Nothing here touches a result: only who is asked, and when."""

    def __init__(self, train: Train, grid: Grid, pending: Iterable[int], retries: int) -> None:
        self.retries = retries
        self._attempts: Counter[int] = Counter()
        # one by one, so that a cell that kills its worker kills no others
        self._again: deque[int] = deque()
        self._groups = deque(_groups(train, grid, pending))
        self._many = len(self._groups)
        self.left = sum(map(len, self._groups))
        self._at = 0
        self._seconds = 0.0
        self._timed = 0

    def __bool__(self) -> bool:
        return bool(self._again or self._groups)

    def next(self, workers: int) -> Sequence[int]:
        """The places of the next task."""
        if self._again:
            return [self._again.popleft()]
        group = self._groups[0]
        taken = group[self._at : self._at + self._size(len(group), workers)]
        self._at += len(taken)
        self.left -= len(taken)
        if self._at >= len(group):
            self._groups.popleft()
            self._at = 0
        return taken

    def _size(self, group: int, workers: int) -> int:
        """A whole group where there are many, since each costs a compilation; else a share that keeps all busy."""
        if self._many > 1 and self._many >= 4 * workers:
            return min(group, LARGEST)
        share = max(1, min(LARGEST, -(-self.left // (4 * workers))))
        if not self._timed:
            return min(share, 16)
        return max(1, min(share, int(TASK_SECONDS * self._timed / max(self._seconds, 1e-9))))

    def record_time(self, seconds: float) -> None:
        """A cell took so long."""
        self._seconds, self._timed = self._seconds + seconds, self._timed + 1

    def back(self, places: Iterable[int]) -> None:
        """These are to be done again; nobody is to blame."""
        self._again.extend(places)

    def record_death(self, place: int) -> bool:
        """A worker died on this cell: whether it is tried again."""
        self._attempts[place] += 1
        if self._attempts[place] > self.retries:
            return False
        self._again.append(place)
        return True

    def attempts(self, place: int) -> int:
        """How often it was tried, this time included."""
        return self._attempts[place] + 1


def _groups(train: Train, grid: Grid, pending: Iterable[int]) -> list[Sequence[int]]:
    """Pending places by what can be done together, in the order of the grid; eight bytes per cell."""
    found: dict[Hashable, array] = {}
    seeds = len(grid.seeds)
    last = -1
    kind = None
    for place in pending:
        if place // seeds != last:  # the seeds of one setting stay together
            last = place // seeds
            kind = train.group(grid.setting(last))
        found.setdefault(kind, array("q")).append(place)
    return list(found.values())
