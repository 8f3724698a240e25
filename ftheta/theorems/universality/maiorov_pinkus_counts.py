"""Maiorov and Pinkus: two hidden layers of fixed size approximate every continuous function of d variables."""

from typing import Annotated

import numpy as np

from ftheta.limits.universality import kolmogorov
from ftheta.limits.universality import superpositions as s
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Identity, Knob, Table, hypothesis, theorem
from ftheta.networks import count
from ftheta.subjects import Network
from ftheta.subjects.layers import described, describes_this_function


def architecture(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 12, "number of variables", "d", most=20)] = 3,
    missing: Annotated[int, Knob(0, 3, "outer units left out", "k", most=6)] = 0,
) -> Network:
    net = s.architecture(rng, dimension, missing)
    return Network.described(net, "-".join(map(str, net.widths)))


def one_unit_short(rng: np.random.Generator) -> Network:
    return architecture(rng, missing=1)


@hypothesis(
    r"the widths are $(d,3d,6d+3,1)$, every weight in use", remedy="take two hidden layers of 3d and 6d + 3 units"
)
def of_that_size(net: Network) -> Finding:
    if net.description is None:
        return Finding.failed("the layers are not known")
    widths, wanted = net.description.widths, s.Sizes(net.description.widths[0]).shared
    found, full = count(net.description).connections, s.Sizes(widths[0]).connections
    note = f"widths {widths}, asked {wanted}; {found} weights are not 0, asked {full}"
    return Finding.decide(widths == wanted and found == full, note, "counted", basis=Basis.EXACT)


@theorem(
    title="Networks of fixed size for every function: Maiorov and Pinkus",
    sources=("seed 1", "maiorov1999", "kolmogorov1957", "braun2009"),
    assumes=(described, describes_this_function, of_that_size),
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
    errata=r"""Seed 1 prints "$3d^2(6d+3)$ neurons and $21d^2+15d+3$ connections". The connections are those of
    $(d,3d,6d+3,1)$, which has $9d+3$ hidden neurons; $3d^2(6d+3)$ is the number of input weights $w^{ij}\in\mathbb R^d$
    when the first layer depends on $i$: it then has $3d(6d+3)$ units, with $(6d+3)(3d^2+3d+1)$ connections in all.""",
)
def maiorov_pinkus_counts(net: Network, rng: np.random.Generator) -> Evidence:
    r"""There is an analytic, strictly increasing sigmoidal $\varrho$ such that for all $f\in C([0,1]^d)$ and
    $\varepsilon>0$ some weights give $$\Big|f(x)-\sum_{i=1}^{6d+3}d_i\,\varrho\Big(\sum_{j=1}^{3d}c_{ij}\,
    \varrho(\langle w^{ij},x\rangle+\theta_{ij})+\gamma_i\Big)\Big|<\varepsilon.$$ With $w^{ij}=w^j$,
    $\theta_{ij}=\theta_j$ the architecture is $(d,3d,6d+3,1)$: $9d+3$ neurons and $21d^2+15d+3$ connections, for every
    accuracy. Behind it is Kolmogorov's $f(x)=\sum_{i=0}^{2d}g\big(\sum_j\lambda_j\varphi_i(x_j)\big)$, shown for
    $d=2$."""
    layers = net.description
    sizes, exact = s.Sizes(net.input_shape[0]), Enclosure.exact
    found, other = count(layers) if layers else None, s.own_units(rng, sizes.d)
    seen = (found.neurons, found.connections) if found else (0, 0)
    apart, first = count(other), other.layers[0].weight.size
    two = kolmogorov.superposition()
    rows = [(k, *_row(s.Sizes(k))) for k in (1, 2, 3, sizes.d)]
    return Evidence(
        claims=(
            Identity("neurons of this network = 9d + 3", exact(seen[0]), exact(sizes.neurons)),
            Identity("its connections = 21d² + 15d + 3", exact(seen[1]), exact(sizes.connections)),
            Identity("units of their own: 3d²(6d + 3) input weights", exact(first), exact(sizes.input_weights)),
            Identity("(6d + 3)(3d² + 3d + 1) connections", exact(apart.connections), exact(sizes.own_connections)),
            Identity("and (3d + 1)(6d + 3) neurons", exact(apart.neurons), exact(sizes.own_neurons)),
            Identity("three units for each of 2d + 1 outer functions", exact(sizes.outer), exact(6 * sizes.d + 3)),
            *two.claims(),
        ),
        as_printed=(Identity("3d²(6d + 3) neurons", exact(seen[0]), exact(sizes.input_weights)),),
        charts=(s.diagram(sizes), s.growth(), kolmogorov.inner_chart(), two.chart()),
        numbers={"neurons": exact(seen[0]), "connections": exact(seen[1]), "printed neurons": sizes.input_weights,
                 "connections, own units": sizes.own_connections},
        tables=(Table("sizes", ("d", "neurons", "connections", "neurons, own units", "connections, own units",
                                "printed as neurons"), tuple(dict.fromkeys(rows))),),
        summary=f"d = {sizes.d}: {seen[0]} neurons and {seen[1]} connections, whatever the accuracy; printed: "
        f"{sizes.input_weights} neurons; {two.said}",
    )  # fmt: skip


def _row(sizes: s.Sizes) -> tuple[int, ...]:
    return sizes.neurons, sizes.connections, sizes.own_neurons, sizes.own_connections, sizes.input_weights
