"""A theorem as a worker runs it: it says what it is at, and makes a built-in subject once for the same knobs."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from ftheta.logic import Hypothesis, Theorem

_KEPT = 8
_subjects: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


def with_stages(theorem: Theorem, say: Callable[[str], None]) -> Theorem:
    """The same theorem; `say` hears the name of each stage as it begins."""

    def told(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)  # the knobs are read off the signature
        def telling(*arguments: Any, **knobs: Any) -> Any:
            say(stage)
            return function(*arguments, **knobs)

        return telling

    def announce_check(hypothesis: Hypothesis) -> Hypothesis:
        return replace(hypothesis, check=told(f"hypothesis: {hypothesis.name}", hypothesis.check))

    control = theorem.breaks_on
    return replace(
        theorem,
        on=told("making the subject", with_memory(theorem.on)),
        breaks_on=told("making the negative control", with_memory(control))
        if callable(control)
        else control,
        assumes=tuple(announce_check(h) for h in theorem.assumes),
        measure=told("gathering the evidence", theorem.measure),
    )


def with_memory(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same maker of subjects, which hands out the last few again: while a slider of the measurement moves, the
    subject stays, and with it what it knows of itself."""

    @wraps(make)
    def made(rng: np.random.Generator, **knobs: Any) -> Any:
        key = (
            make.__module__,
            make.__qualname__,
            str(rng.bit_generator.state),
            *sorted(knobs.items()),
        )
        if key not in _subjects:
            _subjects[key] = make(rng, **knobs)
            if len(_subjects) > _KEPT:
                _subjects.popitem(last=False)
        _subjects.move_to_end(key)
        return _subjects[key]

    return made
