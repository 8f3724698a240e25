"""Pictures and checks of networks that find the largest of several numbers."""

from fractions import Fraction

import numpy as np

from ftheta.logic import Axis, Curves, Dag, Identity, Series, Vertex, Witness

from ..counts import count, is_plain
from ..exact import ExactNetwork
from ..line.cpa1d import known
from ..symmetry.canonical import canonical, equal_by_symmetry
from .braid import MOST, against_maximum, preactivations
from .maximum import Shape, hidden_layers, maximum, neurons, pair_maximum

SHAPES: tuple[Shape, ...] = ("tree", "chain")


def shape_of(net: ExactNetwork) -> Shape | None:
    """Whether the network is, up to order and positive scaling of its neurons, the tree or the chain of pairs."""
    M, outputs = net.widths[0], net.widths[-1]
    if outputs != 1 or M < 2 or not is_plain(net):
        return None
    depth = len(net.steps) - 1
    for shape in SHAPES:
        if hidden_layers(M, shape) == depth and equal_by_symmetry(net, maximum(M, shape)):
            return shape
    return None


def tied_points(M: int, points: int, rng: np.random.Generator) -> np.ndarray:
    """Integer points, half of them from so few values that there are ties."""
    wide, narrow = rng.integers(-999, 1000, (points - points // 2, M)), rng.integers(-1, 2, (points // 2, M))
    return np.concatenate([wide, narrow])


def finds_the_largest(net: ExactNetwork, x: np.ndarray) -> tuple[Identity, ...]:
    """Claims that the network is the maximum: at the points `x`, and for few numbers on every cone."""
    M, zero = net.widths[0], known(0)
    errors = np.abs(preactivations(net, x)[-1][:, 0] - x.max(axis=1))
    k = int(np.argmax(errors))
    claims = [_equal(net, f"largest |f − max| at {len(x)} random and tied points", Fraction(errors[k]), x[k].tolist())]
    if M <= MOST:
        on = against_maximum(net)
        claims.append(_equal(net, f"largest |f − max| on the {2 ** (M + 1) - 2} rays of the cones", on.error, on.ray))
        claims.append(Identity("neurons that change sign inside a cone", known(on.bent), zero))
    else:
        pair = against_maximum(pair_maximum())
        claims.append(Identity("one pair: largest |f − max| on the rays of its cones", known(pair.error), zero))
        claims.append(Identity("one pair: neurons that change sign inside a cone", known(pair.bent), zero))
    return tuple(claims)


def _equal(net: ExactNetwork, what: str, error: Fraction, at) -> Identity:
    again = known(abs(net(at)[0] - max(at)))
    place = Witness({"x": tuple(map(float, at))}, again, known(0), "neuron by neuron in rationals")
    return Identity(what, known(error), known(0), place if error else None)


def sizes(net: ExactNetwork, shape: Shape) -> tuple[Identity, ...]:
    """Claims on layers and neurons; neurons that are scaled copies of one another count once."""
    M, size = net.widths[0], count(canonical(net))
    return (
        Identity(f"hidden layers of the {shape}", known(size.activations), known(hidden_layers(M, shape))),
        Identity(f"neurons of the {shape}", known(size.neurons), known(neurons(M, shape))),
    )


def bracket(x: np.ndarray, shape: Shape) -> Dag:
    """Who meets whom at one input, with the larger number going on."""
    now = [(f"x{i}", int(v)) for i, v in enumerate(x)]
    vertices = [Vertex(id, f"x{i + 1}", f"{v}") for i, (id, v) in enumerate(now)]
    edges, level = [], 0
    while len(now) > 1:
        pairs, level = (len(now) // 2 if shape == "tree" else 1), level + 1
        met = []
        for i in range(pairs):
            (a, u), (b, v) = now[2 * i], now[2 * i + 1]
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
