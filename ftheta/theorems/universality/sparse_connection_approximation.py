"""What a budget of neurons or of connections buys, and what depth adds to it."""

from typing import Annotated

import numpy as np

from ftheta.logic import AtMost, Evidence, Identity, Knob, theorem
from ftheta.networks import random_mlp
from ftheta.networks import sparsity as sparse
from ftheta.networks.realisation import compared, layers_of, pruned
from ftheta.relu.line import budgets
from ftheta.relu.line.cpa1d import known
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function


def thinned(
    rng: np.random.Generator,
    *,
    width: Annotated[int, Knob(2, 64, "neurons in each of two hidden layers", "w", log=True, most=256)] = 16,
    share: Annotated[float, Knob(0, 0.99, "share of the weights that are zero", "ρ", least=0, most=1)] = 0.5,
    skip: Annotated[bool, Knob(says="a skip connection that the list of layers does not know")] = False,
) -> Network:
    layers = pruned(random_mlp(rng, (2, width, width, 1), bias=0.5), share, rng)
    if not skip:
        return Network.described(layers, f"random network with {share:.0%} zeros")
    apply = lambda params, x: layers.apply(params, x) + x[..., :1]
    return Network("network with a hidden skip connection", apply, layers.params, (2,), layers)


def hidden_skip(rng: np.random.Generator) -> Network:
    return thinned(rng, skip=True)


@theorem(
    title="Approximation on a budget of neurons or connections",
    sources=("seed 1", "gribonval2022"),
    assumes=(described, describes_this_function),
    on=thinned,
    breaks_on=hidden_skip,
    presets={
        "textbook": {},
        "64 pieces from 24 weights": {"a": 4, "k": 3},
        "free knots": {"target": "√x", "pieces": 32},
        "wide": {"width": 64, "share": 0.8},
        "at the edge": {"a": 1, "k": 1, "pieces": 1, "share": 0.99},
        "broken on purpose": {"skip": True},
    },
    errata=r"""The classes $A^\alpha_q$ for the two budgets need not agree: $N\le W$ once dangling neurons are gone, but
    $W$ may be of order $N^2$.""",
)
def sparse_connection_approximation(
    net: Network,
    rng: np.random.Generator,
    *,
    a: Annotated[int, Knob(1, 8, "pieces of one zig-zag", "a", most=16)] = 5,
    k: Annotated[int, Knob(1, 4, "zig-zags one after the other", "k", most=4)] = 2,
    target: Annotated[str, Knob(says="function to approximate", symbol="f", choices=tuple(budgets.CURVES))] = "x²",
    pieces: Annotated[int, Knob(1, 64, "affine pieces of the approximation of x²", "n", log=True, most=500)] = 16,
    points: Annotated[int, Knob(16, 1024, "random inputs where a network without data is read", "m", log=True)] = 256,
) -> Evidence:
    r"""$E(f,\Sigma_n)=\inf\{\|f-f_\theta\|:\text{budget of }\theta\le n\}$, the budget being the number $W$ of non-zero
    weights or $N$ of neurons; $A^\alpha_q=\{f:\sum_n[n^\alpha E(f,\Sigma_{n-1})]^q/n<\infty\}$ is a quasi-normed linear
    space, unchanged by skip connections. Without dangling neurons $N\le W\le(N+d)(N+m)$ for $d$ inputs and $m$ outputs.
    Depth oscillates: with $L=2k$ affine maps, $W=2ak$ connections make $a^k=(W/L)^{L/2}$ pieces."""
    told = layers_of(net.description)
    d, m, kept = told.widths[0], told.widths[-1], sparse.budget(told)
    x = rng.normal(size=(points, d)) if net.data is None else np.asarray(net.data.x, np.float64).reshape(-1, d)[:points]
    same, curve, study = compared(net, sparse.without_dangling(told), x), sparse.pruning(told, x), budgets.study(target)
    zigzag, numbers = budgets.about_the_zigzag(a, k)
    W, N = known(kept.connections), known(kept.neurons)
    what = "f, and f without its dangling neurons, where they differ most"
    return Evidence(
        claims=(
            Identity(what, same.left, same.right, same.again, atol=same.tolerance),
            AtMost("live neurons N ≤ live connections W", N, W),
            AtMost("W ≤ (N + d)(N + m)", W, known((kept.neurons + d) * (kept.neurons + m))),
            *zigzag,
            *budgets.about_the_square(pieces),
            *study.claims,
        ),
        charts=(study.chart(), curve.chart()),
        numbers=numbers | study.numbers | {"live W": W, "live N": N, "W for 1 % error": curve.within(0.01)},
        tables=(sparse.report(told),),
        summary=f"{kept.connections:,} of {kept.all_connections:,} connections and {kept.neurons:,} of "
        f"{kept.all_neurons:,} neurons are live; {a**k} pieces from {2 * a * k} connections",
    )
