"""Who computes the answer to a page: a job of its own, or, in a lecture hall, one job for all who ask the same."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ftheta.logic.knob import Value
from ftheta.processes.caching import cache_folder

from .pool import Pool
from .protocol import BREAKER, BUILT_IN, Run, Size, State
from .subject_store import SubjectStore
from .workers import Job

Header: TypeAlias = dict[str, Any]

LONGEST = 600.0  # seconds that a computation may take
LONGEST_IN_CLASS = 20.0
_ASKED = 1_000  # states, the latest, that tell what a class is looking at
_PACKAGE = Path(__file__).parents[1]
_HEAD = '{"type":"result","n":0,'
_KEPT = 64 << 20  # bytes of answers in memory
_SIZES = 4  # of the charts, that an answer is drawn in at once: the commonest. To draw again costs little
_WIDTHS = (320, 400, 520, 640, 800, 1000, 1200, 1600)
_HEIGHTS = (200, 260, 320, 400, 480, 560, 680, 840)


class AnswerJobs(Protocol):
    """What a tab asks. `longest` are the seconds that a computation may take."""

    longest: float

    def recall(self, run: Run) -> str | None:
        """The message that answers this, if it is known."""
        ...

    def ask(self, run: Run, turn: float) -> Job:
        """Begin to compute it; of those who wait, the one of the earliest turn is next."""
        ...

    def drop(self, job: Job) -> None:
        """The page no longer wants it."""
        ...

    def message(self, run: Run, header: Header, body: bytes) -> str:
        """The answer to this page."""
        ...


def run_job(
    run: Run, store: SubjectStore, turn: float = 0.0, sizes: Sequence[Size | None] = ()
) -> Job:
    """The order for a worker: one result, its charts in the size of the page or in each of these."""
    state = run.state
    order = {
        "kind": "run",
        "n": run.n,
        "state": state.model_dump(),
        "sizes": [size and size.model_dump() for size in sizes or (run.size,)],
        "source": store.source(state.subject),
    }
    return Job(order, state.theorem, state.key, turn=turn)


def answers_by_size(header: Header, body: bytes) -> dict[Size | None, bytes]:
    """The answers of one job, which differ in the size of their charts."""
    found = {}
    begin = 0
    for part in header["parts"]:
        end = begin + part["length"]
        found[part["size"] and Size.model_validate(part["size"])] = body[begin:end]
        begin = end
    return found


class OwnJobs:
    """Every page has its own computations, first come first served: all have the same turn."""

    longest = LONGEST

    def __init__(self, pool: Pool, store: SubjectStore) -> None:
        self.pool = pool
        self.store = store

    def recall(self, run: Run) -> str | None:
        return None

    def ask(self, run: Run, turn: float) -> Job:
        return self.pool.submit(run_job(run, self.store))

    def drop(self, job: Job) -> None:
        self.pool.cancel(job)

    def message(self, run: Run, header: Header, body: bytes) -> str:
        return body.decode()


class SharedJobs:
    """Answers are kept by state, in memory and on disk, and computed once for all who wait for the same one. The page
    that waits longest is next, one whose last computation was long a little later. Charts come in a few sizes, and a
    result is drawn at once in all that pages of this class have, so that many pages ask for the same."""

    longest = LONGEST_IN_CLASS

    def __init__(self, pool: Pool, store: SubjectStore, kept: "KeptAnswers") -> None:
        self.pool = pool
        self.store = store
        self.kept = kept
        self.at_work: dict[str, Job] = {}
        self.waiting: Counter[int] = Counter()  # pages that wait for a job, by its number
        self.sizes: Counter[Size | None] = Counter()
        self.asked: deque[State] = deque(maxlen=_ASKED)
        self.hits = 0
        self.misses = 0

    def recall(self, run: Run) -> str | None:
        common = share(run)
        self.sizes[common.size] += 1
        if not _is_common(common):
            return None
        self.asked.append(common.state)
        body = self.kept.get(_key(common))
        self.hits += body is not None
        return None if body is None else _addressed(run, body)

    def ask(self, run: Run, turn: float) -> Job:
        common = share(run)
        key = _key(common)
        job = self.at_work.get(key) if _is_common(common) else None
        if job is None or job.outcome.done():
            self.misses += 1
            if _is_common(common):
                job = self.pool.submit(self.job_of(common, turn))
                self._share(common, job)
            else:
                job = self.pool.submit(run_job(common, self.store, turn))
        self.waiting[job.number] += 1
        return job

    def job_of(self, common: Run, turn: float = 0.0) -> Job:
        """One computation for pages of all common sizes that have no answer yet."""
        commonest = [size for size, _ in self.sizes.most_common(_SIZES) if size != common.size]
        missing = [size for size in commonest if not self.holds(_sized(common, size))]
        return run_job(common, self.store, turn, [common.size, *missing])

    def _share(self, common: Run, job: Job) -> None:
        """Whoever asks for what this job answers waits for it; the answers are kept."""
        sizes = [size and Size.model_validate(size) for size in job.order["sizes"]]
        keys = [_key(_sized(common, size)) for size in sizes]
        self.at_work.update(dict.fromkeys(keys, job))
        job.outcome.add_done_callback(lambda outcome: self._keep(common, keys, job, outcome))

    def drop(self, job: Job) -> None:
        """Stop it if nobody else waits for it."""
        self.waiting[job.number] -= 1
        if self.waiting[job.number] <= 0:
            del self.waiting[job.number]
            self.pool.cancel(job)

    def message(self, run: Run, header: Header, body: bytes) -> str:
        return _addressed(run, answers_by_size(header, body)[share(run).size])

    def holds(self, run: Run) -> bool:
        """Whether the answer is known already."""
        return self.kept.holds(_key(share(run)))

    def keep(self, run: Run, header: Header, body: bytes) -> None:
        """Keep the answers of a job."""
        common = share(run)
        for size, answer in answers_by_size(header, body).items():
            self.kept.put(_key(_sized(common, size)), answer)

    def _keep(
        self,
        common: Run,
        keys: list[str],
        job: Job,
        outcome: "asyncio.Future[tuple[Header, bytes]]",
    ) -> None:
        for key in keys:
            if self.at_work.get(key) is job:
                del self.at_work[key]
        header, body = outcome.result()
        if header["kind"] == "done":
            self.keep(common, header, body)


def _addressed(run: Run, body: bytes) -> str:
    """A shared answer with the number of this page's request."""
    text = body.decode()
    if not text.startswith(_HEAD):
        return text
    return f'{{"type":"result","n":{run.n},{text.removeprefix(_HEAD)}'


