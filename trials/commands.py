"""Command lines and sweep documents that nobody meant: each is done, or refused in our own words, not exit code 70."""

import contextlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from . import Trial

INTERNAL = 70
MOST_CELLS = 500  # of a sweep that happens to be all right
HOPELESS: tuple[str, ...] = (
    "", " ", "0", "-1", "1e308", "1e-320", "nan", "inf", "9" * 5000, "0x" + "f" * 5000, "x" * 300, "x/" * 3000,
    "\udcff", "\udcff.npz", "²", "٣", "\x01", "a\nb", "[]", "{}", "[1]", "[" * 5000, "(" * 5000, "true", "null", "--",
    "-", "/", ".", "..", "/proc/self/mem", "/proc/x.npz", "/dev/null", "no/such/file.npz", "a.onnx", "math:pi",
    "math:nope", ":", "a:", ":b", ".:.", "sin(", "1/0", "x**x**x", "x+" * 400 + "x", "=", ",", ";", "0,1,2", "a=1",
    "x=nan", "θ", "\u202e",
)  # fmt: skip
LINES: tuple[tuple[str, ...], ...] = (
    ("list",),
    ("list", "--chapter", "optimisation", "--json"),
    ("show", "gd-strongly-convex"),
    ("check", "gd-strongly-convex", "--kappa", "10", "--steps", "5", "--json"),
    ("check", "gd-strongly-convex", "--preset", "textbook", "--seed", "3"),
    ("check", "lipschitz-bounds", "--on", "no.npz", "--with-data", "digits-test"),
    ("graph", "x*y + 1", "--at", "x=1,y=2"),
    (
        "pieces",
        "no.npz",
        "--box=-1,1",
        "--max-seconds",
        "0.1",
        "--through",
        "0,1",
        "--colour",
        "slope",
    ),
    (
        "fit",
        "no.npz",
        "--widths",
        "3",
        "--steps",
        "1",
        "--step",
        "0.1",
        "--batch",
        "5",
        "--checkpoint",
        "run.npz",
    ),
    (
        "approximate",
        "x",
        "--box",
        "0,1",
        "--eps",
        "0.5",
        "--seconds",
        "0.1",
        "--neurons",
        "3",
        "--out",
        "net.npz",
    ),
    (
        "audit",
        "no.npz",
        "--budget",
        "1s",
        "--only",
        "activations",
        "--seed",
        "1",
        "--out",
        "page.html",
    ),
    (
        "sweep",
        "trials.commands:cell",
        "--grid",
        "a=1,2",
        "--seeds",
        "2",
        "--store",
        "runs.db",
        "--out",
        "t.csv",
    ),
    ("sweep", "--status", "--store", "runs.db"),
    ("doctor", "--json"),
)
DOCUMENTS: tuple[str, ...] = (
    "train = 'trials.commands:cell'\nseeds = 2\nversion = 'b'\n[grid]\na = [1, 2, 3]\nb = ['x', 'y']\n",
    "train = 'trials.commands:cell'\nseeds = [0, 5]\n[[grid]]\na = 1\n[[grid]]\na = 2\nb = 0.5\n",
    "seeds = 1\n[networks]\ndata = 'xor'\nwidths = [3]\nsteps = 1\nloss = 'squared'\n[grid]\nstep = [0.1, 0.2]\n",
    "[networks]\ndata = 'xor'\ntest = 'xor'\nrows = 4\nnoise = 0.1\nkeep = true\n[grid]\nwidths = ['2-2', 3]\n",
)
VALUES: tuple[str, ...] = (
    "true", "0", "-1", "1.5", "nan", "-inf", "1e400", "9" * 5000, "0x" + "f" * 4000, "10000000000", "''", "'x'", "[]",
    "[[]]", "[1]", "[true]", "{}", "{a = 1}", "[{a = 1}]", "2024-01-01", "12:00:00", "'\\u0000'", '"\\ud800"',
    '"\\u0000"', f"'{'x' * 300}'", "[" * 3000 + "]" * 3000, "'trials.commands:absent'", "'math:sin'", "'no.npz'",
    "['relu', 1]", "[0.1, 'a']",
)  # fmt: skip


def cell(seed: int, a: Any = 0, b: Any = 0) -> dict[str, Any]:
    """A cell that is always all right."""
    return {"value": 1.0}


