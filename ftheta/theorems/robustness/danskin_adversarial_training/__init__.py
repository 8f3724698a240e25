"""The gradient of a worst-case loss is the gradient at the worst input: why adversarial training descends."""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any

import jax
import numpy as np

from ftheta.datasets.bundled import digits
from ftheta.graph.certain import is_smooth_function
from ftheta.graph.errors import GraphError
from ftheta.logic import (
    AtMost,
    Basis,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    SubjectError,
    UsageError,
    hypothesis,
    theorem,
)
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.subjects import Dataset, Network
from ftheta.training import fit
from ftheta.training.robust import METHODS

from .charts import draw_line, draw_retrained
from .linear_margins import LabelledInput, Linear, loss_slope, quotient, read_linear, worst_loss
from .worst_losses import (
    certified_margins,
    certified_share,
    count_unflipped,
    gradient_at,
    search,
    targets_of,
)

POINTS = 31  # of a curve, an odd number
NO = "no"

# ---- subjects --------------------------------------------------------------------------------------------------------


def classifier(
    rng: np.random.Generator,
    *,
    kind: Annotated[
        str,
        Knob(
            says="which network",
            symbol="f",
            choices=("linear", "worked example", "smooth network", "digits"),
        ),
    ] = "linear",
    zeros: Annotated[int, Knob(0, 3, "weights of the linear classifier that are zero", "z")] = 0,
) -> Network:
    """A linear classifier of two clouds, a small softplus network on them, or a ReLU network trained on the digits."""
    if kind == "worked example":
        example = Dataset("one row", np.array([[1.0, 1.0]]), np.array([1]))
        return replace(_linear(np.array([3.0, 4.0])), data=example)
    if kind == "digits":
        return trained_digits()
    y = np.arange(40) % 2
    centre = np.array([1.0, -0.5, 0.25, 0.75])
    clouds = Dataset(
        "two clouds", rng.normal(size=(40, 4)) + np.where(y > 0, 1.0, -1.0)[:, None] * centre, y
    )
    if kind == "linear":
        weight = centre + 0.1 * rng.normal(size=4)
        weight[:zeros] = 0.0
        return replace(_linear(weight), data=clouds)
    return replace(
        Network.described(random_mlp(rng, (4, 16, 2), "softplus"), "softplus network"), data=clouds
    )


def _linear(weight: np.ndarray) -> Network:
    return Network.described(Description((Dense(weight[None], np.zeros(1)),)), "linear classifier")


def trained_digits() -> Network:
    """64-32-32-10 with ReLU, trained plainly on every other image; all images are its data."""
    images = digits()
    x = np.asarray(images.x, np.float64).reshape(len(images.x), -1)
    start = random_mlp(np.random.default_rng(0), (64, 32, 32, 10), "relu")
    trained = fit(
        start, (x[::2], images.y[::2]), "cross-entropy", step=0.005, steps=400, batch=100
    ).network
    return replace(
        Network.described(trained, "digits, trained plainly"), data=Dataset("digits", x, images.y)
    )


def one_weight_zero(rng: np.random.Generator) -> Network:
    """The negative control: the loss does not depend on the first entry, so that a whole edge of the box is worst."""
    return classifier(rng, kind="linear", zeros=1)


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    "there are rows with labels: ±1 or 0 and 1 of one output, classes of several",
    remedy="give --data with labels, one class per row",
    name="labelled rows",
)
def has_labels(net: Network, *, rows: int) -> Finding:
    if net.data is None or net.data.y is None:
        return Finding.failed("no labels")
    try:
        jax.eval_shape(net.apply, net.params, jax.ShapeDtypeStruct(net.input_shape, np.float64))
        targets_of(net, rows)
    except (SubjectError, UsageError) as error:
        return Finding.failed(f"{error.got or error}")
    except Exception as error:  # whatever the network raises for real numbers
        return Finding.failed(f"the network takes no real inputs: {type(error).__name__}")
    count = min(rows, len(net.data))
    return Finding.proved(
        f"{count} of {len(net.data)} rows", "they were read", Enclosure.exact(count)
    )


