"""Three ReLU neurons make the hat function, and two cannot."""

from typing import Annotated

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, Witness, hypothesis, theorem
from ftheta.networks import count
from ftheta.relu.elementary.hat import DEEP, HAT, PRINTED, RAMP, chart, iterated, shallow, two_neuron_rank
from ftheta.relu.line.cpa1d import exact_form, exact_value, known, on_the_line, realisation
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function


def three_neurons(
    rng: np.random.Generator,
    *,
    copies: Annotated[int, Knob(1, 100, "rescaled copies that each neuron is split into", "m", log=True, most=500)] = 1,
    offset: Annotated[float, Knob(-0.5, 0.5, "error in the bias of the third neuron", "ε", least=-1e3, most=1e3)] = 0.0,
) -> Network:
    return Network.described(shallow(copies, offset), f"{3 * copies} neurons, third bias off by {offset:g}")


def bias_slightly_off(rng: np.random.Generator) -> Network:
    return three_neurons(rng, copies=1, offset=2.0**-10)


@hypothesis(r"$f_\theta:\mathbb R\to\mathbb R$ is a ReLU network", remedy="give layers with one input, one output")
def one_input_relu_network(net: Network) -> Finding:
    f = exact_form(net.description)
    if isinstance(f, str):
        return Finding.failed(f"this one has {f}")
    return Finding.proved(f"{len(f.slopes)} affine pieces", "in rational arithmetic", Enclosure.exact(len(f.slopes)))


@hypothesis(r"the slope jumps by $+1,-2,+1$ at $-1,0,1$; $f_\theta=0$ on the left", remedy="correct weights and biases")
def weights_of_the_hat(net: Network) -> Finding:
    f = exact_form(net.description)
    if isinstance(f, str):
        return Finding.failed("unknown without exact pieces")
    found = ", ".join(f"{float(jump):+.17g} at {float(t):.17g}" for t, jump in list(f.jumps.items())[:4])
    note = f"slope jumps {found or 'none'}{' …' * (len(f.kinks) > 4)}; value at −1: {float(f(-1)):g}"
    same = f.jumps == HAT.jumps and f.slopes[0] == 0 == f(-1)
    return Finding.proved(note, "in rational arithmetic") if same else Finding.failed(note)


@theorem(
    title="The hat function as a ReLU network",
    sources=("seed 1", "seed 2"),
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
    errata=r"""Seed 2 prints $\max\{0,|1-|x||\}$, which is $|1-|x||$: it has no compact support and is 1 at $x=2$.
    The ReLU formula on the same slide is right.""",
)
def hat_function(
    net: Network,
    rng: np.random.Generator,
    *,
    iterates: Annotated[int, Knob(1, 64, "how often the hat is applied to itself", "k", most=1000)] = 2,
) -> Evidence:
    r"""With $r(t)=\max\{0,t\}$, for every $x\in\mathbb R$
    $$h(x)=\max\{0,1-|x|\}=r(x+1)-2r(x)+r(x-1)=r(1-r(x)-r(-x)),$$
    $\int h=1$, $\mathrm{supp}\,h=[-1,1]$, $h\circ h=\min\{|x|,1\}$ and $h\circ h\circ h=h$. Two neurons in one hidden
    layer do not do: with at most two kinks, a function that vanishes near $\pm\infty$ vanishes everywhere."""
    layers = on_the_line(net.description)
    f, iterate = realisation(layers), iterated(iterates)
    x, distance = (f - HAT).largest
    off = Witness({"x": float(x)}, known(exact_value(layers, x)), known(HAT(x)), "every neuron in rational arithmetic")
    misprint = Witness({"x": 2.0}, known(PRINTED(2)), known(HAT(2)), "both formulas in rational arithmetic")
    left, right = f.support
    zero, limit = Enclosure.exact(0), (HAT, "h") if iterates % 2 else (RAMP, "min(|x|, 1)")
    return Evidence(
        claims=(
            Identity("sup |f_θ − h|", known(distance), zero, off),
            Identity("sup |r(1 − r(x) − r(−x)) − h|", known((realisation(DEEP) - HAT).largest[1]), zero),
            Identity("∫ |f_θ|", known(f.mass), known(1)),
            Identity("left end of the support", known(left), known(-1)),
            Identity("right end of the support", known(right), known(1)),
            Identity(f"sup |h∘…∘h − {limit[1]}|, {iterates} times", known((iterate - limit[0]).largest[1]), zero),
            Identity("rank of “two neurons vanish far out” in c₀, c₁, c₂", known(two_neuron_rank()), known(3)),
        ),
        as_printed=(Identity("max{0, |1 − |x||} = h(x)", known(PRINTED(2)), known(HAT(2)), misprint),),
        charts=(chart(f, iterate, iterates),),
        numbers={
            "sup |f − h|": known(distance),
            "integral": known(f.mass),
            "hidden neurons": known(count(layers).neurons),
            "printed formula at 2": known(PRINTED(2)),
            "iterate at 2": known(iterate(2)),
        },
        summary=f"f_θ has {len(f.kinks)} kinks; its largest distance to the hat is {float(distance):.6g}, asked: 0",
    )
