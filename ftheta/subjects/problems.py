"""Objectives to minimise: a training run, the loss of a network, the training of its last layer alone."""

from dataclasses import replace

import numpy as np

from ftheta.logic.adapter import Adapter
from ftheta.logic.enclosure import Basis
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, Status, hypothesis
from ftheta.networks.activations import activation
from ftheta.training.descent import Path, descend
from ftheta.training.landscapes import Landscape, LastLayer, landscape
from ftheta.training.methods import steepest
from ftheta.training.stationarity import careful_descent, smoothness_on_box
from ftheta.training.study import affordable, first_rows, natural_loss

from .hypotheses import curvature_of
from .kinds import Training
from .network import Network
from .stated import floor_of, is_smooth_everywhere, steepest_secant, why_quadratic


def rows_of(net: Network) -> tuple[np.ndarray, np.ndarray]:
    """The first rows of the data and their targets: as many as a network of this size is differentiated at."""
    return first_rows(net.data, flat=False, parameters=net.parameters)


def last_layer_of(net: Network, ridge: float = 0.0) -> LastLayer:
    """The training of the last layer alone, on squared errors; `ridge` is in units of its largest curvature."""
    net = net.behind_scaling()
    x, y = rows_of(net)
    if net.description is None or not len(x):
        raise SubjectError(
            "The last layer needs a list of layers and data with labels.", where=net.name
        )
    if natural_loss(y, net.description.widths[-1]) is None:
        raise SubjectError(
            "The labels do not fit the outputs.",
            where=net.name,
            got=f"{y.shape[1]} numbers per row",
        )
    last = LastLayer.of(net.description, x, y)
    return (
        replace(last, ridge=ridge * float(np.linalg.eigvalsh(last.hessian)[-1])) if ridge else last
    )


def problem_of(subject: Training | Network) -> Training:
    """The objective itself; of a network, the training of its last layer, which is convex."""
    if isinstance(subject, Training):
        return subject
    last = last_layer_of(subject)
    return Training(
        f"last layer of {subject.name}",
        last.value,
        last.start,
        last.optimum,
        0.0,
        hessian=last.hessian,
    )


def smoothness_of(run: Training) -> float:
    r"""$L$, an upper bound of the curvature $\|\nabla^2F\|$: the stated one, or that of the Hessian."""
    return curvature_of(run)[1].hi if run.smoothness is None else run.smoothness


@hypothesis(
    r"$F$ is convex and $L$-smooth: $0\preceq\nabla^2F\preceq LI$",
    remedy="state the true `smoothness`; of a network give layers and labelled --data, whose last layer is convex",
    name="a convex and smooth objective",
)
def convex_and_smooth(subject: Training | Network) -> Finding:
    """From the range of the curvature, proved where the objective is known everywhere."""
    try:
        run = problem_of(subject)
    except SubjectError as error:
        return Finding.failed(error.what)
    why = why_quadratic(run)
    (lo, hi) = curvature_of(run)
    L = smoothness_of(run)
    note = f"{run.name}: curvature in [{lo.lo:.4g}, {hi.hi:.6g}], asked: [0, {L:.6g}]"
    if not (lo.hi >= -1e-9 * L and hi.lo <= L * (1 + 1e-9)):
        return Finding.failed(note, hi)
    if hi.samples or not why:
        return Finding.sampled(note, hi)
    return Finding.proved(note, f"{why}; its eigenvalues in float64", hi, basis=Basis.FLOAT)


def loss_of(net: Network) -> Landscape:
    """The loss of a network on its data, as a function of all its parameters."""
    found = landscape(net.apply, net.params, *rows_of(net))
    if found is None:
        raise SubjectError("The loss needs data with targets that fit the outputs.", where=net.name)
    return found


def training_of_loss(net: Network) -> Training:
    """The loss of a network on its data as an objective to minimise; losses are at least 0."""
    found = loss_of(net)
    return Training(net.name, found.risk, found.start, least=0.0, rows=found.rows)


