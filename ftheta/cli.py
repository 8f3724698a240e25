"""The command line. Nothing heavy is imported before a command needs it: `list` and `show` never import JAX.

Exit codes: 0 all hold · 1 refuted · 2 usage · 3 a hypothesis fails (with --strict) · 4 the subject cannot be
read · 70 internal error · 130 interrupted.
"""

import json as jsons
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from ftheta.catalogue import entry_of, index
from ftheta.logic import FthetaError, UsageError, Verdict
from ftheta.report.working import Working
from ftheta.theorems import CHAPTERS

if TYPE_CHECKING:
    from ftheta.logic import Result

Json = Annotated[bool, Parameter(negative="", help="Print JSON on standard output.")]
Flag = Parameter(negative="")

app = App(
    name="ftheta",
    help="The mathematics of deep learning, running: every statement is an executable theorem.",
    version=lambda: __import__("importlib.metadata").metadata.version("ftheta"),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)


@app.command(name="list")
def list_(*, chapter: str | None = None, json: Json = False) -> int:
    """Name every theorem, or those of one chapter."""
    if chapter is not None and chapter not in CHAPTERS:
        raise UsageError("Unknown chapter.", got=chapter, remedy=f"choose one of {', '.join(CHAPTERS)}")
    entries = [e for e in index().values() if chapter in (None, e["chapter"])]
    if json:
        _print_json([{k: e[k] for k in ("id", "chapter", "chapter_title", "title", "takes")} for e in entries])
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("chapter", "theorem", "what it says"):
        table.add_column(column, no_wrap=column != "what it says")
    for e in entries:
        table.add_row(f"[dim]{e['chapter']}[/]", f"[bold]{e['id']}[/]", e["title"])
    _console().print(table)
    return 0


@app.command
def show(id: str, *, json: Json = False) -> int:
    """Print a theorem: statement, hypotheses, knobs, presets, sources, and what the sources print wrongly."""
    entry = entry_of(id)
    if json:
        _print_json(entry)
        return 0
    from ftheta.report.sheet import sheet

    _console().print(sheet(entry))
    return 0


