"""The largest of M numbers, by a tree of pairs: logarithmic depth."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import Claim, Evidence, Finding, Identity, Knob, Witness, hypothesis, theorem
from ftheta.networks import Dense, Description, count
from ftheta.networks.description import require_layers
from ftheta.relu.counts import count as count_relu
from ftheta.relu.describe import describe_layers, plain_form
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.maxima.maximum import Shape, hidden_layers, maximum, neurons, pair_maximum
from ftheta.relu.network import ExactNetwork
from ftheta.relu.symmetry.canonical import canonical
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

from .braid import MOST, against_maximum, preactivations
from .charts import draw_bracket, draw_growth
from .tournament import SHAPES, shape_of, tied_points

ZERO = enclose_rational(0)


def rounds_of_pairs(
    rng: np.random.Generator,
    *,
    numbers: Annotated[int, Knob(2, 64, "how many numbers", "M", log=True)] = 5,
    shape: Annotated[
        str, Knob(says="tree of pairs, or one number after the other", choices=SHAPES)
    ] = "tree",
    offset: Annotated[
        float, Knob(-1, 1, "error in the first weight", "ε", least=-1e3, most=1e3)
    ] = 0.0,
) -> Network:
    first, *others = describe_layers(
        maximum(numbers, "tree" if shape == "tree" else "chain")
    ).layers
    weight = first.weight.copy()
    weight[0, 0] += offset
    layers = Description((Dense(weight, first.bias, first.activation), *others))
    return Network.described(
        layers, f"{shape} of {numbers} numbers" + (f", off by {offset:g}" if offset else "")
    )


def first_weight_off(rng: np.random.Generator) -> Network:
    return rounds_of_pairs(rng, numbers=5, offset=2.0**-10)


@hypothesis(
    r"$f:\mathbb R^M\to\mathbb R$ is a ReLU network without biases",
    remedy="give ReLU layers, one output",
)
def homogeneous_network(net: Network) -> Finding:
    told = net.description
    why = plain_form(net.description)
    if told is None or why:
        return Finding.failed(f"this one has {why}")
    bias = max(float(np.abs(layer.bias).max(initial=0.0)) for layer in told.layers)
    note = f"widths {'-'.join(map(str, told.widths))}, largest bias {bias:g}"
    good = bias == 0 and told.widths[-1] == 1 and told.widths[0] > 1
    return (
        Finding.proved(note, "read off the list")
        if good
        else Finding.failed(note, enclose_rational(bias))
    )


@hypothesis(
    r"its rounds compose $\max(u,v)=r(u-v)+r(v)-r(-v)$, up to order and positive scaling of neurons",
    remedy="build it with ftheta.relu.maxima.maximum, or correct the weights",
)
def rounds_compare_pairs(net: Network) -> Finding:
    why = plain_form(net.description)
    shape = None if net.description is None or why else shape_of(exact(net.description))
    return (
        Finding.proved(f"a {shape} of pairs", "weight for weight")
        if shape
        else Finding.failed("other weights")
    )


@theorem(
    title="The maximum as a ReLU network",
    gist="The largest of several numbers is a ReLU network: comparing pairs in a tree takes logarithmic depth, one "
    "number after the other linear depth; max-pooling and every convex piecewise-affine function are built from it.",
    see_also=("cpa-depth-bound", "convex-cpa-and-dc", "network-calculus", "cpa-to-relu-compiler"),
    sources=("murari-slides", "arora2018", "bakaev2025"),
    assumes=(homogeneous_network, rounds_compare_pairs, describes_this_function),
    on=rounds_of_pairs,
    breaks_on=first_weight_off,
    audited=False,
    presets={
        "textbook": {},
        "large": {"numbers": 64},
        "one after the other": {"numbers": 12, "shape": "chain"},
        "at the edge": {"numbers": 2},
        "broken on purpose": {"offset": 0.25},
    },
    errata=r"""Murari's slides print the outer weights as $[1\;1\;{-1}]^\top$: a column cannot follow three
    neurons, the row
    $[1\;1\;{-1}]$ can. The nested recursion $\max\{\max\{a,b\},c\}$ has depth $M-1$; only the tree is logarithmic, and
    the tree is not the least depth: two hidden layers do for five numbers.""",
)
def max_network(
    net: Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(2, 1000, "random and tied inputs tried", "n", log=True)] = 200,
) -> Evidence:
    r"""With $r(t)=\max\{0,t\}$, $\max\{u,v\}=[1,1,-1]\;r\big(u-v,\,v,\,-v\big)^\top$. Rounds of pairs give the largest
    of $M$ numbers with $\lceil\log_2M\rceil$ hidden layers; one number after the other takes $M-1$. A round of $n$
    numbers has $3\lfloor n/2\rfloor+2(n\bmod2)$ neurons, a number left over being carried as $r(x)-r(-x)$."""
    size = count(require_layers(net.description))
    f = exact(require_layers(net.description))
    M = f.widths[0]
    shape = shape_of(f) or "tree"
    x = tied_points(M, points, rng)
    on_cones = _claim_maximum_on_cones(f) if M <= MOST else _claim_pair_on_cones()
    found = {
        "hidden layers": size.activations,
        "neurons": size.neurons,
        "hidden layers of the tree": hidden_layers(M),
        "hidden layers of the chain": hidden_layers(M, "chain"),
        "neurons of the tree": neurons(M),
    }
    return Evidence(
        claims=(_claim_maximum_at_points(f, x), *on_cones, *_claim_sizes(f, shape)),
        as_printed=(_claim_column_of_weights(),),
        charts=(draw_bracket(x[0][:16], shape), draw_growth(M)),
        numbers={name: enclose_rational(number) for name, number in found.items()},
        summary=f"{M} numbers take {size.activations} hidden layers and {size.neurons} neurons in this {shape}",
    )


def _claim_maximum_at_points(f: ExactNetwork, x: np.ndarray) -> Claim:
    """The network is the maximum at every row of `x`."""
    errors = np.abs(preactivations(f, x)[-1][:, 0] - x.max(axis=1))
    worst = int(np.argmax(errors))
    what = f"largest |f − max| at {len(x)} random and tied points"
    return _claim_no_error(f, what, Fraction(errors[worst]), x[worst].tolist())


def _claim_maximum_on_cones(f: ExactNetwork) -> tuple[Claim, Claim]:
    """Network and maximum are linear on each cone of the orders of 0, x₁, …, x_M and agree on the rays that span it."""
    M = f.widths[0]
    found = against_maximum(f)
    what = f"largest |f − max| on the {2 ** (M + 1) - 2} rays of the cones"
    return (
        _claim_no_error(f, what, found.error, found.ray),
        Identity("neurons that change sign inside a cone", enclose_rational(found.bent), ZERO),
    )


def _claim_pair_on_cones() -> tuple[Claim, Claim]:
    """The same for one pair, of which the rounds of many numbers are made: these have too many rays."""
    pair = against_maximum(pair_maximum())
    return (
        Identity(
            "one pair: largest |f − max| on the rays of its cones",
            enclose_rational(pair.error),
            ZERO,
        ),
        Identity(
            "one pair: neurons that change sign inside a cone", enclose_rational(pair.bent), ZERO
        ),
    )


def _claim_no_error(f: ExactNetwork, what: str, error: Fraction, x: Sequence[int]) -> Claim:
    """The largest error is 0; where it is not, the input at which it was found is the witness."""
    witness = None
    if error:
        again = enclose_rational(abs(f(x)[0] - max(x)))
        witness = Witness({"x": tuple(map(float, x))}, again, ZERO, "neuron by neuron in rationals")
    return Identity(what, enclose_rational(error), ZERO, witness)


def _claim_sizes(f: ExactNetwork, shape: Shape) -> tuple[Claim, Claim]:
    """Layers and neurons are as many as stated; neurons that are scaled copies of one another count once."""
    M = f.widths[0]
    size = count_relu(canonical(f))
    layers = enclose_rational(hidden_layers(M, shape))
    return (
        Identity(f"hidden layers of the {shape}", enclose_rational(size.activations), layers),
        Identity(
            f"neurons of the {shape}",
            enclose_rational(size.neurons),
            enclose_rational(neurons(M, shape)),
        ),
    )


def _claim_column_of_weights() -> Claim:
    """The outer weights as a column, as Murari's slides print them: it would follow one neuron, not three."""
    rows, columns = pair_maximum().steps[-1].matrix.shape
    return Identity(
        "columns of [1 1 −1]ᵀ = neurons before it",
        enclose_rational(rows),
        enclose_rational(columns),
    )
