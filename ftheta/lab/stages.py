"""A theorem that says what it is at: its subject, its hypotheses, its evidence."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from ftheta.logic import Hypothesis, Theorem


def staged(theorem: Theorem, say: Callable[[str], None]) -> Theorem:
    """The same theorem; `say` hears the name of each stage as it begins."""

    def told(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)  # the knobs are read off the signature
        def telling(*arguments: Any, **knobs: Any) -> Any:
            say(stage)
            return function(*arguments, **knobs)

        return telling

    def checked(hypothesis: Hypothesis) -> Hypothesis:
        return replace(hypothesis, check=told(f"hypothesis: {hypothesis.name}", hypothesis.check))

    return replace(
        theorem,
        on=told("making the subject", theorem.on),
        breaks_on=theorem.breaks_on and told("making the negative control", theorem.breaks_on),
        assumes=tuple(checked(h) for h in theorem.assumes),
        measure=told("gathering the evidence", theorem.measure),
    )
