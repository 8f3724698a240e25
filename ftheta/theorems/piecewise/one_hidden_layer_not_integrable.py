"""In two dimensions and more, one hidden layer is never integrable: its kinks do not end."""

from typing import Annotated

import numpy as np

from ftheta.logic import Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.pieces.normal_forms import normal_form, relu_network
from ftheta.relu.counts import count
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import known
from ftheta.relu.shallow import escaping
from ftheta.subjects import Network

MOST_WEIGHTS = 60_000  # in rationals


def network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="which network", symbol="f", choices=escaping.KINDS)] = "ridge hat",
    inputs: Annotated[int, Knob(2, 6, "number of inputs", "d", most=64)] = 2,
    width: Annotated[int, Knob(1, 64, "neurons, or groups of three in disguise", "w", log=True, most=200)] = 8,
) -> Network:
    return Network.described(escaping.example(kind, min(inputs, 3) if "hat" in kind else inputs, width, rng), kind)


def two_hidden_layers(rng: np.random.Generator) -> Network:
    return network(rng, kind=escaping.KINDS[-1])


@hypothesis("there is one hidden layer, or none", remedy="take the first hidden layer; deeper ones can be integrable")
def one_hidden_layer(net: Network) -> Finding:
    form = normal_form(net).network
    if form is None:
        return Finding.failed("there is no normal form to count in")
    layers, weights = count(form).activations, sum(step.matrix.size for step in form.steps)
    few, note = layers <= 1 and weights <= MOST_WEIGHTS, f"{layers} hidden layers, {weights:,} weights"
    return Finding.decide(few, note, "counted in its normal form", known(layers), basis=normal_form(net).basis)


@hypothesis(r"$d\ge2$", remedy="on the line three neurons make an integrable hat; take two inputs or more")
def two_inputs(net: Network) -> Finding:
    d = int(np.prod(net.input_shape))
    return Finding.proved(f"d = {d}", "counted") if d >= 2 else Finding.failed(f"d = {d}", known(d))


@theorem(
    title="One hidden layer is not integrable",
    sources=("seed 1", "arora2018"),
    assumes=(relu_network, one_hidden_layer, two_inputs),
    on=network,
    breaks_on=two_hidden_layers,
    presets={
        "textbook": {},
        "random": {"kind": "random", "inputs": 3, "width": 32},
        "affine after all": {"kind": "affine in disguise"},
        "at the edge": {"kind": "zero in disguise", "radius": 1.0},
        "broken on purpose": {"kind": escaping.KINDS[-1]},
    },
)
def one_hidden_layer_not_integrable(
    net: Network,
    rng: np.random.Generator,
    *,
    radius: Annotated[float, Knob(1, 16, "half-width R of the square", "R", log=True, least=1, most=1e6)] = 3.0,
) -> Evidence:
    r"""Let $d\ge2$ and $f(x)=\langle s,x\rangle+t+\sum_kc_k\,r(\langle a_k,x\rangle+b_k)$, neurons with the same
    hyperplane merged. Across $\langle a_k,x\rangle+b_k=0$ the gradient jumps by $c_ka_k$ on the *whole*
    hyperplane. If $f\not\equiv0$ there is a ray on which $f\not\to0$; $f$ is Lipschitz, so $|f|$ is bounded below on a
    tube around it and $f\notin L^p(\mathbb R^d)$ for every $p<\infty$. In particular $f$ has no compact support. The
    ridge hat $\max\{0,1-|x_1|\}$ has integral $2R$ over $[-R,R]^2$. Two hidden layers, or $d=1$, are different."""
    form = normal_form(net).network
    if form is None:
        return Evidence((), summary="no normal form, hence no ridges")
    f, mass = exact(form), escaping.ridge_hat_mass(radius)
    shown = escaping.random_rays(f, rng, 2)
    pictures = (escaping.landscape(form, radius, net.name), escaping.mass_chart(radius))
    if count(form).activations > 1:
        return Evidence(
            (escaping.constant_jumps(f),),
            (*pictures, escaping.along_rays(f, shown, 4 * radius)),
            summary="a kink of this network ends",
        )
    decay = escaping.Decay.of(f)
    return Evidence(
        claims=(
            *decay.claims(),
            escaping.constant_jumps(f, decay.hyperplanes),
            Identity("integral of the ridge hat over [−R, R]²", known(mass), known(2 * radius)),
        ),
        charts=(*pictures, escaping.along_rays(f, [*decay.shown, *shown], 4 * radius)),
        numbers={
            "hyperplanes that survive": known(len(decay.hyperplanes)),
            "limit of |f| on the ray": escaping.limits(decay.rays),
            "integral of the ridge hat": known(mass),
        },
        tables=(decay.table(),),
        summary=decay.summary,
    )