def share(run: Run) -> Run:
    """The same request without what is this page's own: its number, how it writes whole numbers, and a size that only
    few have."""
    size = run.size and Size(
        width=_below(run.size.width, _WIDTHS), height=_below(run.size.height, _HEIGHTS)
    )
    knobs = {name: _plain(value) for name, value in sorted(run.state.knobs.items())}
    state = run.state.model_copy(update={"knobs": knobs})
    return run.model_copy(update={"n": 0, "size": size, "state": state})


def _plain(value: Value) -> Value:
    """50.0 as 50, which is how a browser writes it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sized(run: Run, size: Size | None) -> Run:
    return run.model_copy(update={"size": size})


def _below(length: float, lengths: tuple[int, ...]) -> float:
    return max((each for each in lengths if each <= length), default=length)


def _is_common(run: Run) -> bool:
    """Whether the subject is the same in every lab."""
    return run.state.subject in (BUILT_IN, BREAKER)


def _key(common: Run) -> str:
    return common.model_dump_json(exclude={"type", "n"})


class KeptAnswers:
    """Answers by their keys: the newest in memory, all on disk, in a folder of this very version of the package."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder if folder is not None else cache_folder("classroom", _stamp())
        self.memory: OrderedDict[str, bytes] = OrderedDict()
        self.size = 0

    def get(self, key: str) -> bytes | None:
        body = self.memory.get(key)
        if body is not None:
            self.memory.move_to_end(key)
            return body
        try:
            kept = self._file(key).read_bytes() if self.folder is not None else b""
        except OSError:
            return None
        head, _, body = kept.partition(b"\n")
        if head != sha256(body).hexdigest().encode():  # cut short, or not ours
            return None
        self._remember(key, body)
        return body

    def holds(self, key: str) -> bool:
        """Whether there is an answer; one on disk is not read for that."""
        return key in self.memory or (self.folder is not None and self._file(key).exists())

    def put(self, key: str, body: bytes) -> None:
        self._remember(key, body)
        if self.folder is None:
            return
        path = self._file(key)
        part = path.with_suffix(f".{id(body)}.part")
        try:
            part.write_bytes(sha256(body).hexdigest().encode() + b"\n" + body)
            part.replace(path)
        except OSError:  # a full disk: the class goes on from memory
            part.unlink(missing_ok=True)

    def _remember(self, key: str, body: bytes) -> None:
        self.size += len(body) - len(self.memory.pop(key, b""))
        self.memory[key] = body
        while self.size > _KEPT and len(self.memory) > 1:
            _, oldest = self.memory.popitem(last=False)
            self.size -= len(oldest)

    def _file(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{sha256(key.encode()).hexdigest()}.answer"


def _stamp() -> str:
    """Changes with any source file of the package: an answer of other code is never shown."""
    files = ((p, p.stat()) for p in sorted(_PACKAGE.rglob("*.py")))
    listed = "\n".join(f"{p.relative_to(_PACKAGE)} {s.st_size} {s.st_mtime_ns}" for p, s in files)
    return f"{version('ftheta')}-{sha256(listed.encode()).hexdigest()[:16]}"
