r"""`fit`, the training loop: $\theta_{k+1}=\theta_k+u_k$ for $k=0,\dots,K-1$, with $u_k$ from the optimiser."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ftheta.logic.errors import UsageError

from .batches import Batches
from .checkpoint import Checkpoint, Saved, read
from .examples import examples_of
from .losses import Loss, PerExample, loss_named
from .machine import Evaluation, Machine, Metrics
from .models import model_of
from .optimisers import Step, optimiser_named, plain_step
from .program import Problem
from .robust import RobustLoss
from .run import Fit, Plan, Watching, begin, run
from .stopping import Stop

if TYPE_CHECKING:
    import optax


def fit(
    net: Any,
    data: Any = None,
    loss: str | Loss | PerExample = "squared",
    optimiser: "str | optax.GradientTransformation" = "adam",
    *,
    steps: int | None = None,
    epochs: int | None = None,
    step: Step | None = None,
    batch: int | Batches | None = None,
    seed: int = 0,
    stop: Stop | None = None,
    robust: RobustLoss | None = None,
    validation: Any = None,
    metrics: Metrics | None = None,
    every: int = 1,
    evaluate_every: int | None = None,
    checkpoint: str | Path | Checkpoint | None = None,
    resume: bool = False,
    dtype: Any = None,
    progress: bool | None = None,
    watch: Watching | None = None,
) -> "Fit":
    r"""Train `net` on `data` and return the trained network with the history of the run.

    Parameters
    ----------
    net
        A `Network`, a `Description`, an equinox module, or a pair `(params, apply)`, with
        `apply(params, x)` for one input `x`.
    data
        A `Dataset` or a pair of arrays `(x, y)`; without it, the data that the `Network` carries.
    loss
        A name (`losses.LOSSES`) or a function of one prediction and one target. Its mean over the rows is minimised.
    optimiser, step
        A name (`optimisers.OPTIMISERS`) with its step, a number or a schedule; or any optax transformation.
    steps, epochs
        How long: steps in all, counted from the initialisation, or passes over the data.
    batch
        Rows a step sees: None for all, a number for mini-batches in shuffled epochs, or `Batches`.
    seed
        Decides the order of the rows. A run is a function of its arguments and its seed.
    stop
        Rules that end the run earlier.
    robust
        Minimise the worst loss near each row, or a bound of it; evaluations and the loss of the result stay plain.
    validation, metrics, evaluate_every
        Other data whose loss is recorded, and functions `(predictions, targets) -> number` of these data (or, without
        any, of the training data), at every so many steps; an epoch, or 100 steps of all rows, if not said.
    every
        Record the loss of every so many steps.
    checkpoint, resume
        A file to keep the run in; with `resume` a run that is there is continued, bit for bit.
    dtype
        The precision of the training: that of the parameters if not said.
    progress
        Whether to draw a line of progress; on a terminal only, if not said.
    watch
        What `ft.watch()` returns: dead units, gradient norms and sharpness, between the chunks of steps.
    """
    with jax.enable_x64(True):
        chosen = loss_named(loss)
        model = model_of(net, dtype)
        examples = examples_of(getattr(net, "data", None) if data is None else data, model, chosen)
        told, transformation = optimiser_named(optimiser, step, model.parameters)
        batches = _batches(batch, len(examples))
        stop = stop or Stop()
        worst = (
            None if robust is None else _robust(robust).losses(net, model.apply, chosen, examples.y)
        )
        norms = stop.gradient is not None
        if model.program is not None and worst is None and _are_named(loss, optimiser, step):
            problem = _shared_problem(
                model.program, chosen.of, optimiser, step, model.parameters, norms
            )
        else:
            problem = Problem(model.apply, chosen.of, transformation, norms=norms, robust=worst)
        machine = Machine(model, problem, examples, batches, _whole(seed, "seed", 0))
        others = (
            None
            if validation is None
            else examples_of(validation, model, chosen, "validation data")
        )
        per_epoch = 100 if batches is None else batches.in_an_epoch(len(examples))
        evaluation = None
        if others is not None or metrics:
            often = _whole(
                per_epoch if evaluate_every is None else evaluate_every, "evaluate_every"
            )
            seen = others or examples
            validates = others is not None
            evaluation = Evaluation.of(problem, model.params, seen, validates, metrics or {}, often)
        plan = Plan(
            steps=_steps(steps, epochs, batches, len(examples)),
            stop=stop,
            every=_whole(every, "every"),
            evaluation=evaluation,
            checkpoint=Checkpoint.of(checkpoint),
            progress=progress,
            watch=watch,
            step_size=plain_step(optimiser, step),
            told=f"{chosen.name} loss, {'' if robust is None else robust.told + ', '}{told}",
        )
        return run(machine, plan, _load_or_start(machine, plan, resume))


def _are_named(loss: Any, optimiser: Any, step: Any) -> bool:
    """Whether nothing of the problem is a function of the user's, which may do another thing when called again."""
    return isinstance(loss, str) and isinstance(optimiser, str) and not callable(step)


@lru_cache(maxsize=32, typed=True)
def _shared_problem(
    apply: Any, loss: Any, optimiser: str, step: float | None, parameters: int, norms: bool
) -> Problem:
    """One problem for the next seed and the next network, which remembers how it was traced and lowered."""
    return Problem(apply, loss, optimiser_named(optimiser, step, parameters)[1], norms=norms)


def _load_or_start(machine: Machine, plan: Plan, resume: bool) -> Saved:
    """The run in the file, or a new one."""
    if plan.checkpoint is None:
        if resume:
            raise UsageError("There is nothing to resume from.", remedy="give checkpoint='run.npz'")
        return begin(machine)
    path = plan.checkpoint.path
    if path.exists() and not resume:
        raise UsageError(
            "The checkpoint exists.",
            got=str(path),
            remedy="give resume=True to continue it, or remove it",
        )
    return read(path, machine.start, machine.identity) if path.exists() else begin(machine)


def _robust(robust: Any) -> RobustLoss:
    if not isinstance(robust, RobustLoss):
        remedy = 'robust=RobustLoss("ibp", 0.1), from ftheta.training'
        raise UsageError(
            "`robust` is a RobustLoss.", got=f"a {type(robust).__name__}", remedy=remedy
        )
    return robust


def _batches(batch: int | Batches | None, n: int) -> Batches | None:
    if batch is None:
        return None
    batches = batch if isinstance(batch, Batches) else Batches(batch)
    if batches.size > n:
        got = f"batch of {batches.size:,}, {n:,} rows"
        raise UsageError(
            "The batch is larger than the data.",
            got=got,
            remedy="leave `batch` out to take all rows",
        )
    return batches


def _steps(steps: int | None, epochs: int | None, batches: Batches | None, n: int) -> int:
    if (steps is None) == (epochs is None):
        got = "neither" if steps is None else "both"
        raise UsageError("Say how long: `steps` or `epochs`.", got=got, remedy="give one of them")
    if steps is not None:
        return _whole(steps, "steps", 0)
    return _whole(epochs, "epochs", 0) * (1 if batches is None else batches.in_an_epoch(n))


def _whole(value: Any, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise UsageError(f"`{name}` must be a whole number of at least {least}.", got=value)
    return int(value)
