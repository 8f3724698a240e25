"""Small functions of one variable are small ReLU networks: the exercises, and the smallest network of any."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import AtMost, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.relu.counts import count
from ftheta.relu.elementary.zoo import NAMES, atoms, exercises, powers, printed_power, shape, sketches, weights
from ftheta.relu.line.cpa1d import known
from ftheta.relu.line.fewest import fewest
from ftheta.relu.line.points import on_line
from ftheta.relu.line.program import LineFunction, exact_pieces, pieces_or_interpolant
from ftheta.subjects import Target


def exercise(
    rng: np.random.Generator,
    *,
    function: Annotated[str, Knob(says="which function", symbol="f", choices=(*NAMES, "parabola"))] = "soft threshold",
    threshold: float = 1.0,
) -> Target:
    if function == "parabola":
        return parabola(rng)
    return Target(function, LineFunction(shape(function, threshold)), (-3.0,), (3.0,))


def parabola(rng: np.random.Generator) -> Target:
    return Target("x²", jnp.square, (-2.0,), (2.0,))


@hypothesis(
    r"$f:\mathbb R\to\mathbb R$ is continuous and piecewise affine",
    remedy="write f of one number in jax.numpy with +, multiples, abs, maximum, minimum, clip",
)
def piecewise_affine(f: Target) -> Finding:
    read = exact_pieces(f.f, f.dimension)
    if isinstance(read, str):
        return Finding.failed(read)
    pieces, basis = read
    return Finding.proved(
        f"{len(pieces.slopes)} affine pieces", "read off the graph", known(len(pieces.slopes)), basis=basis
    )


@theorem(
    title="ReLU networks of small functions",
    sources=("seed 1", "seed 2"),
    assumes=(piecewise_affine,),
    on=exercise,
    breaks_on=parabola,
    presets={
        "textbook": {},
        "power sixty": {"function": "absolute value", "power": 60},
        "at the edge": {"threshold": 0.0, "power": 1},
        "broken on purpose": {"function": "parabola"},
    },
    errata=r"""Seed 2 states the formula for $x^p$ for all $p\in\mathbb N$. With $t^0=1$ its right side is 2 at $p=0$:
    it holds for $p\ge1$. For $p>1$ it is a network of rectified powers, not of ReLUs.""",
)
def relu_univariate_zoo(
    target: Target,
    rng: np.random.Generator,
    *,
    power: Annotated[int, Knob(1, 12, "exponent of the power", "p", most=200)] = 3,
    threshold: Annotated[float, Knob(0, 2, "threshold of the soft threshold", "λ", most=1e6)] = 1.0,
) -> Evidence:
    r"""With $r(t)=\max\{0,t\}$, for all $x,y\in\mathbb R$: $x=r(x)-r(-x)$, $|x|=r(x)+r(-x)$, $\min\{x,y\}=x-r(x-y)$,
    $\min\{1,r(x)\}=r(x)-r(x-1)$, $S_\lambda(x)=r(x-\lambda)-r(-x-\lambda)$ for $\lambda\ge0$, and
    $x^p=r(x)^p+(-1)^pr(-x)^p$ for integers $p\ge1$. A continuous piecewise-affine $f$ with $m\ge1$ kinks needs $m$ or
    $m+1$ neurons; $m$ do exactly when minus its first slope is a sum of some of its jumps of slope."""
    f, elsewhere = pieces_or_interpolant(target.f, target.lo, target.hi)
    net, least = fewest(f)
    m, neurons = len(f.kinks), count(net).neurons
    off = elsewhere.left if elsewhere else known((on_line(net)[0] - f).largest[1])
    odd = known(printed_power(1, 0))
    return Evidence(
        claims=(
            *exercises(threshold, power),
            Identity("sup |f − its smallest network|", off, known(0), elsewhere),
            AtMost("neurons of f", known(neurons), known(max(m + 1, 2))),
        ),
        as_printed=(Identity("r(x)^p + (−1)^p r(−x)^p = x^p at p = 0, x = 1", odd, known(1)),),
        charts=(atoms(f, net, f"{target.name} and its neurons"), sketches(threshold), powers(power)),
        numbers={
            "kinks": known(m),
            "neurons": known(neurons),
            "fewest neurons possible": least,
            "formula for x^0 at 1": odd,
        },
        tables=(weights(net),),
        summary=f"{target.name} has {m} kinks and takes {neurons} neurons; every formula holds exactly",
    )
