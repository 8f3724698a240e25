"""What an activation is: how steep, how bounded, and whether it is a polynomial."""

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Annotated, Any

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Series,
    SubjectError,
    Table,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS, activation
from ftheta.networks.sheets import THRESHOLD, Sheet, sample_function, sheet
from ftheta.subjects import Network, Target
from ftheta.subjects.continuity import no_polynomials
from ftheta.subjects.layers import read_off_layers

NAMES = tuple(ACTIVATIONS)
ZOO = ("tanh", "sigmoid", "arctan", "relu", "leaky-relu", "softplus")  # shown beside every other


def named_activation(
    rng: np.random.Generator,
    *,
    activation: Annotated[str, Knob(says="the activation", symbol="σ", choices=NAMES)] = "tanh",
) -> Target:
    return Target(activation, ACTIVATIONS[activation].function, (-8.0,), (8.0,))


def polynomial(rng: np.random.Generator) -> Target:
    return named_activation(rng, activation="square")


def activations_of(
    subject: Target | Network,
) -> list[tuple[str, Callable[[Any], Any], float, float]]:
    """Name, function and range: of the function itself, or of every activation of the hidden layers."""
    if isinstance(subject, Target) and subject.dimension == 1:
        return [(subject.name, subject.f, subject.lo[0], subject.hi[0])]
    layers = (
        subject.description.layers[:-1]
        if isinstance(subject, Network) and subject.description
        else ()
    )
    words = sorted({activation(layer.activation).name for layer in layers})
    return [(word, ACTIVATIONS[word].function, -8.0, 8.0) for word in words]


@hypothesis(
    r"the activations $\sigma:\mathbb R\to\mathbb R$ are known",
    remedy="give a function, or a list of layers",
)
def scalar_activations(subject: Target | Network) -> Finding:
    found = activations_of(subject)
    if not found:
        return Finding.failed(
            "neither a function of one variable nor hidden layers with named activations"
        )
    note = ", ".join(name for name, *_ in found)
    if isinstance(subject, Network):
        return read_off_layers(subject, note, "named in its own list")
    familiar = all(any(a.function is f for a in ACTIVATIONS.values()) for _, f, *_ in found)
    return (
        Finding.proved(note, "known by name")
        if familiar
        else Finding.assumed(f"{note} is taken to be continuous")
    )


@hypothesis(
    r"$\sigma$ is not a polynomial",
    remedy="take ReLU, tanh or any other function that is not a polynomial",
    name="an activation that is not a polynomial",
)
def not_a_polynomial(subject: Target | Network, *, degree: int) -> Finding:
    return no_polynomials(activations_of(subject), degree)


@theorem(
    title="The activations and their properties",
    sources=(
        "peyre-slides",
        "gribonval-slides",
        "murari-slides",
        "scaman-slides",
        "peyre-notes",
        "leshno1993",
    ),
    gist="How steep, how bounded and how smooth the activation is decides gradients, stability and what a network can "
    "approximate: one hidden layer approximates everything exactly when the activation is no polynomial.",
    see_also=("degenerate-activations", "uat-nonpolynomial-iff", "gradient-product-bound"),
    same_for_all={
        "steepest slope of": "about the activations of the network: networks that share them share it",
        "2⁻⁴⁰ ≤ relative difference of order": "about the activations of the network: networks that share them share "
        "it",
    },
    assumes=(scalar_activations, not_a_polynomial),
    on=named_activation,
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
    degree: Annotated[
        int, Knob(1, 60, "no polynomial up to this degree", "r", least=0, most=200)
    ] = 5,
    point: Annotated[
        float, Knob(-10, 10, "where the slope is read off", "x", least=-700, most=700)
    ] = 5.0,
) -> Evidence:
    r"""$\tanh$, $\frac{e^x}{1+e^x}$, $\arctan$, ReLU and LeakyReLU are non-decreasing with Lipschitz constants
    $$\sup|\sigma'|=1,\ \tfrac14,\ 1,\ 1,\ 1,$$ and none is a polynomial: for every $r$ some $\Delta_h^{r+1}\sigma\ne0$,
    while all those of a polynomial of degree $r$ vanish. Exactly the non-polynomial continuous $\sigma$ make networks
    with one hidden layer dense in $C(K)$ for every compact $K\subset\mathbb R^d$."""
    found = [sheet(*which, degree, point) for which in activations_of(subject)]
    steep = [
        Identity(f"steepest slope of {s.name}", s.steepest, s.lipschitz) for s in found if s.known
    ]
    return Evidence(
        claims=(*steep, *map(_claim_nonzero, found)),
        charts=_draw(found),
        tables=(_tabulate("properties", found, degree),),
        numbers=_numbers(found),
        summary="; ".join(
            f"{s.name}: steepest slope {s.lipschitz.middle:.8g}, slope {s.slope.middle:.6g} at {point:g}, {s.density}"
            for s in found
        ),
        examples=partial(_examples, {s.name for s in found}, degree, point),
    )


