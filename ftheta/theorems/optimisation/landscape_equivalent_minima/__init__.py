"""A minimum comes in many copies, and half-way between two of them the loss is higher."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Chart,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Table,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.networks import Description, random_mlp
from ftheta.spectra.objective import LabelledNetwork
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function, has_layers

from . import alignment, minima
from .linear_critical import Critical, critical_points, inertia, scalar_eigenvalues, scalar_hessian

# of the linear network: singular values of Y, hidden units
SPECTRUM = (3, 2, 1)
HIDDEN = 2
FLOOR = 1e-3  # of the largest loss: lower values are drawn as this one


def teacher(
    rng: np.random.Generator,
    *,
    width: Annotated[int, Knob(1, 6, "hidden neurons", "h", most=64)] = 3,
    hidden: Annotated[
        str, Knob(says="activation", symbol="σ", choices=("tanh", "arctan", "relu", "sigmoid"))
    ] = "tanh",
    twins: Annotated[bool, Knob(says="make the first two neurons equal", symbol="w₁ = w₂")] = False,
) -> Network:
    first, last = random_mlp(rng, (2, max(width, 1 + twins), 1), hidden, gain=4.0, bias=0.5).layers
    W = first.weight
    b = first.bias
    A = last.weight
    if twins:
        W[1], b[1], A[:, 1] = W[0], b[0], A[:, 0]
    layers = Description((first, last))
    x = rng.normal(size=(48, 2))
    data = Dataset(
        "what the network says at 48 points", x, np.asarray(layers.apply(layers.params, x))
    )
    return Network.described(layers, f"{hidden} network 2-{len(W)}-1").with_data(data)


def with_twins(rng: np.random.Generator) -> Network:
    return teacher(rng, twins=True)


@hypothesis(
    "there are data with targets that fit the network",
    remedy="give data with labels",
    name="targets",
)
def targets_known(net: Network) -> Finding:
    subject = LabelledNetwork.of(net)
    note = f"{len(subject.y):,} rows with targets, {subject.loss or 'no'} loss"
    return Finding.decide(bool(subject.loss), note, "counted")


@hypothesis(
    "generic: no two neurons of a layer are equal (up to sign for odd activations), none is zero",
    remedy="merge equal neurons and drop those without weights",
)
def generic_neurons(net: Network) -> Finding:
    if net.description is None or len(net.description.layers) < 2:
        return Finding.failed("no hidden layer is known")
    why = minima.coincidence(net.description)
    return (
        Finding.failed(why)
        if why
        else Finding.proved("all neurons differ", "compared pair by pair")
    )


@theorem(
    title="Equivalent minima of the loss landscape",
    sources=("gribonval-slides", "murari-slides", "baldi1989", "kawaguchi2016", "ainsworth2023"),
    gist="Reordering hidden neurons leaves a network's function unchanged, so every minimum of the loss has very many "
    "equivalent ones with higher loss between them: the loss of a network is not convex.",
    see_also=("relu-symmetries-conservation", "nonconvex-tanh", "function-classes"),
    of_parameters=True,
    assumes=(has_layers, targets_known, generic_neurons, describes_this_function),
    on=teacher,
    breaks_on=with_twins,
    presets={
        "textbook": {},
        "one neuron": {"width": 1},
        "orders alone": {"hidden": "relu", "width": 4},
        "at the edge": {"width": 5},
        "broken on purpose": {"twins": True},
    },
)
def landscape_equivalent_minima(
    net: Network,
    rng: np.random.Generator,
    *,
    steps: Annotated[
        int, Knob(100, 5000, "training steps of the second network", "K", log=True, least=1)
    ] = 1500,
    step: Annotated[
        float, Knob(1e-3, 0.1, "first step of Adam", "τ", log=True, least=1e-6, most=1.0)
    ] = 0.03,
) -> Evidence:
    r"""Exchanging hidden neurons, and for odd $\sigma$ changing the signs of $(w_i,b_i,a_i)$, leaves $f_\theta$ as it
    is: a generic minimum of a tanh network of width $h$ has $h!\,2^h$ equivalent ones (other $\sigma$: $h!$ at least).
    Half-way between two of them the loss is in general higher, so $\mathcal L$ is not convex. For linear networks and
    $\|W_2W_1X-Y\|^2$ with $XX^\top$, $YX^\top$ of full rank and distinct eigenvalues every local minimum is global and
    all other critical points are saddles: for $\frac12(aw-1)^2$ the Hessian has the eigenvalues $\pm1$ at $0$, and
    $0,\ a^2+w^2$ on $aw=1$."""
    subject = LabelledNetwork.of(net)
    layers = net.description
    if layers is None or subject.loss is None or len(layers.layers) < 2:
        return Evidence((), summary="the loss or the layers are not known", examples=_examples)
    listed = minima.listed_copies(layers)
    midpoints = minima.Midpoints.of(layers, subject.x, subject.y, subject.loss, rng)
    claims = [
        *_claim_copies(layers, listed),
        *_claim_midpoints(midpoints, proved=listed is not None),
    ]
    charts: list[Chart] = [
        _draw_surface(minima.risk_on_plane(layers, subject.x, subject.y, subject.loss))
    ]
    numbers = {"copies": Enclosure.exact(minima.number_of_copies(layers))}
    summary = f"{_count_copies(layers)}; half-way the loss is higher for {midpoints.higher:.0%} of those tried"
    if alignment.same_kind(layers):
        between = alignment.compare_with_rival(subject, layers, rng, steps, step)
        claims.append(
            AtMost(
                "⟨A, B⟩ ≤ ⟨A, aligned B⟩",
                Enclosure.equal(between.before),
                Enclosure.equal(between.after),
            )
        )
        charts.append(_draw_way(between))
        plain, aligned = between.barriers()
        numbers |= {
            "barrier": Enclosure.equal(plain),
            "barrier after alignment": Enclosure.equal(aligned),
            "loss of the other network": Enclosure.equal(float(between.plain[-1])),
        }
        summary += f"; barrier to another network {plain:.3g}, after alignment {aligned:.3g}"
    return Evidence(tuple(claims), tuple(charts), numbers, summary=summary, examples=_examples)


# -- claims and charts about the network --------------------------------------------------------------------


def _claim_copies(layers: Description, listed: tuple[int, int] | None) -> tuple[Identity, ...]:
    """How many copies differ, and as how many functions, where they were all listed."""
    if listed is None:
        return ()
    made, functions = (Enclosure.exact(count) for count in listed)
    return (
        Identity("different copies", made, Enclosure.exact(minima.number_of_copies(layers))),
        Identity("different functions among them", functions, Enclosure.exact(1)),
    )


def _claim_midpoints(found: minima.Midpoints, proved: bool) -> tuple[Claim, ...]:
    """With `proved`, that the copies are one function is known exactly: their losses say nothing more."""
    what = "a copy with a higher loss half-way: loss(θ) − loss(½θ + ½copy) < 0"
    tiny = 1e-9 * max(found.highest.middle, 1e-300)
    slack = 1e-12 * max(found.highest.middle, 1.0)
    equal = Identity("largest loss of a copy", found.worst_copy, found.loss, atol=slack)
    higher = Exists(
        what,
        {"copy": float(found.at)},
        found.loss - found.highest,
        Enclosure.exact(-tiny),
        rtol=0.0,
    )
    return (higher,) if proved else (equal, higher)


def _count_copies(layers: Description) -> str:
    n = minima.number_of_copies(layers)
    return f"{n:,} copies" if n < 10**9 else f"about 10^{len(str(n)) - 1} copies"


def _draw_surface(values: np.ndarray) -> Heatmap:
    """The loss on the plane through the network and two of its copies: corners (0, 0), (1, 0), (0, 1) are equal."""
    shown = np.log10(np.maximum(values, FLOOR * np.nanmax(values)))
    x = Axis("towards one copy (at 1)")
    y = Axis("towards another copy (at 1)")
    return Heatmap(
        "minima that are copies of one another", x, y, shown, (-0.5, 1.5, -0.5, 1.5), "log₁₀ loss"
    )


def _draw_way(between: alignment.Between) -> Curves:
    return draw_curves(
        "between two trained networks, before and after alignment",
        between.t,
        x="from A (0) to B (1)",
        y="loss",
        other={"straight": between.plain},
        measured={"after alignment": between.aligned},
    )


# -- examples: linear networks ------------------------------------------------------------------------------


def _examples() -> Examples:
    points = critical_points(SPECTRUM, HIDDEN)
    table = _tabulate_critical_points(points)
    return Examples(claim_critical_points(points), tables=(table,), numbers=_scalar_numbers())


def claim_critical_points(points: Sequence[Critical]) -> tuple[Identity, ...]:
    """That all are critical, that those without a negative direction have the least loss, and the scalar network."""
    least = min(c.loss for c in points)
    none = lambda what, count: Identity(what, Enclosure.exact(count), Enclosure.exact(0))
    at_0 = inertia(scalar_hessian(Fraction(0), Fraction(0)))
    on_minima = inertia(scalar_hessian(Fraction(2), Fraction(1, 2)))
    return (
        none(
            "largest slope at the critical points of a linear network", max(c.slope for c in points)
        ),
        none(
            "local minima that are not global",
            sum(c.negative == 0 and c.loss > least for c in points),
        ),
        none(
            "global minima with a direction downwards",
            sum(c.negative > 0 and c.loss == least for c in points),
        ),
        none("signs (−, 0, +) of ½(aw − 1)² at 0 other than (1, 0, 1)", int(at_0 != (1, 0, 1))),
        none("signs on aw = 1 other than (0, 1, 1)", int(on_minima != (0, 1, 1))),
    )


def _tabulate_critical_points(points: Sequence[Critical]) -> Table:
    rows = []
    for c in points:
        kept = ", ".join(str(SPECTRUM[i]) for i in c.kept) or "none"
        rows.append((kept, float(c.loss), c.negative, c.zero, c.positive, c.kind))
    columns = ("singular values kept", "loss", "negative", "zero", "positive", "kind")
    return Table("critical points of a linear network, and their Hessians", columns, tuple(rows))


def _scalar_numbers() -> dict[str, Enclosure]:
    least_at_0, largest_at_0 = scalar_eigenvalues(Fraction(0), Fraction(0))
    least_on, largest_on = scalar_eigenvalues(Fraction(2), Fraction(1, 2))
    return {
        "least eigenvalue at 0": least_at_0,
        "largest eigenvalue at 0": largest_at_0,
        "least on aw = 1": least_on,
        "largest at (2, ½)": largest_on,
    }
