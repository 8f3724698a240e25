"""Three ReLU neurons make the hat function, and two cannot."""

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Annotated

import numpy as np
from flint import fmpz_mat  # type: ignore[import-untyped]

from ftheta.logic import (
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.logic.chart import Role
from ftheta.networks import count
from ftheta.relu.line.cpa1d import (
    PiecewiseAffine,
    absolute,
    affine,
    compose,
    enclose_rational,
    exact_form,
    exact_value,
    on_the_line,
    realisation,
    relu,
)
from ftheta.relu.line.hat import DEEP, HAT, shallow
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

RAMP = affine(0, 1) - HAT
r"""$\min\{|x|,1\}$."""

PRINTED = relu(absolute(affine(0, 1) - absolute(affine(1))))
r"""$\max\{0,|1-|x||\}$, as a source prints it."""


def three_neurons(
    rng: np.random.Generator,
    *,
    copies: Annotated[
        int, Knob(1, 100, "rescaled copies that each neuron is split into", "m", log=True, most=500)
    ] = 1,
    offset: Annotated[
        float, Knob(-0.5, 0.5, "error in the bias of the third neuron", "ε", least=-1e3, most=1e3)
    ] = 0.0,
) -> Network:
    return Network.described(
        shallow(copies, offset), f"{3 * copies} neurons, third bias off by {offset:g}"
    )


def bias_slightly_off(rng: np.random.Generator) -> Network:
    return three_neurons(rng, copies=1, offset=2.0**-10)


@hypothesis(
    r"$f_\theta:\mathbb R\to\mathbb R$ is a ReLU network",
    remedy="give layers with one input, one output",
)
def one_input_relu_network(net: Network) -> Finding:
    f = exact_form(net.description)
    if isinstance(f, str):
        return Finding.failed(f"this one has {f}")
    return Finding.proved(
        f"{len(f.slopes)} affine pieces", "in rational arithmetic", Enclosure.exact(len(f.slopes))
    )


@hypothesis(
    r"the slope jumps by $+1,-2,+1$ at $-1,0,1$; $f_\theta=0$ on the left",
    remedy="correct weights and biases",
)
def weights_of_the_hat(net: Network) -> Finding:
    f = exact_form(net.description)
    if isinstance(f, str):
        return Finding.undecided("exact pieces")
    found = ", ".join(
        f"{float(jump):+.17g} at {float(t):.17g}" for t, jump in list(f.jumps.items())[:4]
    )
    note = (
        f"slope jumps {found or 'none'}{' …' * (len(f.kinks) > 4)}; value at −1: {float(f(-1)):g}"
    )
    same = f.jumps == HAT.jumps and f.slopes[0] == 0 == f(-1)
    return Finding.proved(note, "in rational arithmetic") if same else Finding.failed(note)


@theorem(
    title="The hat function as a ReLU network",
    gist="Three ReLU neurons make the hat function exactly and two cannot: the smallest example of a network that is "
    "known completely, and the building block of finite elements on the line.",
    see_also=(
        "relu-univariate-zoo",
        "cpa-1d-one-hidden-layer",
        "fem-basis-relu",
        "one-hidden-layer-not-integrable",
    ),
    sources=("gribonval-slides", "murari-slides"),
    assumes=(one_input_relu_network, weights_of_the_hat, describes_this_function),
    on=three_neurons,
    breaks_on=bias_slightly_off,
    audited=False,
    presets={
        "textbook": {},
        "split a hundred ways": {"copies": 100, "iterates": 63},
        "at the edge": {"copies": 500, "iterates": 1},
        "broken on purpose": {"offset": 0.125},
    },
    errata=r"""Murari's slides print $\max\{0,|1-|x||\}$, which is $|1-|x||$: it has no compact support and is 1 at
    $x=2$.
    The ReLU formula on the same slide is right.""",
)
def hat_function(
    net: Network,
    rng: np.random.Generator,
    *,
    iterates: Annotated[
        int, Knob(1, 64, "how often the hat is applied to itself", "k", most=1000)
    ] = 2,
) -> Evidence:
    r"""With $r(t)=\max\{0,t\}$, for every $x\in\mathbb R$
    $$h(x)=\max\{0,1-|x|\}=r(x+1)-2r(x)+r(x-1)=r(1-r(x)-r(-x)),$$
    $\int h=1$, $\mathrm{supp}\,h=[-1,1]$, $h\circ h=\min\{|x|,1\}$ and $h\circ h\circ h=h$. Two neurons in one hidden
    layer do not do: with at most two kinks, a function that vanishes near $\pm\infty$ vanishes everywhere."""
    layers = on_the_line(net.description)
    f = realisation(layers)
    iterate = iterate_hat(iterates)
    x, distance = (f - HAT).largest
    off = Witness(
        {"x": float(x)},
        enclose_rational(exact_value(layers, x)),
        enclose_rational(HAT(x)),
        "every neuron in rational arithmetic",
    )
    misprint = Witness(
        {"x": 2.0},
        enclose_rational(PRINTED(2)),
        enclose_rational(HAT(2)),
        "both formulas in rational arithmetic",
    )
    left, right = f.support
    return Evidence(
        claims=(
            Identity("sup |f_θ − h|", enclose_rational(distance), Enclosure.exact(0), off),
            Identity("∫ |f_θ|", enclose_rational(f.mass), enclose_rational(1)),
            Identity("left end of the support", enclose_rational(left), enclose_rational(-1)),
            Identity("right end of the support", enclose_rational(right), enclose_rational(1)),
        ),
        as_printed=(
            Identity(
                "max{0, |1 − |x||} = h(x)",
                enclose_rational(PRINTED(2)),
                enclose_rational(HAT(2)),
                misprint,
            ),
        ),
        charts=(_chart_hats(f, iterate, iterates),),
        numbers={
            "sup |f − h|": enclose_rational(distance),
            "integral": enclose_rational(f.mass),
            "hidden neurons": enclose_rational(count(layers).neurons),
        },
        summary=f"f_θ has {len(f.kinks)} kinks; its largest distance to the hat is {float(distance):.6g}, asked: 0",
        examples=partial(_examples, iterates),
    )


def _examples(iterates: int) -> Examples:
    """The hat by two layers, the hat applied to itself, and why two neurons are too few."""
    limit, name = (HAT, "h") if iterates % 2 else (RAMP, "min(|x|, 1)")
    deep = (realisation(DEEP) - HAT).largest[1]
    iterate = iterate_hat(iterates)
    far = (iterate - limit).largest[1]
    return Examples(
        claims=(
            Identity("sup |r(1 − r(x) − r(−x)) − h|", enclose_rational(deep), enclose_rational(0)),
            Identity(
                f"sup |h∘…∘h − {name}|, {iterates} times",
                enclose_rational(far),
                enclose_rational(0),
            ),
            Identity(
                "rank of “two neurons vanish far out” in c₀, c₁, c₂",
                enclose_rational(two_neuron_rank()),
                enclose_rational(3),
            ),
        ),
        numbers={
            "printed formula at 2": enclose_rational(PRINTED(2)),
            "iterate at 2": enclose_rational(iterate(2)),
        },
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def iterate_hat(times: int) -> PiecewiseAffine:
    r"""$h\circ\dots\circ h$."""
    f = HAT
    for _ in range(times - 1):
        f = compose(HAT, f)
    return f


def two_neuron_rank() -> int:
    """The least rank, over all orientations of two neurons, of the conditions to vanish far out (three unknowns)."""
    return min(far_field_rank(signs) for signs in product((1, -1), repeat=2))


def far_field_rank(signs: Sequence[int]) -> int:
    r"""Rank of the conditions under which $c_0+\sum_kc_k\max\{0,\epsilon_k(x-k)\}$ vanishes near $\pm\infty$.

    `signs` are the $\epsilon_k=\pm1$. There are four conditions: slope and intercept at either end vanish. Full rank
    (one more than there are neurons) says that only the zero function meets them. Two distinct kinks are always $0$ and
    $1$ after an affine change of $x$.
    """
    # (slope, intercept) near +∞
    rising = [(1, -k) if sign > 0 else (0, 0) for k, sign in enumerate(signs)]
    falling = [(-1, k) if sign < 0 else (0, 0) for k, sign in enumerate(signs)]  # and near −∞
    slopes = [[0, *(slope for slope, _ in side)] for side in (rising, falling)]
    intercepts = [[1, *(intercept for _, intercept in side)] for side in (rising, falling)]
    return fmpz_mat(slopes + intercepts).rank()


# ---- charts ----------------------------------------------------------------------------------------------------------


def _chart_hats(f: PiecewiseAffine, iterate: PiecewiseAffine, times: int) -> Curves:
    """The network, the hat, the misprint and the iterate."""
    roles: list[tuple[str, PiecewiseAffine, Role]] = [
        ("network", f, "measured"),
        ("hat h", HAT, "bound"),
        ("as printed", PRINTED, "reference"),
        (f"h applied {times} times", iterate, "other"),
    ]
    series = tuple(Series(name, *g.corners(-3, 3), role) for name, g, role in roles)
    return Curves("the hat and its misprint", Axis("x"), Axis("value"), series)
