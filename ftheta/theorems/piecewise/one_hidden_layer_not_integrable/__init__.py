"""In two dimensions and more, one hidden layer is never integrable: its kinks do not end."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    Claim,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.relu.counts import count
from ftheta.relu.exact import exact
from ftheta.relu.geometry import Form
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactNetwork
from ftheta.subjects import Network

from .charts import (
    draw_along_rays,
    draw_landscape,
    draw_masses,
    escaping_ray_of,
    random_rays,
    tabulate_hyperplanes,
)
from .escaping import Decay
from .jumps import find_jump_change, measure_jump_change
from .named_networks import COMPACT_HAT, KINDS, build_network, integrate_ridge_hat
from .uniform import claim_uniform_distance, draw_uniform_distance, radial_limit

ZERO = enclose_rational(0)
MOST_WEIGHTS = 60_000  # in rationals


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", symbol="f", choices=KINDS)] = "ridge hat",
    inputs: Annotated[int, Knob(2, 6, "number of inputs", "d", most=64)] = 2,
    width: Annotated[
        int, Knob(1, 64, "neurons, or groups of three in disguise", "w", log=True, most=200)
    ] = 8,
) -> Network:
    return Network.described(
        build_network(kind, min(inputs, 3) if "hat" in kind else inputs, width, rng), kind
    )


def two_hidden_layers(rng: np.random.Generator) -> Network:
    return network(rng, kind=COMPACT_HAT)


@hypothesis(
    "there is one hidden layer, or none",
    remedy="take the first hidden layer; deeper ones can be integrable",
    name="one hidden layer",
)
def one_hidden_layer(net: Network) -> Finding:
    form = normal_form(net).network
    if form is None:
        return Finding.failed("there is no normal form to count in")
    layers = count(form).activations
    weights = sum(step.matrix.size for step in form.steps)
    few = layers <= 1 and weights <= MOST_WEIGHTS
    note = f"{layers} hidden layers, {weights:,} weights"
    return Finding.decide(
        few,
        note,
        "counted in its normal form",
        enclose_rational(layers),
        basis=normal_form(net).basis,
    )


@hypothesis(
    r"$d\ge2$",
    remedy="on the line three neurons make an integrable hat; take two inputs or more",
    name="at least two inputs",
)
def two_inputs(net: Network) -> Finding:
    d = int(np.prod(net.input_shape))
    return (
        Finding.proved(f"d = {d}", "counted")
        if d >= 2
        else Finding.failed(f"d = {d}", enclose_rational(d))
    )


@theorem(
    title="One hidden layer is not integrable",
    gist="In two or more dimensions the kinks of a one-hidden-layer network never end, so no such network except zero "
    "is integrable or vanishes outside a bounded set: localised bumps need a second hidden layer.",
    see_also=("cpa-depth-bound", "fem-basis-relu", "hat-function", "extrapolation-ood"),
    sources=("gribonval-slides", "arora2018", "ito1992"),
    errata=r"""The slides of Gribonval, Garivier and Pustelnik state without a norm that two hidden layers are needed on
    non-compact domains in dimension $d>1$. That holds in $L^p(\mathbb R^d)$, $p<\infty$. In the uniform norm one
    hidden layer is dense among the functions that vanish at infinity (Ito).""",
    assumes=(relu_network, one_hidden_layer, two_inputs),
    on=network,
    breaks_on=two_hidden_layers,
    presets={
        "textbook": {},
        "random": {"kind": "random", "inputs": 3, "width": 32},
        "affine after all": {"kind": "affine in disguise"},
        "at the edge": {"kind": "zero in disguise", "radius": 1.0},
        "broken on purpose": {"kind": COMPACT_HAT},
    },
)
def one_hidden_layer_not_integrable(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: Annotated[
        float, Knob(1, 16, "half-width R of the square", "R", log=True, least=1, most=1e6)
    ] = 3.0,
) -> Evidence:
    r"""Let $d\ge2$ and $f(x)=\langle s,x\rangle+t+\sum_kc_k\,r(\langle a_k,x\rangle+b_k)$, neurons with the same
    hyperplane merged. Across $\langle a_k,x\rangle+b_k=0$ the gradient jumps by $c_ka_k$ on the *whole*
    hyperplane. If $f\not\equiv0$ there is a ray on which $f\not\to0$; $f$ is Lipschitz, so $|f|$ is bounded below on a
    tube around it and $f\notin L^p(\mathbb R^d)$ for every $p<\infty$. In particular $f$ has no compact support. The
    ridge hat $\max\{0,1-|x_1|\}$ has integral $2R$ over $[-R,R]^2$. Two hidden layers, or $d=1$, are different. So is
    the uniform norm: means of ridge hats over $K$ directions are within $\frac2K$ of a function that vanishes at
    infinity, on all of $\mathbb R^2$."""
    form = normal_form(net).network
    if form is None:
        return Evidence((), summary="no normal form, hence no ridges")
    f = exact(form)
    landscape = draw_landscape(form, radius, net.name)
    others = random_rays(f, rng, 2)
    if count(form).activations > 1:
        return Evidence(
            (_claim_jumps_constant(f),),
            (landscape, draw_along_rays(f, others, 4 * radius)),
            summary="a kink of this network ends",
            examples=partial(_examples, radius),
        )
    decay = Decay.of(f)
    return Evidence(
        claims=(_claim_every_output_escapes(decay), _claim_jumps_constant(f, decay.hyperplanes)),
        charts=(landscape, draw_along_rays(f, [*escaping_ray_of(decay), *others], 4 * radius)),
        numbers={
            "hyperplanes that survive": enclose_rational(len(decay.hyperplanes)),
            "limit of |f| on the ray": enclose_rational(decay.least_limit),
        },
        tables=(tabulate_hyperplanes(decay),),
        summary=decay.summary,
        examples=partial(_examples, radius, decay),
    )


def _claim_every_output_escapes(decay: Decay) -> Claim:
    """Every output that is not zero has a ray on which it does not tend to 0."""
    return Identity(
        "outputs with a ray on which f does not tend to 0, and outputs f ≢ 0",
        enclose_rational(len(decay.escaping)),
        enclose_rational(sum(not form.is_zero for form in decay.forms)),
    )


def _claim_jumps_constant(f: ExactNetwork, hyperplanes: Sequence[Form] | None = None) -> Identity:
    """The gradient jumps by the same amount near and far on each hyperplane (by default those of the first layer)."""
    found = find_jump_change(f, hyperplanes)
    witness = None
    if found.places is not None:
        x, y = found.places
        again = enclose_rational(measure_jump_change(f, found.normal, x, y))
        at = {
            name: tuple(float(fraction(t)) for t in point) for name, point in (("x", x), ("y", y))
        }
        witness = Witness(
            at, again, ZERO, "the pieces along the normal through either point, in rationals"
        )
    what = f"largest change of the gradient's jump along one of {found.hyperplanes} hyperplanes"
    return Identity(what, enclose_rational(found.change), ZERO, witness)


def _examples(radius: float, decay: Decay | None = None) -> Examples:
    """The ridge hat, whose integral grows with the square, beside a hat with two hidden layers; the rays of this
    network found a second time; and what one hidden layer can do in the uniform norm."""
    mass = enclose_rational(integrate_ridge_hat(radius))
    claims: list[Claim] = [
        Identity("integral of the ridge hat over [−R, R]²", mass, enclose_rational(2 * radius))
    ]
    if decay is not None:
        what = "rays whose end the network itself does not confirm, neuron by neuron"
        claims.append(Identity(what, enclose_rational(decay.count_unconfirmed()), ZERO))
    claims.append(claim_uniform_distance())
    numbers = {
        "integral of the ridge hat": mass,
        "g at distance 2": float(radial_limit(np.array([2.0]))[0]),
    }
    return Examples(tuple(claims), (draw_masses(radius), draw_uniform_distance()), numbers=numbers)
