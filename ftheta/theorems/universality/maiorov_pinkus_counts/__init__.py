"""Maiorov and Pinkus: two hidden layers of fixed size approximate every continuous function of d variables."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Basis,
    Curves,
    Diagram,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Layer,
    Table,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks import count
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function, has_layers

from . import kolmogorov
from .sizes import Sizes, own_units
from .sizes import architecture as random_architecture


def architecture(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 12, "number of variables", "d", most=20)] = 3,
    missing: Annotated[int, Knob(0, 3, "outer units left out", "k", most=6)] = 0,
) -> Network:
    net = random_architecture(rng, dimension, missing)
    return Network.described(net, "-".join(map(str, net.widths)))


def one_unit_short(rng: np.random.Generator) -> Network:
    return architecture(rng, missing=1)


@hypothesis(
    r"the widths are $(d,3d,6d+3,1)$, every weight in use",
    remedy="take two hidden layers of 3d and 6d + 3 units",
)
def of_that_size(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("the layers are not known")
    widths = net.description.widths
    wanted = Sizes(net.description.widths[0]).shared_widths
    found = count(net.description).connections
    full = Sizes(widths[0]).connections
    note = f"widths {widths}, required {wanted}; {found} non-zero weights, required {full}"
    return Finding.decide(widths == wanted and found == full, note, "counted", basis=Basis.EXACT)


@theorem(
    title="Networks of fixed size for every function: Maiorov and Pinkus",
    gist="With one special activation a network of two hidden layers and fixed size approximates every continuous "
    "function to any accuracy: counting neurons alone does not bound what a network can do.",
    see_also=(
        "concatenated-activation",
        "uat-nonpolynomial-iff",
        "sparse-connection-approximation",
    ),
    sources=("gribonval-slides", "maiorov1999", "kolmogorov1957", "braun2009"),
    assumes=(has_layers, describes_this_function, of_that_size),
    on=architecture,
    breaks_on=one_unit_short,
    presets={
        "textbook": {},
        "one variable": {"dimension": 1},
        "two variables": {"dimension": 2},
        "at the edge": {"dimension": 12},
        "broken on purpose": {"missing": 1},
    },
    audited=False,
    errata=r"""The slides of Gribonval, Garivier and Pustelnik print "$3d^2(6d+3)$ neurons and $21d^2+15d+3$
    connections". The connections are those of $(d,3d,6d+3,1)$, which has $9d+3$ hidden neurons; $3d^2(6d+3)$ is the
    number of input weights $w^{ij}\in\mathbb R^d$ when the first layer depends on $i$: it then has $3d(6d+3)$ units,
    with $(6d+3)(3d^2+3d+1)$ connections in all.""",
)
def maiorov_pinkus_counts(net: Network, rng: np.random.Generator) -> Evidence:
    r"""There is an analytic, strictly increasing sigmoidal $\varrho$ such that for all $f\in C([0,1]^d)$ and
    $\varepsilon>0$ some weights give $$\Big|f(x)-\sum_{i=1}^{6d+3}d_i\,\varrho\Big(\sum_{j=1}^{3d}c_{ij}\,
    \varrho(\langle w^{ij},x\rangle+\theta_{ij})+\gamma_i\Big)\Big|<\varepsilon.$$ With $w^{ij}=w^j$,
    $\theta_{ij}=\theta_j$ the architecture is $(d,3d,6d+3,1)$: $9d+3$ neurons and $21d^2+15d+3$ connections, for every
    accuracy. Behind it is Kolmogorov's $f(x)=\sum_{i=0}^{2d}g\big(\sum_j\lambda_j\varphi_i(x_j)\big)$, shown for
    $d=2$."""
    sizes = Sizes(net.input_shape[0])
    exact = Enclosure.exact
    found = count(net.description) if net.description else None
    neurons = found.neurons if found else 0
    connections = found.connections if found else 0
    two = kolmogorov.superposition()
    left = ", ".join(f"{error:.3g}" for error in two.errors[1:])
    return Evidence(
        claims=(
            Identity("neurons of this network = 9d + 3", exact(neurons), exact(sizes.neurons)),
            Identity(
                "its connections = 21d² + 15d + 3", exact(connections), exact(sizes.connections)
            ),
        ),
        examples=partial(_units_of_their_own, rng.spawn(1)[0], sizes, two),
        as_printed=(Identity("3d²(6d + 3) neurons", exact(neurons), exact(sizes.input_weights)),),
        charts=(_draw_architecture(sizes), _draw_growth()),
        numbers={
            "neurons": exact(neurons),
            "connections": exact(connections),
            "printed neurons": sizes.input_weights,
            "connections, own units": sizes.own_connections,
        },
        tables=(_tabulate_sizes(sizes.d),),
        summary=f"d = {sizes.d}: {neurons} neurons and {connections} connections, whatever the accuracy; printed: "
        f"{sizes.input_weights} neurons; xy by Kolmogorov's superpositions: {left} of it left after outer steps",
    )


def _units_of_their_own(
    rng: np.random.Generator, sizes: Sizes, two: kolmogorov.Superposition
) -> Examples:
    """The other reading of the formula, counted; and what makes Kolmogorov's outer steps work, in exact numbers."""
    other = own_units(rng, sizes.d)
    apart = count(other)
    first = other.layers[0].weight.size
    k = two.ranks[0]
    exact = Enclosure.exact
    return Examples(
        claims=(
            Identity(
                "units of their own: 3d²(6d + 3) input weights",
                exact(first),
                exact(sizes.input_weights),
            ),
            Identity(
                "(6d + 3)(3d² + 3d + 1) connections",
                exact(apart.connections),
                exact(sizes.own_connections),
            ),
            Identity(
                "and (3d + 1)(6d + 3) neurons", exact(apart.neurons), exact(sizes.own_neurons)
            ),
            Identity(
                "three units for each of 2d + 1 outer functions",
                exact(sizes.outer),
                exact(6 * sizes.d + 3),
            ),
            Identity(
                f"intervals of squares of rank {k} that overlap",
                exact(kolmogorov.overlaps(k)),
                exact(0),
            ),
            AtMost(
                "3 ≤ shifts that keep a point in a square",
                exact(3),
                exact(kolmogorov.fewest_good(k)),
            ),
        ),
        charts=(_draw_inner_function(), _draw_outer_steps(two)),
    )


