"""Rescaled and reordered neurons are the same function, and gradient flow remembers their balance."""

from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Rate,
    Series,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import Dense, Description, random_mlp
from ftheta.networks.description import require_layers
from ftheta.pieces import Space
from ftheta.pieces.questions.equality import equal
from ftheta.relu.calculus import parts
from ftheta.relu.describe import plain_form
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.matrices import ExactMatrix
from ftheta.relu.network import ExactNetwork
from ftheta.relu.symmetry.canonical import equal_by_symmetry, path_norm
from ftheta.relu.symmetry.copies import measure_norms
from ftheta.relu.symmetry.symmetries import (
    exact_params,
    normalise_signs,
    rescale_randomly,
    sign_copies,
)
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers, relu_layers
from ftheta.theorems.charts_line import draw_on_segment
from ftheta.theorems.knobs import HiddenActivation
from ftheta.training.descent import gradient_descent

from .conserved import Drifts, Flow
from .small_laws import linear_law, scalar_step

LINEAR = (4, 5, 3, 4, 2)  # widths of the linear network
SCALAR = (Fraction(2), Fraction(1, 2), Fraction(3))  # a, w and y
TRIED = 64  # inputs at which a rescaled network of other activations is compared
ANSWERS = {True: "yes, proved", False: "no", None: "not decided"}


def random_network(
    rng: np.random.Generator,
    *,
    inputs: Annotated[int, Knob(1, 16, "number of inputs", "d", log=True, most=64)] = 3,
    width: Annotated[int, Knob(1, 64, "neurons in each hidden layer", "w", log=True)] = 8,
    hidden_layers: Annotated[int, Knob(1, 4, "number of hidden layers", "H")] = 1,
    hidden: HiddenActivation = "relu",
) -> Network:
    layers = random_mlp(rng, (inputs, *[width] * hidden_layers, 1), hidden, bias=0.5)
    return Network.described(layers, f"random {hidden} network {'-'.join(map(str, layers.widths))}")


def hyperbolic_tangents(rng: np.random.Generator) -> Network:
    return random_network(rng, hidden="tanh")


@hypothesis(
    "there are hidden neurons",
    remedy="give a network with a hidden layer: an affine map has no neurons to reorder or rescale",
    name="hidden neurons",
)
def has_neurons(net: Network) -> Finding:
    """Whether there is a layer before the last one."""
    if net.description is None:
        return Finding.undecided("layers")
    neurons = sum(len(layer.bias) for layer in net.description.layers[:-1])
    if neurons == 0:
        return Finding.failed("none: the network is an affine map", Enclosure.exact(0))
    return Finding.proved(f"{neurons:,}", "they are the rows of all matrices but the last")


@theorem(
    title="Symmetries of ReLU networks, and what gradient flow conserves",
    gist="Reordered and rescaled neurons give the same function, so a ReLU network has many equivalent parameters; "
    "gradient flow keeps the balance between incoming and outgoing weights of every neuron as it was initialised.",
    see_also=(
        "landscape-equivalent-minima",
        "network-description-realisation",
        "explicit-regularisation",
    ),
    sources=("murari-slides", "scaman-slides", "du2018", "neyshabur2015"),
    of_parameters=True,
    assumes=(has_layers, has_neurons, relu_layers, describes_this_function),
    on=random_network,
    breaks_on=hyperbolic_tangents,
    presets={
        "textbook": {},
        "large": {"inputs": 16, "width": 32, "hidden_layers": 3},
        "at the edge": {"inputs": 1, "width": 1, "tau": 1.0},
        "broken on purpose": {"hidden": "tanh"},
    },
)
def relu_symmetries_conservation(
    net: Network,
    rng: np.random.Generator,
    *,
    copies: Annotated[int, Knob(1, 32, "random symmetries tried", "n", log=True)] = 4,
    share: Annotated[
        float, Knob(0.01, 0.5, "largest step, in units of 1/λ", "τλ", log=True, least=1e-4)
    ] = 0.1,
    tau: Annotated[
        float, Knob(0.01, 1, "step of the scalar network", "τ", log=True, least=1e-6, most=10)
    ] = 0.1,
) -> Evidence:
    r"""Orders of hidden neurons and $(w_i,b_i,a_i)\mapsto(\lambda w_i,\lambda b_i,a_i/\lambda)$, $\lambda>0$, leave a
    ReLU network $f_\theta$ and its path norm $\sum_i|a_i|\|w_i\|$ unchanged; for tanh there are orders and signs:
    $h!\,2^h$ copies at width $h$. Under gradient flow $D_i=\|w_i\|^2+b_i^2-\|a_i\|^2$ is constant for every hidden
    neuron; for linear networks $W_{\ell+1}^\top W_{\ell+1}-W_\ell W_\ell^\top$ is. A step $\tau$ of gradient descent
    moves $D_i$ by $\tau^2(\|\partial_{w_i}F\|^2+|\partial_{b_i}F|^2-\|\partial_{a_i}F\|^2)$: $O(\tau^2)$ a step,
    $O(\tau)$ over a horizon. For $\frac12(aw-y)^2$, $r=aw-y$, it multiplies $a^2-w^2$ by $1-\tau^2r^2$."""
    layers = require_layers(net.description)
    if plain_form(layers):
        claim, chart = _compare_rescaled(layers, rng)
        return Evidence((claim,), (chart,), summary="a rescaled copy is another function")
    f = exact(layers)
    data = net.data
    flow = Flow.of(layers, None if data is None else data.x, None if data is None else data.y, rng)
    drifts = Drifts.of(flow, gradient_descent, share, (16, 32, 64, 128))
    sizes = measure_norms(layers)
    made = [rescale_randomly(f, rng) for _ in range(copies)]
    smallest = AtMost(
        "squared norm of the minimum-norm rescaling ≤ that of the network",
        Enclosure.equal(sizes.after),
        Enclosure.equal(sizes.before),
    )
    return Evidence(
        claims=(smallest, *_conservation_claims(drifts)),
        charts=(_chart_course(drifts), _chart_orders(drifts)),
        numbers={
            "squared norm": sizes.before,
            "squared norm, balanced": sizes.after,
            "largest imbalance": sizes.imbalance,
            "largest imbalance, balanced": sizes.left,
            "path norm Σ|a|‖w‖": sizes.path,
            "drift over the horizon": drifts.over_horizon[0],
        },
        tables=(_tabulate_equality(f, rng),),
        summary=drifts.summary,
        examples=partial(_examples, f, made, Fraction(tau)),
    )