class Inline:
    """In the place of worker processes: every cell has a result, none is computed."""

    note = ""
    size = 1

    def __init__(self, size: int | None = None) -> None:
        from ftheta.sweeps import Pool

        Pool(size)  # what it refuses is refused here too
        self._events: list[Any] = []
        self._cells = 0

    def room(self) -> bool:
        return not self._events

    def submit(self, payload: Any, task: int, cells: list[Any]) -> None:
        from ftheta.sweeps.pool import Event
        from ftheta.sweeps.store import Outcome

        self._cells += len(cells)
        if self._cells > MOST_CELLS:
            raise KeyboardInterrupt
        self._events = [
            Event("cell", task, i, Outcome({"value": 1.0}, None, 0.0)) for i in range(len(cells))
        ]
        self._events.append(Event("end", task))

    def events(self, timeout: float) -> list[Any]:
        found = self._events
        self._events = []
        return found

    def stop(self) -> None:
        self._events = []


def outcome(words: list[str], files: dict[str, bytes]) -> str | None:
    """Run the line in a folder with these files; what is wrong with its end, if anything."""
    from ftheta.cli import run

    out = io.StringIO()
    err = io.StringIO()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        os.chdir(folder)
        try:
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
                mock.patch("ftheta.sweeps.sweeping.Pool", Inline),
            ):
                code = run(words)
        finally:
            os.chdir(before)
    told = err.getvalue() + out.getvalue()
    if code == INTERNAL or "Traceback" in told or "Internal error" in told:
        return f"{[word[:60] for word in words]} with {[text[:120] for text in files.values()]}: {told[-400:]!r}"
    return None


def attempt_line(rng: np.random.Generator) -> str | None:
    words = list(LINES[rng.integers(len(LINES))])
    for _ in range(rng.integers(1, 3)):
        place = int(rng.integers(1, len(words) + 1))
        change = rng.random()
        if change < 0.7 and place < len(words):
            words[place] = HOPELESS[rng.integers(len(HOPELESS))]
        elif change < 0.85:
            words.insert(place, HOPELESS[rng.integers(len(HOPELESS))])
        elif place < len(words):
            del words[place]
    return outcome(words, {})


def attempt_document(rng: np.random.Generator) -> str | None:
    lines = DOCUMENTS[rng.integers(len(DOCUMENTS))].splitlines()
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(lines)))
        name, equals, _ = lines[place].partition(" = ")
        change = rng.random()
        if change < 0.6 and equals:
            lines[place] = f"{name} = {VALUES[rng.integers(len(VALUES))]}"
        elif change < 0.75:
            lines.insert(
                place, f"{PARTS[rng.integers(len(PARTS))]} = {VALUES[rng.integers(len(VALUES))]}"
            )
        elif change < 0.85 and len(lines) > 1:
            del lines[place]
        else:
            lines[place] = _scrambled(lines[place], rng)
    text = "\n".join(lines).encode(errors="surrogatepass")
    return outcome(["sweep", "it.toml", "--store", "runs.db", "--json"], {"it.toml": text})


PARTS = (
    "train",
    "networks",
    "grid",
    "seeds",
    "version",
    "a",
    "data",
    "widths",
    "steps",
    "seed",
    "_x",
    "networks.data",
)


def _scrambled(line: str, rng: np.random.Generator) -> str:
    letters = list(line) or [" "]
    for _ in range(rng.integers(1, 4)):
        letters[rng.integers(len(letters))] = chr(rng.integers(1, 0x250))
    return "".join(letters)


def attempt_store(rng: np.random.Generator) -> str | None:
    """A store with bytes of its file changed, asked for its status and swept again."""
    words = ["sweep", "it.toml", "--store", "runs.db", "--json"]
    files = {"it.toml": DOCUMENTS[0].encode()}
    content = bytearray(_store())
    for _ in range(rng.integers(1, 8)):
        content[rng.integers(len(content))] = rng.integers(256)
    if rng.random() < 0.3:
        del content[rng.integers(len(content)) :]
    files["runs.db"] = bytes(content)
    return outcome(["sweep", "--status", "--store", "runs.db"], files) or outcome(words, files)


def _store() -> bytes:
    """The file of a finished sweep."""
    from ftheta.sweeps import Grid, Store
    from ftheta.sweeps.store import Outcome

    grid = Grid({"a": [1, 2, 3], "b": ["x", (1, 2)]}, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        with Store(path) as store:
            study = store.study("digest", "name", {"about": 1}, grid.names)
            results = {"value": 1.0, "flag": True, "array": np.arange(4.0)}
            study.commit(
                [(grid.key(i), grid[i], Outcome(results, None, 0.1)) for i in range(len(grid))]
            )
        return path.read_bytes()


TRIALS = (
    Trial("commands: hopeless lines", "exit code 70, or a traceback", attempt_line, few=12),
    Trial(
        "commands: damaged sweep documents",
        "exit code 70, or a traceback",
        attempt_document,
        few=25,
    ),
    Trial("commands: damaged run stores", "exit code 70, or a traceback", attempt_store, few=8),
)
