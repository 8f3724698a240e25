"""`ftheta check`: one theorem on one subject."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ftheta.catalogue import entry_of, settings_of
from ftheta.languages import t
from ftheta.logic.knob import parse_knobs
from ftheta.report.working import Working

from .common import Flag, Json, console, exit_code, options_of


def check(
    id: str,
    *,
    on: str | None = None,
    data: str | None = None,
    with_data: Annotated[str | None, Parameter(show=False)] = None,
    against: str | None = None,
    role: str = "",
    preset: str | None = None,
    seed: int = 0,
    json: Json = False,
    out: Annotated[list[Path] | None, Parameter(name=("--out", "--save"), negative="")] = None,
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
    data
        Data for that network: a file with x and y, `package.module:attribute`, or a built-in name.
    with_data
        The same; for theorems that have a knob called data.
    against
        A second data set, for theorems about two samples: a file, `package.module:attribute`, or a built-in name.
    role
        What that network is in a generative model: generator, critic, decoder, score or velocity.
    preset
        A named setting of the options, as `ftheta show` lists them.
    seed
        Seed of everything random.
    out
        Write the charts or the result to a file: .pdf .svg .png .csv .html .json; may be repeated.
    strict
        Exit with 3 when a hypothesis is not met.
    force
        Gather the evidence even when a hypothesis is not met.
    breaker
        Take the theorem's negative control as the subject.
    knobs
        The theorem's own options, such as `--kappa 100`; `ftheta show ID` lists them.
    """
    entry = entry_of(id)
    if data is not None and any(knob["name"] == "data" for knob in entry["knobs"]):
        knobs["data"] = data
    elif with_data is None:
        with_data = data
    # a wrong knob is refused before JAX is imported
    parse_knobs(settings_of(entry), knobs, options_of(check))
    from ftheta.report.save import ensure_savable, save

    for path in out or []:
        ensure_savable(path)
    from ftheta.checking import check as run_check

    with Working(t("checking {id}", id=entry["id"])):
        result = run_check(
            id,
            on,
            with_data=with_data,
            against=against,
            role=role,
            seed=seed,
            preset=preset,
            breaker=breaker,
            force=force,
            **knobs,
        )
    for path in out or []:
        save(result, path)
    if json:
        from ftheta.report.document import to_json

        print(to_json(result))
    else:
        from ftheta.report.card import card

        console().print(card(result))
    return exit_code([result], strict)