@hypothesis(
    r"$\theta\mapsto\ell(f_\theta(x),y)$ is differentiable and its gradient is continuous in $(\theta,x)$",
    remedy="smooth activations (tanh, softplus, GELU) have it; a ReLU network has it away from its kinks",
    name="a smooth loss",
)
def smooth_loss(net: Network) -> Finding:
    example = np.zeros(net.input_shape)
    if is_smooth_function(net.apply, net.params, example):
        return Finding.proved("smooth in parameters and input", "every operation of the program is")
    return Finding.assumed(
        "the program has kinks: smooth away from them, and it is not checked where they are"
    )


@hypothesis(
    r"each row has one worst input, $\arg\max_{\|x'-x\|_\infty\le\varepsilon}\ell(f_\theta(x'),y)=\{x^*\}$",
    remedy="a weight that is zero, or a symmetry, leaves many: move the parameters a little",
    name="one maximiser",
)
def one_maximiser(net: Network, *, rows: int, epsilon: float) -> Finding:
    linear = read_linear(net)
    if linear is not None:
        note = f"{linear.zeros} of {len(linear.weight)} weights are zero"
        why = "the maximiser is x − ε y sign(w), the only one where no weight is zero"
        return Finding.decide(
            linear.zeros == 0, note, why, Enclosure.exact(linear.zeros), basis=Basis.EXACT
        )
    if net.data is None or net.data.y is None:
        return Finding.undecided("labels")
    x, y = targets_of(net, rows)
    ties = search(net, net.params, x, y, epsilon).ties(epsilon)
    note = f"{ties} of {len(x)} rows have a second input with the same loss, among those found"
    return Finding.failed(note) if ties else Finding.sampled(note)


@theorem(
    title="Danskin's theorem and adversarial training",
    gist="The worst loss near an example has the gradient of the plain loss at the worst input, held fixed: so "
    "training on attacked examples descends on the worst case, as far as the attack finds it.",
    see_also=("robustness-accuracy-trade-off", "linear-relaxation-bounds", "lipschitz-bounds"),
    sources=("danskin1966", "madry2018", "gowal2018"),
    assumes=(has_labels, smooth_loss, one_maximiser),
    on=classifier,
    breaks_on=one_weight_zero,
    of_parameters=True,
    audited=False,
    presets={
        "textbook": {},
        "worked example": {"kind": "worked example"},
        "a smooth network": {"kind": "smooth network"},
        "certified training of the digits": {"kind": "digits", "retrain": "ibp", "epsilon": 0.05},
        "broken on purpose": {"zeros": 1},
    },
)
def danskin_adversarial_training(
    net: Network,
    rng: np.random.Generator,
    *,
    epsilon: Annotated[
        float,
        Knob(
            0.001,
            1.0,
            "how far an input may move, in every entry",
            "ε",
            log=True,
            least=1e-9,
            most=1e6,
        ),
    ] = 0.1,
    rows: Annotated[int, Knob(1, 64, "rows of the data", "n", log=True, most=256)] = 8,
    step: Annotated[
        float,
        Knob(1e-6, 0.1, "step of the difference quotients", "h", log=True, least=1e-9, most=1.0),
    ] = 1e-4,
    retrain: Annotated[
        str,
        Knob(
            says="train a copy for the worst case and compare (of several outputs)",
            choices=(NO, *METHODS),
        ),
    ] = NO,
) -> Evidence:
    r"""Let $\varphi(\theta)=\max_{x'\in B}\ell(\theta,x')$ with $B$ compact, and let $\nabla_\theta\ell$ exist and be
    continuous. Then for every direction $v$
    $$\varphi'(\theta;v)=\lim_{h\downarrow0}\frac{\varphi(\theta+hv)-\varphi(\theta)}h
    =\max_{x^*\in\arg\max_B\ell(\theta,\cdot)}\langle\nabla_\theta\ell(\theta,x^*),v\rangle,$$
    and where the maximiser $x^*$ is unique, $\nabla\varphi(\theta)=\nabla_\theta\ell(\theta,x^*)$. With
    $B=\{x':\|x'-x\|_\infty\le\varepsilon\}$, $\ell=\log(1+e^{-yf})$ and $f=w^\top x+b$ the maximiser is
    $x^*=x-\varepsilon y\,\mathrm{sign}(w)$. Of other networks it is found by a search, which may miss it."""
    x, y = targets_of(net, rows)
    linear = read_linear(net)
    direction = _draw_direction(net.params, rng)
    if linear is not None:
        told = _linear_evidence(
            linear, _read_direction(direction), x, y, Fraction(epsilon), Fraction(step)
        )
    else:
        told = _searched_evidence(net, direction, x, y, epsilon, step)
    if int(np.prod(net.output_shape)) == 1:
        return told
    try:
        seen = _between_search_and_bounds(net, x, y, epsilon)
    except GraphError:  # a network with an operation that has no bounds still has a search
        seen = Evidence((), summary="no certified bounds")
    charts = told.charts if retrain == NO else (draw_retrained(net, retrain, epsilon), *told.charts)
    return replace(
        told,
        claims=(*told.claims, *seen.claims),
        charts=charts,
        numbers={**told.numbers, **seen.numbers},
        summary=f"{told.summary}; {seen.summary}",
    )


