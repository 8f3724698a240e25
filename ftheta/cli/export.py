"""`ftheta export`: a theorem as one interactive page that needs no server."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ftheta.catalogue import entry_of, settings_of
from ftheta.logic import FthetaError, UsageError, suggest
from ftheta.logic.knob import parse_knobs
from ftheta.report.working import Working

from .common import Flag


def export(
    id: str,
    *,
    interactive: Annotated[Path, Parameter(name=("--interactive", "--out"))],
    knob: str | None = None,
    positions: int = 21,
    preset: str | None = None,
    seed: int = 0,
    force: Annotated[bool, Flag] = False,
    overwrite: Annotated[bool, Flag] = False,
    **knobs: str,
) -> int:
    """Write a theorem as one interactive page: every position of one slider computed ahead, no server, nothing loaded.

    Parameters
    ----------
    id
        The theorem, as `ftheta list` names it.
    interactive
        The page: a file that ends with .html.
    knob
        The option that the slider moves; without it, the theorem's first one that has a range.
    positions
        How many positions the slider has.
    preset
        A named setting of the options, as `ftheta show` lists them.
    seed
        Seed of everything random.
    force
        Gather the evidence even where a hypothesis is not met.
    overwrite
        Write over a file that exists.
    knobs
        Where the other options stand, and where the slider begins, such as `--kappa 100`; `ftheta show ID` lists them.
    """
    from ftheta.report.save import ensure_savable

    entry = entry_of(id)
    ensure_savable(interactive, (".html",))
    if interactive.exists() and not overwrite:
        remedy = "give another name, or --overwrite"
        raise UsageError("The file exists already.", where=str(interactive), remedy=remedy)
    made, reached = _make(entry, knob, positions, preset, seed, force, knobs)
    interactive.write_text(made, encoding="utf-8")
    print(
        f"{interactive}: {reached} positions, {len(made.encode()) / 1e6:.1f} MB; open it in any browser"
    )
    return 0


def _make(
    entry: dict[str, Any],
    knob: str | None,
    count: int,
    preset: str | None,
    seed: int,
    force: bool,
    knobs: dict[str, Any],
) -> tuple[str, int]:
    """The page and the number of its positions."""
    from ftheta.lab.positions import choose_knob, knobs_of, option_of, positions_of

    settings = settings_of(entry)
    parse_knobs(settings, knobs)  # a wrong knob is refused before JAX is imported
    if preset is not None and preset not in entry["presets"]:
        remedy = suggest(preset, entry["presets"], f"choose one of {', '.join(entry['presets'])}")
        raise UsageError("There is no such preset.", got=preset, remedy=remedy)
    given = {name.replace("-", "_"): value for name, value in knobs.items()}
    standing: dict[str, Any] = parse_knobs(
        settings, knobs_of(settings, entry["presets"].get(preset, {}), given)
    )
    moved = choose_knob(settings, knob)
    values = positions_of(moved, count, standing[moved.name])
    from ftheta.checking import check
    from ftheta.lab.interactive import Position, interactive_page

    found: list[Position] = []
    for i, value in enumerate(values, 1):
        with Working(f"{entry['id']} at {option_of(moved)} {value} ({i} of {len(values)})"):
            try:
                result = check(
                    entry["id"], seed=seed, force=force, **{**standing, moved.name: value}
                )
            except FthetaError as error:
                result = error
        found.append(Position(value, result))
    return interactive_page(moved, found, values.index(standing[moved.name])), len(values)