@hypothesis(
    "there is a loss: data with targets that fit the outputs",
    remedy="give --data with one class per row, or one number per output",
    name="a loss on labelled data",
)
def has_a_loss(net: Network) -> Finding:
    """Whether the labels of a network's data ask for a loss."""
    try:
        found = loss_of(net)
    except SubjectError as error:
        return Finding.failed(error.what)
    if not found.start.size:
        return Finding.failed("the network has no parameters")
    return Finding.proved(f"{found.loss} loss on {found.rows:,} rows", "labels and outputs counted")


@hypothesis(
    "there is a smooth loss: data with targets that fit the outputs, and activations without kinks",
    remedy="give labelled --data, and use smooth activations (tanh, GELU, SiLU)",
    name="a smooth loss on labelled data",
)
def has_a_smooth_loss(net: Network) -> Finding:
    """Whether there is a loss, and no activation of the list of layers has kinks."""
    found = has_a_loss.check(net)
    used = [] if net.description is None else [layer.activation for layer in net.description.layers]
    kinked = sorted(
        {name for name in used if activation(name).piecewise_affine and name != "identity"}
    )
    if found.status is Status.FAILED or not kinked:
        return found
    return Finding.failed(f"{', '.join(kinked)} has kinks: the gradient jumps")


LOSS_OF_A_NETWORK = Adapter(Network, training_of_loss, has_a_loss)
SMOOTH_LOSS_OF_A_NETWORK = Adapter(Network, training_of_loss, has_a_smooth_loss)


@hypothesis(
    r"$F$ is $L$-smooth and bounded below",
    remedy="state the true `smoothness`",
    name="a smooth objective that is bounded below",
)
def smooth_and_bounded_below(run: Training) -> Finding:
    """Proved from the program where it can be; else sampled, or assumed as stated."""
    if run.least is not None and run.smoothness is None:
        return Finding.assumed(
            f"F ≥ {run.least:g}; no L is claimed: the smoothness is the largest that the steps feel"
        )
    floor = floor_of(run)
    if floor.fault:
        return Finding.failed(floor.fault)
    if run.smoothness is None:
        return Finding.assumed("no L is claimed: the smoothness is the largest that the steps feel")
    bound = _smoothness_everywhere(run)
    if bound is not None and bound <= run.smoothness * (
        1 + 1e-12
    ):  # outward rounding alone may exceed it
        note = f"‖∇²F‖ ≤ {bound:.6g} everywhere, L = {run.smoothness:g}"
        if floor.proof:
            why = f"a smooth program, its Hessian enclosed over all of space; {floor.proof}"
            return Finding.proved(note, why, basis=Basis.FLOAT)
        return Finding.assumed(f"{note}; that F is bounded below is not shown")
    felt = max(steepest_secant(run), *(abs(end) for e in curvature_of(run) for end in (e.lo, e.hi)))
    note = f"curvature up to {felt:.6g} met, L = {run.smoothness:g}"
    return Finding.failed(note) if felt > run.smoothness * (1 + 1e-6) else Finding.sampled(note)


def _smoothness_everywhere(run: Training) -> float | None:
    """A bound of the curvature over all of space, where the program is smooth and small enough to be enclosed."""
    if run.start.size > 8 or not is_smooth_everywhere(run):
        return None
    return smoothness_on_box(
        run.objective, np.full_like(run.start, -np.inf), np.full_like(run.start, np.inf)
    )


def descent_of(run: Training, steps: int, step: float) -> tuple[Path, float, float]:
    r"""Gradient descent with $\tau=h/L$, the $L$ that is claimed or that its steps feel, and $F_0-F^*$; `step` is $h$.

    Where neither an optimum nor a lower bound is known the least value met takes the place of $F^*$.
    """
    steps = affordable(run.start.size, run.rows, steps)
    if run.smoothness is None:
        path, L = careful_descent(run.objective, run.start, steps, step)
    else:
        L = run.smoothness
        path = descend(steepest(step / L), run.objective, run.start, steps)
    if run.optimum is not None:
        least = float(run.objective(run.optimum))
    else:
        least = float(np.nanmin(path.values)) if run.least is None else run.least
    return path, L, float(path.values[0] - least)