def _conservation_claims(drifts: Drifts) -> tuple[Identity | Rate, ...]:
    """The law where the runs have been, one step by formula, and the two orders (where anything moves at all)."""
    points = [drifts.flow.start, *(run[-1] for run in drifts.runs if np.isfinite(run[-1]).all())]
    laws = [drifts.flow.law(theta) for theta in points]
    moved, formula = drifts.flow.one_step(drifts.taus[0])
    worst = max(law for law, _ in laws)
    size = max(size for _, size in laws)
    off = float(np.abs(moved - formula).max(initial=0))
    zero = Enclosure.exact(0)
    scale = float((drifts.flow.start**2).sum())
    what = f"largest |d/dt (‖w‖² + b² − ‖a‖²)| under the flow at {len(points)} points of the runs"
    found: list[Identity | Rate] = [
        Identity(what, Enclosure.equal(worst), zero, atol=1e-12 * max(size, 1e-300)),
        Identity(
            "one step, minus τ²(‖∂w‖² + |∂b|² − ‖∂a‖²)",
            Enclosure.equal(off),
            zero,
            atol=1e-13 * scale,
        ),
    ]
    inverse = tuple(1 / tau for tau in drifts.taus)
    for words, order, errors in (
        ("in one step", 2, drifts.in_one_step),
        ("over the horizon", 1, drifts.over_horizon),
    ):
        if (
            np.isfinite(errors).all() and min(errors) > 1e-11 * scale
        ):  # below, rounding is all there is
            slope = fit_rate(np.array(inverse), np.array(errors))
            found.append(
                Rate(f"drift {words}", order, slope, inverse, tuple(errors), slack=0.25, sharp=True)
            )
    return tuple(found)


def _tabulate_equality(f: ExactNetwork, rng: np.random.Generator) -> Table:
    """Whether a copy, and a network with one weight changed, is decided to be the same function on all of space."""
    others = {
        "a copy in another order and scale": rescale_randomly(f, rng),
        "its first output weight doubled": double_weight(f),
    }
    answers = {name: equal(f, g, Space(f.widths[0])) for name, g in others.items()}
    rows = tuple((name, ANSWERS[same.equal], same.how) for name, same in answers.items())
    return Table("is it the same function?", ("network", "answer", "how"), rows)


def double_weight(f: ExactNetwork) -> ExactNetwork:
    """The network with its first output weight doubled: most often another function."""
    *before, (matrix, offset, mask) = parts(f)
    first, *rest = matrix.rows
    k = min(first, default=None)
    changed = first if k is None else {**first, k: 2 * first[k]}
    return f.rebuilt([*before, (ExactMatrix((changed, *rest), matrix.shape), offset, mask)])


