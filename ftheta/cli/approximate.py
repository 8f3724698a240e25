"""`approximate` from the command line: a network for a function, with its certificate."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ftheta.report.working import Working

from .common import Flag, Json, print_json


def approximate(
    function: str,
    *,
    box: str | None = None,
    eps: float = 0.01,
    norm: str = "sup",
    method: str = "auto",
    activation: str | None = None,
    neurons: int = 2048,
    budget: Annotated[str, Parameter(name=("--budget", "--seconds"))] = "60s",
    seed: int = 0,
    out: Path | None = None,
    figure: Path | None = None,
    strict: Annotated[bool, Flag] = False,
    json: Json = False,
) -> int:
    """Build a network for a function on a box, with a proved bound of its largest error.

    Parameters
    ----------
    function
        An expression such as "sin(6*x) + x", or `package.module:attribute`.
    box
        The same bounds for every variable, such as --box=0,1, or one pair per variable: --box="0,1;-1,1".
        [-1, 1] if not said.
    eps
        The error wanted.
    norm
        sup, with a proof; or L2, the root mean square over the box, estimated: for many variables, and across jumps.
    method
        auto, cpa, greedy, frank-wolfe, random, staircase, trained, barron or bernstein.
    activation
        Of the hidden layers: relu, tanh, …; each method has its own if not said.
    neurons
        Hidden neurons at most.
    budget
        Stop after so long, with the best so far: 60s, 2m, 1h.
    seed
        Seed of everything drawn at random.
    out
        Write the network to this .npz or .onnx file, which every other command reads.
    figure
        Write the function, its network and the error to a file: .svg .png .pdf .csv.
    strict
        Exit with 3 if the error asked for was not reached.
    """
    from ftheta.report.save import DRAWN, ensure_savable, save
    from ftheta.training.command import savable

    savable(out)
    if figure is not None:
        ensure_savable(figure, DRAWN)
    from ftheta.approximation.approximate import approximate as build
    from ftheta.approximation.words import box_of
    from ftheta.logic import SubjectError
    from ftheta.processes.budgets import parse_seconds
    from ftheta.subjects import Target
    from ftheta.subjects.resolve import load

    target = load(function, takes=(Target,))
    if not isinstance(target, Target):
        raise SubjectError(
            "A function is needed here.", got=f"{target.name}, a {type(target).__name__}"
        )
    domain = None if box is None else box_of(box, target.dimension)
    with Working("approximating"):
        found = build(
            target,
            domain,
            eps,
            norm=norm,
            method=method,
            activation=activation,
            neurons=neurons,
            seconds=parse_seconds(budget),
            seed=seed,
        )
    if out is not None:
        save(found.network, out)
    if figure is not None:
        for i, chart in enumerate(found.charts, 1):
            save(chart, figure if i == 1 else figure.with_stem(f"{figure.stem}-{i}"))
    if json:
        print_json(found.document)
    else:
        print(found)
    return 3 if strict and not found.reached else 0