def _claim_nonzero(s: Sheet) -> AtMost | Exists:
    """Its difference is too large for rounding. A function without a name may have another that is, so none refutes."""
    what = f"2⁻⁴⁰ ≤ relative difference of order {s.difference.order} of {s.name}"
    least = Enclosure.exact(THRESHOLD)
    if s.known:
        return AtMost(what, least, s.difference.size, witness=s.witness)
    return Exists(
        what,
        {"x": float(s.difference.start), "h": float(s.difference.step)},
        least,
        s.difference.size,
    )


def _examples(names: set[str], degree: int, point: float) -> Examples:
    """The usual activations that the subject does not have."""
    others = [
        sheet(name, ACTIVATIONS[name].function, -8.0, 8.0, degree, point)
        for name in ZOO
        if name not in names
    ]
    table = _tabulate("properties of the other usual activations", others, degree)
    return Examples(tables=(table,), numbers=_numbers(others))


def _tabulate(title: str, sheets: Sequence[Sheet], degree: int) -> Table:
    rows = [
        (
            s.name,
            _format_number(s.lipschitz.middle),
            _format_number(s.least_slope),
            "yes" if (s.known.monotone if s.known else s.least_slope >= 0) else "no",
            f"{_format_number(s.ends[0])}, {_format_number(s.ends[1])}",
            ("yes" if all(isfinite(e) for e in s.ends) else "no") if s.known else "unknown",
            "yes" if s.homogeneous else "no",
            s.difference.size.middle,
            s.density,
        )
        for s in sheets
    ]
    columns = (
        "activation",
        "Lipschitz",
        "least slope met",
        "non-decreasing",
        "ends",
        "bounded",
        "homogeneous",
    )
    return Table(
        title, (*columns, f"difference of order {degree + 1}", "one hidden layer"), tuple(rows)
    )


def _format_number(value: float) -> str:
    return f"{value:.6g}".replace("inf", "∞").replace("-", "−")


def _numbers(sheets: Sequence[Sheet]) -> dict[str, Enclosure]:
    named = {}
    for s in sheets:
        named |= {
            f"{s.name}: Lipschitz constant": s.lipschitz,
            f"{s.name}: steepest slope": s.steepest,
        }
        named |= {f"{s.name}: slope at x": s.slope, f"{s.name}: difference": s.difference.size}
    return named


def _draw(sheets: Sequence[Sheet]) -> tuple[Curves, Curves]:
    """The functions and their slopes, with the usual ones beside them."""
    if not sheets:
        raise SubjectError(
            "There is no activation to look at.",
            remedy="give a function of one variable, or layers",
        )
    names = [s.name for s in sheets]
    usual = [(name, ACTIVATIONS[name].function, "reference") for name in ZOO if name not in names]
    every = [*((s.name, s.function, "measured") for s in sheets), *usual]
    values = []
    slopes = []
    for name, function, role in every:
        x, y = sample_function(function, *sheets[0].interval, 241)
        values.append(_trace(name, x, y, role))
        slopes.append(_trace(name, (x[1:] + x[:-1]) / 2, np.diff(y) / np.diff(x), role))
    return (
        Curves("activations", Axis("x"), Axis("σ(x)"), tuple(values)),
        Curves("their slopes", Axis("x"), Axis("σ′(x)"), tuple(slopes)),
    )


def _trace(name: str, x: np.ndarray, y: np.ndarray, role: Any) -> Series:
    kept = np.isfinite(y)
    return Series(name, tuple(x[kept].tolist()), tuple(y[kept].tolist()), role)
