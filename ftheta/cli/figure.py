"""`ftheta figure`: one chart of a theorem, or of a result that was saved, as a figure for a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ftheta.catalogue import entry_of, settings_of
from ftheta.logic import SubjectError, UsageError, suggest
from ftheta.logic.knob import parse_knobs
from ftheta.report.working import Working

from .common import Flag, options_of

if TYPE_CHECKING:
    from ftheta.logic import Result
    from ftheta.logic.chart import Chart


def figure(
    id: str,
    *,
    chart: str = "1",
    style: Literal["paper", "light", "dark"] = "paper",
    width: str | None = None,
    height: str | None = None,
    out: Annotated[list[Path], Parameter(name=("--out", "--save"), negative="")],
    on: str | None = None,
    data: str | None = None,
    preset: str | None = None,
    seed: int = 0,
    force: Annotated[bool, Flag] = False,
    **knobs: str,
) -> int:
    """Draw one chart of a theorem for a paper: true size, 8 point labels, legible in grey, without a title.

    Parameters
    ----------
    id
        The theorem, as `ftheta list` names it, or a result that `ftheta check --out result.json` wrote.
    chart
        Which chart: its number, or the beginning of its title.
    style
        For a paper, or as on a light or a dark screen.
    width
        A length such as 3.25in, 84mm or 240pt; on paper 3.25in without it.
    height
        A length; without one, what suits the chart.
    out
        Write to a file: .pdf .svg .png .tex (PGFPlots) .csv (the data) .html; may be repeated.
    on
        Your subject: a file, `package.module:attribute`, or a built-in name.
    data
        Data for that network: a file with x and y, `package.module:attribute`, or a built-in name.
    preset
        A named setting of the options, as `ftheta show` lists them.
    seed
        Seed of everything random.
    force
        Gather the evidence even when a hypothesis is not met.
    knobs
        The theorem's own options, such as `--kappa 100`; `ftheta show ID` lists them.
    """
    from ftheta.report.paper import read_length
    from ftheta.report.save import DRAWN, ensure_savable, save

    for path in out:
        ensure_savable(path, (*DRAWN, ".html"))
    for length in (width, height):
        if length is not None:
            read_length(length)
    if id.lower().endswith(".json"):
        result = _read(
            Path(id), refused=[*knobs, *(("preset",) if preset else ()), *(("on",) if on else ())]
        )
    else:
        result = _check(id, on, data, preset, seed, force, knobs)
    chosen = choose_chart(result, chart)
    for path in out:
        save(chosen, path, style=style, width=width, height=height)
        print(path)
    return 0


def _check(
    id: str,
    on: str | None,
    data: str | None,
    preset: str | None,
    seed: int,
    force: bool,
    knobs: dict[str, Any],
) -> "Result":
    entry = entry_of(id)
    if data is not None and any(knob["name"] == "data" for knob in entry["knobs"]):
        knobs["data"] = data
        data = None
    # a wrong knob is refused before JAX is imported
    parse_knobs(settings_of(entry), knobs, options_of(figure))
    from ftheta.checking import check

    with Working(f"checking {entry['id']}"):
        return check(id, on, with_data=data, seed=seed, preset=preset, force=force, **knobs)


def _read(path: Path, refused: list[str]) -> "Result":
    from ftheta.logic import Result
    from ftheta.report.document import from_json

    if refused:
        remedy = "name the theorem instead of the file, or leave the options away"
        raise UsageError(
            "A result that was saved has its options already.",
            got=", ".join(refused),
            remedy=remedy,
        )
    if not path.is_file():
        raise SubjectError(
            "There is no such file.",
            got=str(path),
            remedy="write one: ftheta check ID --out FILE.json",
        )
    document = from_json(path.read_bytes())
    if not isinstance(document, Result):
        raise SubjectError(
            "This is not the result of one theorem.", where=str(path), got=type(document).__name__
        )
    return document


def choose_chart(result: "Result", wanted: str) -> "Chart":
    """One of the charts of a result, by its number from 1 or by the beginning of its title."""
    from ftheta.report.letters import letters

    charts = result.charts
    titles = [letters(chart.title) for chart in charts]
    listed = "; ".join(f"{i} {title}" for i, title in enumerate(titles, 1))
    if not charts:
        remedy = "choose another preset; if a hypothesis fails, --force measures anyway"
        raise UsageError("This result has no chart.", where=result.id, remedy=remedy)
    if wanted.isdecimal():
        if not 1 <= int(wanted) <= len(charts):
            raise UsageError(
                "There is no chart of this number.", got=wanted, remedy=f"choose one of {listed}"
            )
        return charts[int(wanted) - 1]
    start = letters(wanted).lower()
    found = [c for c, title in zip(charts, titles) if title.lower() == start]
    found = found or [c for c, title in zip(charts, titles) if title.lower().startswith(start)]
    if len(found) != 1:
        what = "Several charts begin so." if found else "There is no chart of this title."
        raise UsageError(
            what, got=wanted, remedy=suggest(wanted, titles, f"choose one of {listed}")
        )
    return found[0]