# ---- linear classifiers ----------------------------------------------------------------------------------------------


def _linear_evidence(
    theta: Linear,
    direction: Linear,
    x: np.ndarray,
    y: np.ndarray,
    epsilon: Fraction,
    step: Fraction,
) -> Evidence:
    """Margins in rationals, losses in balls: the loss is convex, so that difference quotients enclose its slope."""
    table = [
        LabelledInput(tuple(map(Fraction, row.ravel().tolist())), int(label))
        for row, label in zip(x, y.ravel())
    ]
    mean = lambda values: Enclosure.exact(sum(values, Fraction(0)) / len(table))
    opposite = Linear(tuple(-v for v in direction.weight), -direction.bias)
    pairs = [(row, v) for row in table for v in (direction, opposite)]
    agree = [
        row.slope(theta, v, epsilon) == row.slope_at_minimiser(theta, v, epsilon)
        for row, v in pairs
    ]
    claims = [
        Identity(
            "pairs of a row and ±v where the least margin has the slope at its worst input, in rationals",
            Enclosure.exact(sum(agree)),
            Enclosure.exact(len(pairs)),
        )
    ]
    loss = lambda t: worst_loss(table, theta.move(t, direction), epsilon)
    here = loss(Fraction(0))
    slope = Enclosure.ball(loss_slope(table, theta, direction, epsilon))
    behind, ahead = (
        Enclosure.ball(quotient(*pair, step)) for pair in ((here, loss(-step)), (loss(step), here))
    )
    claims += [
        AtMost(
            "backward difference quotient of the worst loss, and the slope at the worst inputs",
            behind,
            slope,
        ),
        AtMost(
            "slope of the loss at the worst inputs, and the forward difference quotient",
            slope,
            ahead,
        ),
    ]
    lines = [Fraction(k, POINTS // 2) for k in range(-(POINTS // 2), POINTS // 2 + 1)]
    values = [float(loss(t).mid()) for t in lines]
    margin = mean([row.least_margin(theta, epsilon) for row in table])
    numbers = {"least margin": margin, "worst loss": Enclosure.ball(here), "slope along v": slope}
    return Evidence(
        tuple(claims),
        (draw_line([float(t) for t in lines], values, float(here.mid()), slope.middle),),
        numbers,
        summary=f"least margin {margin.middle:.4g}, worst loss {float(here.mid()):.4g}, "
        f"slope along v {slope.middle:.4g}",
    )


def _read_direction(params: Any) -> Linear:
    weight, bias = params[0]
    return Linear(tuple(map(Fraction, weight[0].tolist())), Fraction(float(bias[0])))


# ---- other networks --------------------------------------------------------------------------------------------------


def _searched_evidence(
    net: Network, direction: Any, x: np.ndarray, y: np.ndarray, epsilon: float, step: float
) -> Evidence:
    """The central difference quotient of the worst loss found, and the slope at the inputs found."""
    found = search(net, net.params, x, y, epsilon)
    gradient = gradient_at(net, net.params, found.points, y)
    slope = _inner(gradient, direction)
    value = lambda t: search(net, _add(net.params, t, direction), x, y, epsilon, found.points).value
    difference = (value(step) - value(-step)) / (2 * step)
    length = np.sqrt(_inner(gradient, gradient))
    down = search(
        net, _add(net.params, -step / max(length, 1e-300), gradient), x, y, epsilon, found.points
    )
    starts = found.all_losses.size
    line = np.linspace(-1.0, 1.0, POINTS) * 50 * step
    return Evidence(
        (
            Identity(
                "slope of the worst loss found along v, by differences and at the inputs found",
                Enclosure.measured(difference, samples=starts),
                Enclosure.measured(slope, samples=starts),
                rtol=1e-3,
                atol=1e-3 * length * np.sqrt(_inner(direction, direction)) + 1e-9,
            ),
            AtMost(
                "worst loss found after a small step against the gradient, and before",
                Enclosure.measured(down.value, samples=starts),
                Enclosure.measured(found.value, samples=starts),
            ),
        ),
        (draw_line(line.tolist(), [value(float(t)) for t in line], found.value, slope),),
        {
            "worst loss found": Enclosure.at_least(found.value, samples=starts),
            "slope at the inputs found": slope,
        },
        summary=f"worst loss found {found.value:.4g}, its slope along v {difference:.4g} by differences and "
        f"{slope:.4g} at the inputs found",
    )


def _between_search_and_bounds(
    net: Network, x: np.ndarray, y: np.ndarray, epsilon: float
) -> Evidence:
    """The worst loss from both sides: found by the search, and bounded by certified margins."""
    found = search(net, net.params, x, y, epsilon)
    margins = certified_margins(net, x, y, epsilon)
    least = np.where(y > 0, 0.0, margins)
    above = float(np.mean(np.logaddexp.reduce(-least, axis=1)))
    kept = count_unflipped(net, net.params, found, y)
    certified = certified_share(margins, y)
    starts = found.all_losses.size
    return Evidence(
        (
            AtMost(
                "worst loss found, and its certified bound",
                Enclosure.measured(found.value, samples=starts),
                Enclosure.equal(above),
            ),
            AtMost(
                "rows certified, and rows that the search could not flip",
                Enclosure.exact(certified),
                Enclosure.exact(kept),
            ),
        ),
        numbers={
            "certified bound of the worst loss": above,
            "rows certified": Enclosure.exact(certified),
            "rows not flipped": Enclosure.exact(kept),
        },
        summary=f"{certified} of {len(x)} rows certified, {kept} not flipped at ε = {epsilon:g}",
    )


def _draw_direction(params: Any, rng: np.random.Generator) -> Any:
    """A random direction of length 1 in all parameters."""
    drawn = jax.tree.map(lambda leaf: rng.normal(size=np.shape(leaf)), params)
    length = np.sqrt(_inner(drawn, drawn))
    return jax.tree.map(lambda leaf: leaf / length, drawn)


def _inner(one: Any, other: Any) -> float:
    return float(sum(np.vdot(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other))))


def _add(params: Any, t: float, direction: Any) -> Any:
    return jax.tree.map(lambda leaf, v: leaf + t * v, params, direction)
