"""The cores from the command line: `graph`, `pieces`, `fit`."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ftheta.report.working import Working

from .common import Flag, Json, console, print_json


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
        print_json(document(found))
    else:
        print(found)
    return 0


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
    budget: Annotated[str, Parameter(name=("--budget", "--max-seconds"))] = "60s",
    workers: int = 1,
    json: Json = False,
) -> int:
    """Enumerate the exact linear pieces of a ReLU network on a box, or on a slice through rows of data.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    data
        Data for slices: a file with x, `package.module:attribute`, or a built-in name. With --colour class its rows are
        marked.
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
    budget
        Stop after so much processor time: 60s, 2m, 1h; kernels that are compiled first do not count.
    workers
        Threads.
    """
    from ftheta.report.save import DRAWN, ensure_savable, save

    if out is not None:
        ensure_savable(out, DRAWN)
    from ftheta.pieces.command import explore, facts
    from ftheta.processes.budgets import parse_seconds
    from ftheta.subjects import Dataset, Network
    from ftheta.subjects.resolve import load_as

    seconds = parse_seconds(budget)
    net = load_as(Network, subject)
    rows = None if data is None else load_as(Dataset, data)
    with Working("enumerating"):
        cells = explore(net, rows, box, through, max_cells, seconds, workers)
        found = facts(cells)
    if out is not None:
        marked = rows if rows is not None and rows.y is not None and colour == "class" else None
        save(
            cells.chart(colour, boundary=boundary, data=marked if cells.dimension == 2 else None),
            out,
        )
    if json:
        told = lambda fact: (
            fact
            if isinstance(fact, str)
            else {"lo": fact.lo, "hi": fact.hi, "basis": str(fact.basis)}
        )
        print_json({name: told(fact) for name, fact in found.items()})
    else:
        from ftheta.report.numbers import enclosure

        console().print(f"[bold]{net.name}[/]: {cells!r}")
        console().print(
            "\n".join(
                f"  {k}: {v if isinstance(v, str) else enclosure(v)}" for k, v in found.items()
            )
        )
    return 0


def fit(
    data: str,
    *,
    labels: str | None = None,
    widths: str = "64,64",
    activation: str = "relu",
    loss: str = "squared",
    optimiser: str = "adam",
    step: float | None = None,
    steps: int = 1000,
    batch: int | None = None,
    seed: int = 0,
    robust: str | None = None,
    epsilon: Annotated[float | None, Parameter(name=("--eps", "--epsilon"))] = None,
    norm: str = "inf",
    clip: str | None = None,
    ramp: str | None = None,
    out: Path | None = None,
    checkpoint: Path | None = None,
    resume: Annotated[bool, Flag] = False,
    json: Json = False,
) -> int:
    """Train a perceptron on your data and write its weights.

    Parameters
    ----------
    data
        A file with x and y or a table, `package.module:attribute`, or a built-in name.
    labels
        The column or array of the targets, or a file of them; last is the last column of a table.
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
    robust
        Train for inputs near the rows: adversarial, ibp, crown-ibp or small-box.
    epsilon
        How near, with --robust: the radius of the ball around each row.
    norm
        Of that ball, with --robust: inf, or 2 for adversarial.
    clip
        The least and the largest number an input may have, with --robust, such as 0,1.
    ramp
        The steps between which epsilon grows from 0, with --robust, such as 100,500.
    out
        Write the network to this .npz or .onnx file, which every other command reads.
    checkpoint
        Keep the run in this .npz file.
    resume
        Go on with the run in the checkpoint.
    """
    from ftheta.subjects import Dataset
    from ftheta.subjects.resolve import load_as
    from ftheta.training.command import read_robust, savable, train

    savable(out)
    worst = read_robust(robust, epsilon, norm, clip, ramp)
    rows = load_as(Dataset, data, labels=labels)
    how = {
        "loss": loss,
        "optimiser": optimiser,
        "step": step,
        "steps": steps,
        "batch": batch,
        "seed": seed,
    }
    trained = train(
        rows, widths, activation, **how, robust=worst, checkpoint=checkpoint, resume=resume
    )
    if out is not None:
        trained.save(out)
    if json:
        print_json(trained.document)
    else:
        print(trained)
    return 130 if trained.interrupted else 0