def _compare_rescaled(layers: Description, rng: np.random.Generator) -> tuple[Identity, Curves]:
    """A network of other activations and a rescaled copy, where they differ most, in float64; and both on the way there
    from 0."""
    hidden = tuple(Dense(layer.weight, layer.bias, "relu") for layer in layers.layers[:-1])
    last = layers.layers[-1]
    params = exact_params(
        rescale_randomly(exact(Description((*hidden, Dense(last.weight, last.bias)))), rng)
    )
    x = rng.normal(size=(TRIED, layers.widths[0]))
    gap = lambda rows: np.abs(
        np.asarray(layers.apply(params, rows) - layers.apply(layers.params, rows))
    ).max(axis=-1)
    worst = int(np.argmax(gap(x)))

    def gap_at(rescaled: Any, params: Any, x: Any) -> Any:
        return jnp.max(jnp.abs(layers.apply(rescaled, x) - layers.apply(params, x)))

    again = enclose_number(gap_at, params, layers.params, x[worst])
    how = "both networks at this input alone, in intervals rounded outward"
    witness = Witness({"x": tuple(x[worst].tolist())}, again, enclose_rational(0), how)
    seen = Enclosure.measured(float(gap(x[worst])), samples=TRIED)
    functions = {
        "rescaled copy": partial(layers.apply, params),
        "f": partial(layers.apply, layers.params),
    }
    end = x[worst]
    title = "f and its rescaled copy, from 0 to where they differ most"
    return (
        Identity("largest |f − rescaled copy|", seen, enclose_rational(0), witness, atol=1e-9),
        draw_on_segment(title, functions, np.zeros_like(end), end),
    )


# ---- examples --------------------------------------------------------------------------------------------------------


def _examples(f: ExactNetwork, copies: list[ExactNetwork], tau: Fraction) -> Examples:
    """The copies of this network; the scalar network, a linear one and the copies of a tanh network; in rationals."""
    other = sum(not equal_by_symmetry(f, copy) for copy in copies)
    path = Fraction(path_norm(f))
    change = max((abs(Fraction(path_norm(copy)) - path) for copy in copies), default=Fraction(0))
    factor, formula = scalar_step(*SCALAR, tau)
    rate = linear_law(LINEAR, np.random.default_rng(0))
    signed = _sign_copies_of_three()
    functions = {normalise_signs(copy) for copy in signed}
    return Examples(
        claims=(
            Identity(
                f"copies among {len(copies)} that are not the same function",
                enclose_rational(other),
                enclose_rational(0),
            ),
            Identity(
                "largest change of the path norm", enclose_rational(change), enclose_rational(0)
            ),
            Identity(
                "factor of a² − w² in one step, minus 1 − τ²r²",
                enclose_rational(factor - formula),
                enclose_rational(0),
            ),
            Identity(
                "largest rate of WᵀW − WWᵀ in a linear network",
                enclose_rational(rate),
                enclose_rational(0),
            ),
            Identity(
                "copies of a tanh network of width 3",
                enclose_rational(len(signed)),
                enclose_rational(48),
            ),
            Identity(
                "different functions among them",
                enclose_rational(len(functions)),
                enclose_rational(1),
            ),
        ),
        numbers={
            "factor of a² − w²": enclose_rational(factor),
            "copies at tanh width 3": enclose_rational(len(signed)),
        },
    )


def _sign_copies_of_three() -> set[tuple[Any, ...]]:
    """All orders and signs of three random neurons of two inputs."""
    return sign_copies(exact(random_mlp(np.random.default_rng(0), (2, 3, 1), bias=0.5)))


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_course(drifts: Drifts) -> Curves:
    """How the worst invariant moves: under descent with large and small steps, and under the midpoint rule."""
    before = drifts.flow.invariants(drifts.flow.start)
    worst = int(np.argmax(np.abs(drifts.flow.invariants(drifts.runs[0][-1]) - before)))
    trace = lambda run: [
        float(drifts.flow.invariants(theta)[worst] - before[worst]) for theta in run
    ]
    series = []
    for k in (0, len(drifts.runs) // 2, len(drifts.runs) - 1):
        time = drifts.taus[k] * np.arange(len(drifts.runs[k]))
        every = slice(None, None, max(1, len(time) // 128))
        role = "measured" if k == 0 else "other"
        series.append(
            Series(
                f"gradient descent, τ = {drifts.taus[k]:.2g}",
                time[every],
                trace(drifts.runs[k][every]),
                role,
            )
        )
    time = drifts.taus[0] * np.arange(len(drifts.runs[0]))
    middle = drifts.flow.midpoint(drifts.taus[0], len(drifts.runs[0]) - 1)
    series.append(Series("midpoint rule", time, trace(middle), "reference"))
    what = f"change of ‖w‖² + b² − ‖a‖², neuron {worst + 1}"
    return Curves(
        "an invariant of gradient flow during training", Axis("time kτ"), Axis(what), tuple(series)
    )


def _chart_orders(drifts: Drifts) -> Curves:
    """The drift against the step, in one step and over the horizon."""
    series = (
        Series(
            "over the horizon", drifts.taus, np.maximum(drifts.over_horizon, 1e-300), "measured"
        ),
        Series("in one step", drifts.taus, np.maximum(drifts.in_one_step, 1e-300), "other"),
    )
    return Curves(
        "drift of the worst invariant", Axis("step τ", "log"), Axis("largest change", "log"), series
    )
