"""The jobs a worker can do. Each takes the header of the order and returns the header and the body of the reply."""

import gc
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from ftheta.catalogue import index, theorem
from ftheta.languages import speaking
from ftheta.logic import Result
from ftheta.processes.resources import limit_memory
from ftheta.running import run
from ftheta.subjects import Subject

from .answers import answer
from .exports import export
from .protocol import BREAKER, Size, State
from .reading import facts_of, subject_of
from .stages import with_stages
from .thumbnails import thumbnail
from .workers import KEPT

Order: TypeAlias = dict[str, Any]
Reply: TypeAlias = tuple[dict[str, Any], bytes]
Say: TypeAlias = Callable[[str], None]

ROOM = 4 << 30  # bytes of memory that reading a file may take

_results: OrderedDict[str, Result] = OrderedDict()


def warm_up() -> Iterator[None]:
    """Imports and first calls, one at a time, so that a job can come between any two of them."""
    for id in index():
        with suppress(Exception):  # whoever asks for this theorem is told
            theorem(id)
        yield
    gc.collect()
    gc.freeze()  # what was imported stays: the collector need not look at it again in the midst of a slider's move


def do(order: Order, say: Say) -> Reply:
    """Do what is asked; `say` tells the stage the work is at."""
    return _JOBS[order["kind"]](order, say)


def _run(order: Order, say: Say) -> Reply:
    began = time.perf_counter()
    state = State.model_validate(order["state"])
    result = _results.get(state.key) or _result(state, order["source"], say)
    say("charts")
    seconds = time.perf_counter() - began
    drawn = partial(answer, result, order["n"], seconds, dark=state.dark, front=state.chart)
    with speaking(state.lang):
        bodies = [drawn(size=size and Size.model_validate(size)) for size in order["sizes"]]
    parts = [
        {"size": size, "length": len(body)}
        for size, body in zip(order["sizes"], bodies, strict=True)
    ]
    return {"kind": "done", "parts": parts}, b"".join(bodies)


def _export(order: Order, say: Say) -> Reply:
    state = State.model_validate(order["state"])
    format = order["format"]
    result = _results.get(state.key) or _result(state, order["source"], say)
    say("drawing")
    with speaking(state.lang):
        return {"kind": "done"}, export(result, format, state.chart)


def _thumbnail(order: Order, say: Say) -> Reply:
    result = run(theorem(order["theorem"]))
    return {"kind": "done", "verdict": result.verdict.value}, thumbnail(result).encode()


def _read(order: Order, say: Say) -> Reply:
    """Read a subject for the first time, in so much memory and no more."""
    with limit_memory(ROOM):
        subject = subject_of(order["source"])
    return {"kind": "done", "type": type(subject).__name__, "facts": facts_of(subject)}, b""


def _result(state: State, source: dict[str, str] | None, say: Say) -> Result:
    chosen = theorem(state.theorem)
    subject = None if source is None else subject_of(source, chosen.takes)
    result = run(
        with_stages(chosen, say),
        subject,
        seed=state.seed,
        force=state.force,
        breaker=state.subject == BREAKER,
        preset=state.preset,
        **_applicable(state, subject),
    )
    # the same state has the same result: another chart of it, or a file, needs no run
    _results[state.key] = result
    if len(_results) > KEPT:
        _results.popitem(last=False)
    return result


def _applicable(state: State, subject: Subject | None) -> dict[str, Any]:
    """The knobs; without those that shape the built-in subject where another one takes its place."""
    idle = theorem(state.theorem).subject_settings if subject is not None else ()
    return {name: value for name, value in state.knobs.items() if name not in idle}


_JOBS: dict[str, Callable[[Order, Say], Reply]] = {
    "run": _run,
    "export": _export,
    "thumbnail": _thumbnail,
    "read": _read,
}
