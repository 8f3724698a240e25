"""One theorem by name on one subject: what `ft.check` and `ftheta check` do."""

from typing import Any

from ftheta.catalogue import theorem
from ftheta.logic import Result
from ftheta.running import run
from ftheta.subjects.resolve import load


def check(
    id: str,
    on: Any = None,
    *,
    seed: int = 0,
    preset: str | None = None,
    breaker: bool = False,
    force: bool = False,
    **knobs: Any,
) -> Result:
    """Check the theorem `id` on its built-in subject, or on yours.

    `on` is a subject, anything `load` turns into one, or words (a file, `package.module:attribute`, a built-in
    name). `breaker` takes the theorem's negative control instead; `force` measures even if a hypothesis fails.
    The remaining arguments are the theorem's knobs.
    """
    chosen = theorem(id)
    subject = None if on is None else load(on, takes=chosen.takes)
    return run(chosen, subject, seed=seed, preset=preset, breaker=breaker, force=force, **knobs)
