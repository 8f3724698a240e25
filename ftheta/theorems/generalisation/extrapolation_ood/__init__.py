"""Beyond the data: ReLU networks go on as straight lines, bounded ones as constants."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import inf, isfinite
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Status,
    Witness,
    hypothesis,
    nearest_float,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.networks.description import Description
from ftheta.pieces.normal_forms import Form, normal_form
from ftheta.relu.describe import describe_layers
from ftheta.relu.exact import exact
from ftheta.relu.line.points import line_network, through_points
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function
from ftheta.training import fit

from .charts import draw_densities, draw_line, draw_rays, tabulate_errors
from .importance import GaussianShift, reweight
from .limits import find_limit, is_bounded
from .parts import Numbers, Part
from .rays import (
    Asymptote,
    Ray,
    Values,
    choose_rays,
    count_weights,
    find_asymptote,
    find_exact_asymptote,
    make_evaluator,
    second_difference,
)
from .rows_in_hull import test_hull
from .targets import TARGETS, measure_miss

KINDS = ("parabola", "sine", "four points", "random")
HIDDEN = ("relu", "tanh", "arctan", "square")
ZERO = Enclosure.exact(0)
ONE = Enclosure.exact(1)
LARGEST = 20_000  # weights for which rationals are quick
TIMES = (1.0, 3.0, 10.0, 30.0, 100.0)
FAR = 1e3


def train_network(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="what the network was fitted to", choices=KINDS)] = "parabola",
    hidden: Annotated[
        str, Knob(says="activation of its hidden layers", symbol="σ", choices=HIDDEN)
    ] = "relu",
    width: Annotated[int, Knob(2, 64, "neurons per hidden layer", "m", log=True, most=256)] = 24,
) -> Network:
    if kind == "four points":
        x = np.arange(4.0)
        y = np.array([0.0, 1.0, 0.0, 2.0])
        net = Network.described(
            describe_layers(line_network(through_points(x.tolist(), y.tolist()))), kind
        )
        return net.with_data(Dataset(kind, x[:, None], y))
    if kind == "random":
        layers = random_mlp(rng, (3, width, width, 2), hidden, bias=0.5)
        return Network.described(layers, kind).with_data(Dataset(kind, rng.normal(size=(60, 3))))
    x = np.linspace(-1, 1, 41)[:, None]
    data = Dataset(kind, x, TARGETS[kind](x))
    layers = random_mlp(rng, (1, width, 1), hidden, bias=1)
    trained = fit(layers, data, steps=1000, step=0.01, every=1000, progress=False).network
    return Network.described(trained, f"{hidden} network fitted to the {kind}").with_data(data)


@hypothesis(
    "a network of ReLUs, or one whose first layer has a bounded activation",
    remedy="use ReLU, leaky ReLU, max-pooling; or tanh, sigmoid, arctan in the first of a chain of dense layers",
    name="ReLU layers, or a bounded first activation",
)
def affine_or_bounded(given: Network | Dataset) -> Finding:
    if isinstance(given, Dataset):
        return Finding.proved("data alone: only their convex hull is studied", "an empty statement")
    form = normal_form(given)
    if not form.refusal:
        return Finding.proved("piecewise affine", "its graph has a normal form", basis=form.basis)
    layers = _layers_of(given)
    bounded = layers is not None and is_bounded(layers)
    return Finding.decide(
        bounded, "a bounded first layer" if bounded else form.refusal, "by name, in its own list"
    )


@theorem(
    title="Extrapolation: affine or constant far from the data",
    gist="Far from its training data a ReLU network is a straight line and a network with a bounded first layer is a "
    "constant, so neither continues what it has learnt; where test inputs follow another distribution, weights on the "
    "training rows correct the risk.",
    see_also=("runge", "relu-net-is-cpa", "structure-preserving-networks", "error-decomposition"),
    same_for_all={
        "largest second difference beyond the last kink": "evaluated in rationals on rays of this network: it is "
        "affine there"
    },
    sources=("murari-slides", "scaman-slides", "xu2021", "shimodaira2000", "balestriero2021"),
    assumes=(affine_or_bounded,),
    on=train_network,
    breaks_on=lambda rng: train_network(rng, kind="random", hidden="square"),
    presets={
        "textbook": {},
        "a wave": {"kind": "sine"},
        "four points": {"kind": "four points"},
        "bounded": {"hidden": "tanh"},
        "many variables": {"kind": "random"},
        "far test law": {"move": 2.0, "spread": 0.5},
        "broken on purpose": {"kind": "random", "hidden": "square"},
    },
)
def extrapolation_ood(
    given: Network | Dataset,
    rng: np.random.Generator,
    *,
    rays: Annotated[int, Knob(1, 16, "rays, in more than one variable", "k", most=64)] = 4,
    move: Annotated[float, Knob(-3, 3, "mean of the test inputs", "μ")] = 1.0,
    spread: Annotated[
        float, Knob(0.3, 2, "standard deviation of the test inputs", "s", least=0.1, most=5)
    ] = 0.8,
    draws: Annotated[
        int, Knob(100, 100_000, "training inputs drawn", "n", log=True, most=10**6)
    ] = 20_000,
    rows: Annotated[
        int, Knob(0, 20, "rows tested against the hull of the others", "q", most=200)
    ] = 6,
) -> Evidence:
    r"""On a ray a ReLU network is $f(x+tv)=\alpha t+\beta$ for $t\ge t_0$; one whose first activation has
    limits at $\pm\infty$ tends to a constant there: neither continues $x^2$ or $\sin\pi x$. If inputs follow $q$ in the
    test and $p$ in training, $\mathbb E_q\ell=\mathbb E_p[w\ell]$ with $w=q/p$. A query is in the hull of the rows,
    $\sum_i\lambda_ix_i$ with $\lambda\ge0$, $\sum_i\lambda_i=1$, or some $u$ separates it: $\langle u,x\rangle>\max_i
    \langle u,x_i\rangle$."""
    data = given.data if isinstance(given, Network) else given
    shift = GaussianShift(move, spread)
    parts: list[Part] = []
    loss = None
    if isinstance(given, Network):
        values = make_evaluator(partial(given.apply, given.params), given.input_shape)
        chosen = choose_rays(None if data is None else data.x, given.example.size, rng, rays)
        parts.append(_follow_rays(given, values, chosen))
        loss = _loss_of(given, values)
    sample = shift.draw(rng, draws) if shift.is_measurable(draws) else None
    if loss is not None:
        parts.append(_weigh_loss(loss, shift, rng, draws))
    if data is not None:
        parts.append(test_hull(data.x, rng, rows))
    numbers: Numbers = {}
    for part in parts:
        numbers |= part.numbers
    return Evidence(
        claims=tuple(claim for part in parts for claim in part.claims),
        charts=tuple(chart for part in parts for chart in part.charts),
        numbers=numbers,
        tables=tuple(table for part in parts for table in part.tables),
        summary="; ".join(part.summary for part in parts if part.summary) or given.name,
        examples=partial(_examples, shift, draws, sample),
    )


def _layers_of(net: Network) -> Description | None:
    """The list of layers, where it is proved to describe this function."""
    return net.description if describes_this_function.check(net).status is Status.PROVED else None


def _target_of(net: Network) -> str:
    """The name of the function of one variable that the network was fitted to, if it is one of ours."""
    known = net.data is not None and net.data.name in TARGETS and net.example.size == 1
    return net.data.name if net.data is not None and known else ""


# ---- on rays ---------------------------------------------------------------------------------------------------------


def _follow_rays(net: Network, values: Values, rays: Sequence[Ray]) -> Part:
    """The network far out on every ray: affine, constant, or (in a forced run) neither."""
    form = normal_form(net)
    layers = _layers_of(net)
    if form.network is not None and not form.refusal:
        claims, numbers, found = _follow_affine(form, rays, values)
        last = max(asymptote.last for asymptote in found)
        summary = f"affine beyond t = {last:.5g}, slope {found[0].slope[0]:.5g} there"
    elif layers is not None and is_bounded(layers):
        claims, numbers, found = _follow_bounded(layers, rays, values)
        summary = f"tends to {found[0].offset[0]:.5g}"
    else:
        claims, numbers, found = _follow_bent(net, rays, values)
        summary = "neither affine nor bounded"
    target = _target_of(net)
    if target and np.isfinite(found[0].last):
        claims = [*claims, _claim_miss(target, found[0])]
    chart = (
        draw_line(net.data, _target_of(net), values, found)
        if net.example.size == 1
        else draw_rays(rays, values, found)
    )
    return Part(tuple(claims), numbers, (chart,), summary=summary)


def _follow_affine(
    form: Form, rays: Sequence[Ray], values: Values
) -> tuple[list[Claim], Numbers, list[Asymptote]]:
    """Slopes and last breakpoints of a ReLU network, in rationals where it is small enough."""
    assert form.network is not None
    if count_weights(form.network) > LARGEST:
        found = [find_asymptote(form.network, ray.point, ray.direction) for ray in rays]
        numbers: Numbers = {
            "last kink": max(f.last for f in found),
            "slope at infinity": float(found[0].slope[0]),
            "steepest slope at infinity": max(float(np.abs(f.slope).max()) for f in found),
        }
        return [_claim_straight(rays, found, values)], numbers, found
    net = exact(form.network)
    lines = [find_exact_asymptote(net, ray.point.tolist(), ray.direction.tolist()) for ray in rays]
    bends = [
        second_difference(net, ray.point.tolist(), ray.direction.tolist(), line.last)
        for ray, line in zip(rays, lines)
    ]
    found = [line.in_floats() for line in lines]

    def enclose(q: Fraction) -> Enclosure:
        return (
            Enclosure.exact(q) if form.basis is Basis.EXACT else Enclosure.equal(nearest_float(q))
        )

    what = f"largest second difference beyond the last kink, {len(rays)} rays"
    claims: list[Claim] = [Identity(what, enclose(max(bends)), ZERO)]
    if (
        form.basis is not Basis.EXACT
    ):  # the normal form was put together in float64: the network itself is asked too
        claims.append(_claim_agreement(rays, found, values))
    numbers = {
        "last kink": enclose(max(line.last for line in lines)),
        "slope at infinity": enclose(lines[0].slope[0]),
        "steepest slope at infinity": enclose(max(abs(a) for line in lines for a in line.slope)),
    }
    return claims, numbers, found


def _claim_agreement(rays: Sequence[Ray], found: Sequence[Asymptote], values: Values) -> Claim:
    """The network in float64 against its asymptote, a little beyond the last breakpoint."""
    worst = 0.0
    for ray, line in zip(rays, found):
        t = line.last * 1.5 + 1.0
        expected = line.at(t)
        seen = values(ray.at([t]))[0]
        size = max(float(np.abs(expected).max()), 1.0)
        worst = largest(worst, np.abs(seen - expected) / size)
    return Identity("network − (αt + β), relative", Enclosure.equal(worst), ZERO, atol=1e-6)


def _claim_straight(rays: Sequence[Ray], found: Sequence[Asymptote], values: Values) -> Claim:
    """Second differences of the network in float64, beyond the last breakpoint."""
    worst = 0.0
    for ray, line in zip(rays, found):
        y = values(ray.at(line.last * 1.01 + np.array([1.0, 2.0, 3.0])))
        worst = largest(worst, np.abs(y[0] - 2 * y[1] + y[2]) / max(np.abs(y).max(), 1.0))
    what = "largest second difference beyond the last kink, relative"
    return Identity(what, Enclosure.equal(worst), ZERO, atol=1e-6)


def _follow_bounded(
    net: Description, rays: Sequence[Ray], values: Values
) -> tuple[list[Claim], Numbers, list[Asymptote]]:
    """The limit on every ray, and the distance from it where it comes nearest to its bound."""
    seen = []
    limits = []
    for ray in rays:
        found = find_limit(net, ray.point, ray.direction)
        limits.append(found.limit)
        distances = np.linalg.norm(values(ray.at(TIMES)) - found.limit, axis=1)
        seen += [(d, found.distance_at_most(t), t) for d, t in zip(distances.tolist(), TIMES)]
    # what overflows is worst: nothing is known of it
    distance, bound, t = max(seen, key=lambda at: at[0] - at[1] if isfinite(at[0] - at[1]) else inf)
    size = max(float(np.abs(limit).max()) for limit in limits) + 1
    what = f"|f(x + tv) − limit| ≤ Π‖W‖Lip · |h(t) − h(∞)|, worst of {len(TIMES)} times (t = {t:g})"
    known = Enclosure.equal(bound) if isfinite(bound) else Enclosure()
    claim = AtMost(what, Enclosure.equal(distance), known, atol=1e-12 * size)
    numbers: Numbers = {"limit": float(limits[0][0]), "slope at infinity": 0.0}
    return [claim], numbers, [Asymptote(inf, np.zeros_like(limit), limit) for limit in limits]


def _follow_bent(
    net: Network, rays: Sequence[Ray], values: Values
) -> tuple[list[Claim], Numbers, list[Asymptote]]:
    """Of a network that is neither: how much it bends far out, with the worst ray as a witness."""
    t = FAR * np.array([1.0, 2.0, 3.0])
    seen = [values(ray.at(t)) for ray in rays]
    bends = [
        largest(np.abs(y[0] - 2 * y[1] + y[2]) / max(float(np.abs(y).max()), 1.0)) for y in seen
    ]
    k = int(np.argmax(bends))

    def bend(x: Any) -> Any:
        y = jax.vmap(lambda row: jnp.ravel(net.apply(net.params, row.reshape(net.input_shape))))(x)
        return jnp.max(jnp.abs(y[0] - 2 * y[1] + y[2])) / jnp.maximum(jnp.max(jnp.abs(y)), 1.0)

    enclosed = enclose_number(bend, rays[k].at(t)) if bends[k] > 1e-6 else Enclosure.unknown()
    witness = Witness(
        {"t": FAR}, enclosed, ZERO, "three points of a ray in intervals rounded outward"
    )
    claim = Identity(
        "second difference far out, relative", Enclosure.equal(bends[k]), ZERO, witness, atol=1e-6
    )
    found = [Asymptote(inf, y[2] - y[1], y[0]) for y in seen]
    return [claim], {"slope at infinity": float(found[0].slope[0])}, found


def _claim_miss(target: str, line: Asymptote) -> Claim:
    """The line to the right of the last breakpoint is far from the function that the network was fitted to."""
    miss = measure_miss(target, line)
    found = Enclosure.equal(miss.largest)
    if target == "sine":
        return AtMost(
            "1 ≤ largest error at three extremes of the wave beyond the last kink", ONE, found
        )
    return AtMost(
        f"(R − t₀)²/8 ≤ largest error on [t₀, R], R = {miss.end:g}",
        Enclosure.equal(miss.at_least),
        found,
    )


# ---- other test inputs -----------------------------------------------------------------------------------------------


def _loss_of(net: Network, values: Values) -> Callable[[np.ndarray], np.ndarray] | None:
    """The squared error of a network of one variable against the function that it was fitted to."""
    target = _target_of(net)
    return (lambda x: (values(x[:, None])[:, 0] - TARGETS[target](x)) ** 2) if target else None


def _weigh_loss(
    loss: Callable[[np.ndarray], np.ndarray],
    shift: GaussianShift,
    rng: np.random.Generator,
    draws: int,
) -> Part:
    r"""$\mathbb E_q\ell=\mathbb E_p[w\ell]$ for the loss of the network, and its error on four kinds of test inputs."""
    table = tabulate_errors(loss)
    if not shift.is_measurable(draws):
        return Part(tables=(table,))
    test = shift.test_mean(loss)
    numbers: Numbers = {
        "test risk": test,
        "risk without weights": shift.plain_mean(loss, shift.draw(rng, draws)),
    }
    weighted = shift.weighted_mean(loss, shift.draw(rng, draws))
    claim = Identity(
        "weighted training risk of the network = its test risk", weighted, Enclosure.equal(test)
    )
    return Part((claim,), numbers, tables=(table,))


def _examples(shift: GaussianShift, draws: int, sample: np.ndarray | None) -> Examples:
    r"""$\mathbb E_q\ell=\mathbb E_p[w\ell]$ exactly on three points, and for $x^2$ from a sample."""
    train = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    test = [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)]
    direct, weighted = reweight(train, test, [Fraction(0), Fraction(1), Fraction(4)])
    claims: list[Claim] = [
        Identity(
            "E_p[wℓ] = E_q ℓ on three points", Enclosure.exact(weighted), Enclosure.exact(direct)
        )
    ]
    if sample is not None:
        expected = Enclosure.equal(shift.move**2 + shift.spread**2)
        what = f"E_p[w x²] from {len(sample):,} rows = μ² + s²"
        claims.append(Identity(what, shift.weighted_mean(np.square, sample), expected))
    second = shift.second_moment
    numbers: Numbers = {
        "E_p[w²]": second if np.isfinite(second) else Enclosure.between(inf, inf),
        "rows that the weighted ones are worth": draws / second,
    }
    return Examples(tuple(claims), (draw_densities(shift),), numbers=numbers)
