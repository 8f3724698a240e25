"""`ftheta check`: one theorem on one subject."""

from pathlib import Path
from typing import Annotated, Any

from ftheta.catalogue import entry_of
from ftheta.report.working import Working

from .common import Flag, Json, console, exit_code


def check(
    id: str,
    *,
    on: str | None = None,
    with_data: str | None = None,
    preset: str | None = None,
    seed: int = 0,
    json: Json = False,
    save: list[Path] | None = None,
    strict: Annotated[bool, Flag] = False,
    force: Annotated[bool, Flag] = False,
    breaker: Annotated[bool, Flag] = False,
    **knobs: str,
) -> int:
    """Check a theorem on its built-in subject or on yours.

    Parameters
    ----------
    id
        The theorem, as `ftheta list` names it.
    on
        Your subject: a file, `package.module:attribute`, or a built-in name.
    with_data
        Data for that network: a file with x and y, `package.module:attribute`, or a built-in name.
    preset
        Knobs by name, as `ftheta show` lists them.
    seed
        Seed of everything random.
    save
        Write the charts or the result to a file: .pdf .svg .png .csv .html .json; may be repeated.
    strict
        Exit with 3 when a hypothesis fails.
    force
        Gather the evidence even when a hypothesis fails.
    breaker
        Take the theorem's negative control as the subject.
    knobs
        The theorem's own knobs, such as `--kappa 100`; `ftheta show ID` lists them.
    """
    entry = entry_of(id)
    _parse_early(entry, knobs)
    from ftheta.report.save import ensure_savable
    from ftheta.report.save import save as save_result

    for path in save or []:
        ensure_savable(path)
    from ftheta.checking import check as run_check

    with Working(f"checking {entry['id']}"):
        result = run_check(id, on, with_data=with_data, seed=seed, preset=preset, breaker=breaker, force=force, **knobs)
    for path in save or []:
        save_result(result, path)
    if json:
        from ftheta.report.document import to_json

        print(to_json(result))
    else:
        from ftheta.report.card import card

        console().print(card(result))
    return exit_code([result], strict)


def _parse_early(entry: dict[str, Any], knobs: dict[str, str]) -> None:
    """Refuse a wrong knob before JAX is imported."""
    from ftheta.logic.knob import Knob, Setting, parse_knobs

    described = (e | {"knob": Knob(**{**e["knob"], "choices": tuple(e["knob"]["choices"])})} for e in entry["knobs"])
    parse_knobs(tuple(Setting(**e) for e in described), knobs)