def _tabulate_sizes(d: int) -> Table:
    columns = (
        "d",
        "neurons",
        "connections",
        "neurons, own units",
        "connections, own units",
        "printed as neurons",
    )
    rows = []
    for sizes in (Sizes(k) for k in dict.fromkeys((1, 2, 3, d))):
        shared = (sizes.neurons, sizes.connections)
        own = (sizes.own_neurons, sizes.own_connections)
        rows.append((sizes.d, *shared, *own, sizes.input_weights))
    return Table("sizes", columns, tuple(rows))


def _draw_architecture(sizes: Sizes) -> Diagram:
    layers = (
        Layer("input", sizes.d),
        Layer("inner", sizes.inner, "ϱ"),
        Layer("outer", sizes.outer, "ϱ"),
        Layer("output", 1),
    )
    return Diagram(f"Maiorov and Pinkus, d = {sizes.d}", layers)


def _draw_growth(most: int = 20) -> Curves:
    sizes = [Sizes(d) for d in range(1, most + 1)]
    return draw_curves(
        "sizes for any accuracy",
        [s.d for s in sizes],
        x="dimension d",
        y="count",
        log="y",
        measured={
            "connections, first layer shared": [s.connections for s in sizes],
            "neurons, first layer shared": [s.neurons for s in sizes],
        },
        reference={"printed as neurons: 3d²(6d + 3)": [s.input_weights for s in sizes]},
        other={"connections, units of their own": [s.own_connections for s in sizes]},
    )


def _draw_inner_function() -> Curves:
    x = np.linspace(0, 1, 1201)[:-1]
    return draw_curves(
        "Sprecher's inner function", x, x="x", y="ψ", measured={"ψ": kolmogorov.inner(x)}
    )


def _draw_outer_steps(two: kolmogorov.Superposition) -> Curves:
    steps = list(range(len(two.errors)))
    return draw_curves(
        "xy by superpositions of one variable",
        steps,
        x="outer steps r",
        y="error",
        log="y",
        reference={"(4/5)^r": [0.8**r for r in steps]},
        measured={"largest error found": two.errors},
    )
