"""What an activation is: how steep, how bounded, and whether it is a polynomial."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from ftheta.logic import AtMost, Enclosure, Evidence, Exists, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, activation
from ftheta.networks.sheets import THRESHOLD, Sheet, charts, numbers, sheet, table, usual_beside
from ftheta.subjects import Network, Target
from ftheta.subjects.continuity import no_polynomials
from ftheta.subjects.layers import read_off_layers

NAMES = tuple(ACTIVATIONS)


def named(
    rng: np.random.Generator,
    *,
    activation: Annotated[str, Knob(says="the activation", symbol="σ", choices=NAMES)] = "tanh",
) -> Target:
    return Target(activation, ACTIVATIONS[activation].function, (-8.0,), (8.0,))


def polynomial(rng: np.random.Generator) -> Target:
    return named(rng, activation="square")


def activations_of(subject: Target | Network) -> list[tuple[str, Callable[[Any], Any], float, float]]:
    """Name, function and range: of the function itself, or of every activation of the hidden layers."""
    if isinstance(subject, Target) and subject.dimension == 1:
        return [(subject.name, subject.f, subject.lo[0], subject.hi[0])]
    layers = subject.description.layers[:-1] if isinstance(subject, Network) and subject.description else ()
    words = sorted({activation(layer.activation).name for layer in layers})
    return [(word, ACTIVATIONS[word].function, -8.0, 8.0) for word in words]


@hypothesis(r"the activations $\sigma:\mathbb R\to\mathbb R$ are known", remedy="give a function, or a list of layers")
def scalar_activations(subject: Target | Network) -> Finding:
    found = activations_of(subject)
    if not found:
        return Finding.failed("neither a function of one variable nor hidden layers with named activations")
    note = ", ".join(name for name, *_ in found)
    if isinstance(subject, Network):
        return read_off_layers(subject, note, "named in its own list")
    familiar = all(any(a.function is f for a in ACTIVATIONS.values()) for _, f, *_ in found)
    return Finding.proved(note, "known by name") if familiar else Finding.assumed(f"{note} is taken to be continuous")


@hypothesis(r"$\sigma$ is not a polynomial", remedy="take ReLU, tanh or any other function that is not a polynomial")
def not_a_polynomial(subject: Target | Network, *, degree: int) -> Finding:
    return no_polynomials(activations_of(subject), degree)


def nonzero(s: Sheet) -> AtMost | Exists:
    """Its difference is too large for rounding. A function without a name may have another that is, so none refutes."""
    what, least = f"2⁻⁴⁰ ≤ relative difference of order {s.difference.order} of {s.name}", Enclosure.exact(THRESHOLD)
    if s.known:
        return AtMost(what, least, s.difference.size, witness=s.witness)
    return Exists(what, {"x": float(s.difference.start), "h": float(s.difference.step)}, least, s.difference.size)


@theorem(
    title="The activations and their properties",
    sources=("seed 0", "seed 1", "seed 2", "seed 3", "seed 4", "leshno1993"),
    assumes=(scalar_activations, not_a_polynomial),
    on=named,
    breaks_on=polynomial,
    presets={
        "textbook": {},
        "smooth, high degree": {"activation": "gelu", "degree": 60},
        "at the edge": {"activation": "relu", "degree": 1, "point": 0.0},
        "broken on purpose": {"activation": "square"},
    },
)
def activation_zoo(
    subject: Target | Network,
    rng: np.random.Generator,
    *,
    degree: Annotated[int, Knob(1, 60, "no polynomial up to this degree", "r", least=0, most=200)] = 5,
    point: Annotated[float, Knob(-10, 10, "where the slope is read off", "x", least=-700, most=700)] = 5.0,
) -> Evidence:
    r"""$\tanh$, $\frac{e^x}{1+e^x}$, $\arctan$, ReLU and LeakyReLU are non-decreasing with Lipschitz constants
    $$\sup|\sigma'|=1,\ \tfrac14,\ 1,\ 1,\ 1,$$ and none is a polynomial: for every $r$ some $\Delta_h^{r+1}\sigma\ne0$,
    while all those of a polynomial of degree $r$ vanish. Exactly the non-polynomial continuous $\sigma$ make networks
    with one hidden layer dense in $C(K)$ for every compact $K\subset\mathbb R^d$."""
    found = [sheet(*which, degree, point) for which in activations_of(subject)]
    everything = usual_beside(found, degree, point)
    steep = [Identity(f"steepest slope of {s.name}", s.steepest, s.lipschitz) for s in found if s.known]
    return Evidence(
        claims=(*steep, *map(nonzero, found)),
        charts=charts(found),
        tables=(table(everything, degree),),
        numbers=numbers(everything),
        summary="; ".join(
            f"{s.name}: steepest slope {s.lipschitz.middle:.8g}, slope {s.slope.middle:.6g} at {point:g}, {s.density}"
            for s in found
        ),
    )
