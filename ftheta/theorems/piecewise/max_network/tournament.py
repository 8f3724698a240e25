"""Pictures and checks of networks that find the largest of several numbers."""

from fractions import Fraction

import numpy as np

from ftheta.logic import Axis, Curves, Dag, Identity, Series, Vertex, Witness
from ftheta.relu.counts import count, is_plain
from ftheta.relu.exact import ExactNetwork
from ftheta.relu.line.cpa1d import enclose_rational
from ftheta.relu.maxima.maximum import Shape, hidden_layers, maximum, neurons, pair_maximum
from ftheta.relu.symmetry.canonical import canonical, equal_by_symmetry

from .braid import MOST, against_maximum, preactivations

SHAPES: tuple[Shape, ...] = ("tree", "chain")


def shape_of(net: ExactNetwork) -> Shape | None:
    """Whether the network is, up to order and positive scaling of its neurons, the tree or the chain of pairs."""
    M = net.widths[0]
    outputs = net.widths[-1]
    if outputs != 1 or M < 2 or not is_plain(net):
        return None
    depth = len(net.steps) - 1
    for shape in SHAPES:
        if hidden_layers(M, shape) == depth and equal_by_symmetry(net, maximum(M, shape)):
            return shape
    return None


def tied_points(M: int, points: int, rng: np.random.Generator) -> np.ndarray:
    """Integer points, half of them from so few values that there are ties."""
    wide = rng.integers(-999, 1000, (points - points // 2, M))
    narrow = rng.integers(-1, 2, (points // 2, M))
    return np.concatenate([wide, narrow])


def finds_the_largest(net: ExactNetwork, x: np.ndarray) -> tuple[Identity, ...]:
    """Claims that the network is the maximum: at the points `x`, and for few numbers on every cone."""
    M = net.widths[0]
    zero = enclose_rational(0)
    errors = np.abs(preactivations(net, x)[-1][:, 0] - x.max(axis=1))
    k = int(np.argmax(errors))
    claims = [_equal(net, f"largest |f − max| at {len(x)} random and tied points", Fraction(errors[k]), x[k].tolist())]
    if M <= MOST:
        on = against_maximum(net)
        claims.append(_equal(net, f"largest |f − max| on the {2 ** (M + 1) - 2} rays of the cones", on.error, on.ray))
        claims.append(Identity("neurons that change sign inside a cone", enclose_rational(on.bent), zero))
    else:
        pair = against_maximum(pair_maximum())
        claims.append(
            Identity("one pair: largest |f − max| on the rays of its cones", enclose_rational(pair.error), zero)
        )
        claims.append(Identity("one pair: neurons that change sign inside a cone", enclose_rational(pair.bent), zero))
    return tuple(claims)


def _equal(net: ExactNetwork, what: str, error: Fraction, at) -> Identity:
    again = enclose_rational(abs(net(at)[0] - max(at)))
    place = Witness({"x": tuple(map(float, at))}, again, enclose_rational(0), "neuron by neuron in rationals")
    return Identity(what, enclose_rational(error), enclose_rational(0), place if error else None)


def sizes(net: ExactNetwork, shape: Shape) -> tuple[Identity, ...]:
    """Claims on layers and neurons; neurons that are scaled copies of one another count once."""
    M = net.widths[0]
    size = count(canonical(net))
    return (
        Identity(
            f"hidden layers of the {shape}",
            enclose_rational(size.activations),
            enclose_rational(hidden_layers(M, shape)),
        ),
        Identity(f"neurons of the {shape}", enclose_rational(size.neurons), enclose_rational(neurons(M, shape))),
    )


def bracket(x: np.ndarray, shape: Shape) -> Dag:
    """Who meets whom at one input, with the larger number going on."""
    now = [(f"x{i}", int(v)) for i, v in enumerate(x)]
    vertices = [Vertex(id, f"x{i + 1}", f"{v}") for i, (id, v) in enumerate(now)]
    edges = []
    level = 0
    while len(now) > 1:
        pairs = len(now) // 2 if shape == "tree" else 1
        level = level + 1
        met = []
        for i in range(pairs):
            (a, u) = now[2 * i]
            (b, v) = now[2 * i + 1]
            name = f"m{level}.{i}"
            vertices.append(Vertex(name, "max", f"{max(u, v)}"))
            edges += [(a, name), (b, name)]
            met.append((name, max(u, v)))
        now = met + now[2 * pairs :]
    return Dag(f"the {shape}: the larger of each pair goes on", tuple(vertices), tuple(edges))


def growth(M: int) -> Curves:
    """Hidden layers and neurons against how many numbers there are."""
    x = sorted({2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, M})
    series = [
        Series("layers, chain", x, [hidden_layers(m, "chain") for m in x], "bound"),
        Series("layers, tree", x, [hidden_layers(m) for m in x], "measured"),
        Series("neurons, chain", x, [neurons(m, "chain") for m in x], "other"),
        Series("neurons, tree", x, [neurons(m) for m in x], "other"),
    ]
    return Curves("what the largest of M numbers costs", Axis("M", "log"), Axis("how many", "log"), tuple(series))