@app.command
def check(
    id: str,
    *,
    on: str | None = None,
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
        result = run_check(id, on, seed=seed, preset=preset, breaker=breaker, force=force, **knobs)
    for path in save or []:
        save_result(result, path)
    if json:
        from ftheta.report.document import to_json

        print(to_json(result))
    else:
        from ftheta.report.card import card

        _console().print(card(result))
    return _exit_code([result], strict)


@app.command
def audit(
    subject: str,
    *,
    data: str | None = None,
    out: Path | None = None,
    seed: int = 0,
    json: Json = False,
    strict: Annotated[bool, Flag] = False,
) -> int:
    """Run every theorem about networks on one network and write a report.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Data to judge it on: a file with x and y, `package.module:attribute`, or a built-in name.
    out
        Write the report to this file (.html, or .json).
    seed
        Seed of everything random.
    strict
        Exit with 3 when a hypothesis fails.
    """
    from ftheta.report.save import ensure_savable, save_audit

    if out is not None:
        ensure_savable(out, (".html", ".json"))
    from ftheta.auditing import audit as run_audit

    with Working("auditing") as working:
        document = run_audit(subject, data, seed=seed, progress=working.now)
    if out is not None:
        save_audit(document, out)
    if json:
        from ftheta.report.document import to_json

        print(to_json(document))
    else:
        from ftheta.report.card import audit_card

        _console().print(audit_card(document, out))
    return _exit_code(document.results, strict)


@app.command
def graph(expression: str, *, at: str, out: Path | None = None, json: Json = False) -> int:
    """Differentiate an expression: every node with its value, local partials and adjoint.

    Parameters
    ----------
    expression
        Such as "t2*exp(t1)*sqrt(t1+t2*exp(t1))"; `u = …; …` names a part.
    at
        The point, such as t1=0,t2=1.
    out
        Write the table and the graph to a file: .html .json, or the graph alone: .svg .png .pdf .csv.
    """
    from ftheta.report.save import ensure_savable

    if out is not None:
        ensure_savable(out)
    from ftheta.graph.expressions import Expression, point
    from ftheta.graph.tableaux import tableau
    from ftheta.report.tableau import document, save_tableau

    read = Expression.parse(expression)
    with Working("differentiating"):
        found = tableau(expression, *point(read, at))
    if out is not None:
        save_tableau(found, out)
    if json:
        _print_json(document(found))
    else:
        print(found)
    return 0


@app.command
def pieces(
    subject: str,
    *,
    data: str | None = None,
    through: str | None = None,
    box: str | None = None,
    colour: str = "slope",
    boundary: Annotated[bool, Flag] = False,
    out: Path | None = None,
    max_cells: int = 1_000_000,
    max_seconds: float = 60.0,
    workers: int = 1,
    json: Json = False,
) -> int:
    """Enumerate the exact linear pieces of a ReLU network on a box, or on a slice through rows of data.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Data for slices: a file with x, `package.module:attribute`, or a built-in name.
    through
        Two rows of the data for a segment, three for a plane, such as 0,1,2.
    box
        The same bounds for every input, such as --box=-1,1 (the default).
    colour
        Of the picture: slope, active, output, region or class.
    boundary
        Draw the decision boundary over the pieces.
    out
        Write the picture to a file: .svg .png .pdf .csv.
    max_cells
        Stop after so many pieces.
    max_seconds
        Stop after so long.
    workers
        Threads.
    """
    from ftheta.report.save import DRAWN, ensure_savable, save

    if out is not None:
        ensure_savable(out, DRAWN)
    from ftheta.pieces.command import explore, facts
    from ftheta.subjects import Dataset, Network
    from ftheta.subjects.resolve import load_as

    net, rows = load_as(Network, subject), None if data is None else load_as(Dataset, data)
    with Working("enumerating"):
        cells = explore(net, rows, box, through, max_cells, max_seconds, workers)
        found = facts(cells)
    if out is not None:
        save(cells.chart(colour, boundary=boundary), out)
    if json:
        told = lambda fact: fact if isinstance(fact, str) else {"lo": fact.lo, "hi": fact.hi, "basis": str(fact.basis)}
        _print_json({name: told(fact) for name, fact in found.items()})
    else:
        from ftheta.report.numbers import enclosure

        _console().print(f"[bold]{net.name}[/]: {cells!r}")
        _console().print("\n".join(f"  {k}: {v if isinstance(v, str) else enclosure(v)}" for k, v in found.items()))
    return 0


@app.command
def fit(
    data: str,
    *,
    widths: str = "64,64",
    activation: str = "relu",
    loss: str = "squared",
    optimiser: str = "adam",
    step: float | None = None,
    steps: int = 1000,
    batch: int | None = None,
    seed: int = 0,
    out: Path | None = None,
    checkpoint: Path | None = None,
    resume: Annotated[bool, Flag] = False,
    json: Json = False,
) -> int:
    """Train a perceptron on your data and write its weights.

    Parameters
    ----------
    data
        A file with x and y, `package.module:attribute`, or a built-in name.
    widths
        The hidden layers, such as 64,64.
    activation
        Of the hidden layers: relu, tanh, …
    loss
        squared, absolute, huber, cross-entropy, logistic or hinge.
    optimiser
        gd, sgd, momentum, nesterov, adam, amsgrad or adamw.
    step
        Of the optimiser.
    steps
        How many, in all.
    batch
        Rows a step sees; all of them if not said.
    seed
        Seed of the weights at the start and of the order of the rows.
    out
        Write the weights to this .npz file, which every other command reads.
    checkpoint
        Keep the run in this .npz file.
    resume
        Go on with the run in the checkpoint.
    """
    from ftheta.subjects import Dataset
    from ftheta.subjects.resolve import load_as
    from ftheta.training.command import savable, train

    savable(out)
    rows = load_as(Dataset, data)
    how = {"loss": loss, "optimiser": optimiser, "step": step, "steps": steps, "batch": batch, "seed": seed}
    trained = train(rows, widths, activation, **how, checkpoint=checkpoint, resume=resume)
    if out is not None:
        trained.save(out)
    if json:
        _print_json(trained.document)
    else:
        print(trained)
    return 130 if trained.interrupted else 0


@app.command
def doctor(*, json: Json = False) -> int:
    """Say what is installed, in which version, and what each extra would add."""
    from ftheta.diagnosis import diagnose

    report = diagnose()
    if json:
        _print_json(report)
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("package", "version", "part", "what it is for"):
        table.add_column(column)
    for row in report["packages"]:
        table.add_row(row["name"], row["version"] or "[yellow]not installed[/]", row["part"], row["purpose"])
    console = _console()
    console.print(
        f"ftheta {report['ftheta']} on Python {report['python']}, {report['platform']}, {report['cores']} cores\n"
    )
    console.print(table)
    for extra, command in report["install"].items():
        console.print(f"to add {extra}: {command}", markup=False)
    return 0


def _parse_early(entry: dict[str, Any], knobs: dict[str, str]) -> None:
    """Refuse a wrong knob before JAX is imported."""
    from ftheta.logic.knob import Knob, Setting, parse_knobs

    described = (e | {"knob": Knob(**{**e["knob"], "choices": tuple(e["knob"]["choices"])})} for e in entry["knobs"])
    parse_knobs(tuple(Setting(**e) for e in described), knobs)


def _exit_code(results: "Sequence[Result]", strict: bool) -> int:
    verdicts = {r.verdict for r in results}
    if Verdict.REFUTED in verdicts:
        return 1
    return 3 if strict and Verdict.INAPPLICABLE in verdicts else 0


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _print_json(value: Any) -> None:
    print(jsons.dumps(value, ensure_ascii=False, indent=1))


def _fail(error: FthetaError, as_json: bool) -> int:
    if as_json:
        parts = {"what": error.what, "where": error.where, "got": str(error.got or ""), "remedy": error.remedy}
        _print_json({"error": parts, "exit_code": error.exit_code})
    else:
        print(f"ftheta: {error}", file=sys.stderr)
    return error.exit_code


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    debug = "--debug" in words
    words = [w for w in words if w != "--debug"]
    guarded: Callable[[], Any] = lambda: app(words, exit_on_error=False, print_error=False)
    try:
        code = guarded()
        return code if isinstance(code, int) else 0
    except FthetaError as error:
        if debug:
            traceback.print_exc()
        return _fail(error, "--json" in words)
    except CycloptsError as error:
        return _fail(UsageError(str(error).strip(), remedy="`ftheta --help` lists the commands"), "--json" in words)
    except BrokenPipeError:  # the reader (`| head`) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        what = f"Internal error: {type(error).__name__}: {error}"
        return _fail(FthetaError(what, remedy="run again with --debug and report the traceback"), "--json" in words)
