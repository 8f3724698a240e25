r"""Copies of a minimum: hidden neurons in another order and, for odd activations, with other signs.

All copies are one function, so they have one loss; half-way between two of them there is another function. At width
$h$ there are $h!$ orders and for tanh $2^h$ signs, and they are all different if no two neurons of a layer agree up to
sign and none is zero ("generic").
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import factorial, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Enclosure
from ftheta.networks.description import Dense, Description
from ftheta.relu.exact import exact
from ftheta.relu.symmetry.symmetries import normalise_signs, sign_copies
from ftheta.training.losses import loss_named

ODD = {"tanh", "arctan", "identity"}
LISTED = 5000  # copies that are all made
BALLS = 200_000  # values of tanh in ball arithmetic
BITS = 128
DRAWN = 1e9  # multiplications of one surface, about
Params = Sequence[tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Move:
    """For every hidden layer an order and a sign for each neuron: neuron k of the copy is `sign[k]` × `order[k]`."""

    orders: tuple[np.ndarray, ...]
    signs: tuple[np.ndarray, ...]

    @classmethod
    def none(cls, widths: Sequence[int]) -> "Move":
        return cls(tuple(np.arange(h) for h in widths), tuple(np.ones(h) for h in widths))

    def __call__(self, params: Params) -> list[tuple[np.ndarray, np.ndarray]]:
        """The copy of these layers; the last is read through the changed neurons."""
        moved = [(np.array(W, float), np.array(b, float)) for W, b in params]
        for i, (order, sign) in enumerate(zip(self.orders, self.signs)):
            (W, b) = moved[i]
            (A, c) = moved[i + 1]
            moved[i] = sign[:, None] * W[order], sign * b[order]
            moved[i + 1] = A[:, order] * sign, c
        return moved

    def inverse(self, params: Params) -> list[tuple[np.ndarray, np.ndarray]]:
        """The network of which these layers are the copy."""
        back = tuple(np.argsort(order) for order in self.orders)
        return Move(back, tuple(sign[order] for sign, order in zip(self.signs, back)))(params)


def hidden_widths(layers: Description) -> tuple[int, ...]:
    """The numbers of neurons of the hidden layers."""
    return layers.widths[1:-1]


def odd_layers(layers: Description) -> tuple[bool, ...]:
    """Whether the activation of each hidden layer is odd."""
    return tuple(layer.activation in ODD for layer in layers.layers[:-1])


def number_of_copies(layers: Description) -> int:
    r"""$\prod_\ell h_\ell!$, times $2^{h_\ell}$ where the activation is odd."""
    counts = zip(hidden_widths(layers), odd_layers(layers))
    return prod(factorial(h) * (2**h if odd else 1) for h, odd in counts)


def coincidence(layers: Description) -> str:
    """What makes two copies coincide: equal neurons, or one without weights whose sign does not matter. Or nothing."""
    for i, (layer, odd) in enumerate(zip(layers.layers[:-1], odd_layers(layers)), 1):
        rows = np.column_stack([layer.weight, layer.bias]) + 0.0  # −0 is 0
        if odd and (rows == 0).all(axis=1).any():
            return f"a neuron of layer {i} has no weights"
        seen = {(_orient(row) if odd else row).tobytes() for row in rows}
        if len(seen) < len(rows):
            return f"two neurons of layer {i} are equal" + (" up to sign" if odd else "")
    return ""


def _orient(row: np.ndarray) -> np.ndarray:
    """The row or its opposite: the one whose first entry that is not 0 is positive."""
    first = next((v for v in row if v), 1.0)
    return row if first > 0 else 0.0 - row


def copies(layers: Description) -> Iterator[Move]:
    """All copies, the network itself first."""
    sets = []
    for h, odd in zip(hidden_widths(layers), odd_layers(layers)):
        signs = list(product((1.0, -1.0), repeat=h)) if odd else [(1.0,) * h]
        sets.append([(order, sign) for sign in signs for order in permutations(range(h))])
    for choice in product(*sets):
        yield Move(tuple(np.array(o) for o, _ in choice), tuple(np.array(s) for _, s in choice))


def random_move(layers: Description, rng: np.random.Generator) -> Move:
    """A random order of the neurons of each hidden layer, and random signs where the activation is odd."""
    widths = hidden_widths(layers)
    sign = lambda h, odd: rng.choice((-1.0, 1.0), h) if odd else np.ones(h)
    signs = tuple(sign(h, odd) for h, odd in zip(widths, odd_layers(layers)))
    return Move(tuple(rng.permutation(h) for h in widths), signs)


def two_moves(layers: Description) -> tuple[Move, Move]:
    """Two copies that differ from the network in different neurons, so that doing both is a third: sign changes where
    there are signs, else exchanges; on narrow layers they share neurons."""
    still = Move.none(hidden_widths(layers))
    h = hidden_widths(layers)[0]
    odd = odd_layers(layers)[0]
    made = []
    for j in range(2):
        order = still.orders[0].copy()
        sign = still.signs[0].copy()
        if odd and h > 1:
            sign[j] = -1
        elif odd:
            sign[0] = -1
        elif h > 1:
            a, b = (2 * j, 2 * j + 1) if h > 3 else (0, min(j + 1, h - 1))
            order[[a, b]] = order[[b, a]]
        made.append(Move((order, *still.orders[1:]), (sign, *still.signs[1:])))
    return made[0], made[1]


def listed_copies(layers: Description) -> tuple[int, int] | None:
    """One hidden layer of odd neurons: all copies in rationals, how many differ, and as how many functions.

    None where the network is of another kind, or has too many copies to list.
    """
    if len(layers.layers) != 2 or not odd_layers(layers)[0] or number_of_copies(layers) > LISTED:
        return None
    hidden, last = layers.layers
    weights = Description(
        (Dense(hidden.weight, hidden.bias, "relu"), Dense(last.weight, last.bias))
    )
    made = sign_copies(exact(weights))  # it reads the neurons alone
    return len(made), len({normalise_signs(copy) for copy in made})


def risk(layers: Description, x: np.ndarray, y: np.ndarray, loss: str) -> Callable[[Params], Any]:
    """The mean loss over the rows as a function of the layers, compiled."""
    one = loss_named(loss)
    targets = one.targets(y, (layers.widths[-1],))
    return jax.jit(lambda params: jnp.mean(jax.vmap(one.of)(layers.apply(params, x), targets)))


def ball_loss(layers: Description, params: Params, x: np.ndarray, y: np.ndarray) -> Any:
    """The mean squared error of a tanh network, enclosed."""
    last = len(layers.layers) - 1
    weights = [
        [[*map(arb, row), arb(c)] for row, c in zip(W.tolist(), b.tolist())] for W, b in params
    ]
    total = arb(0)
    for row, target in zip(x.tolist(), y.tolist()):
        state = [arb(v) for v in row]
        for i, layer in enumerate(weights):
            state = [sum((w * v for w, v in zip(unit, state)), unit[-1]) for unit in layer]
            state = state if i == last else [v.tanh() for v in state]
        total = total + sum(((v - arb(t)) ** 2 for v, t in zip(state, target)), arb(0))
    return total / len(x)


@dataclass(frozen=True, eq=False)
class Midpoints:
    """The loss of a network, of its copies, and half-way to each of them."""

    loss: Enclosure
    worst_copy: Enclosure
    halves: np.ndarray
    highest: Enclosure
    at: int

    @classmethod
    def of(
        cls,
        layers: Description,
        x: np.ndarray,
        y: np.ndarray,
        loss: str,
        rng: np.random.Generator,
        most: int = 400,
    ) -> "Midpoints":
        """All copies where there are few, else random ones. The highest midpoint is enclosed in balls if there is
        room."""
        few = number_of_copies(layers) <= most
        moves = (
            list(islice(copies(layers), 1, None))
            if few
            else [random_move(layers, rng) for _ in range(64)]
        )
        own = layers.params
        value = risk(layers, x, y, loss)
        made = [move(own) for move in moves] or [own]
        middle = lambda copy: [((W + V) / 2, (b + c) / 2) for (W, b), (V, c) in zip(own, copy)]
        halves = np.array([float(value(middle(copy))) for copy in made])
        same = [float(value(copy)) for copy in made]
        at = int(np.argmax(halves))
        base = float(value(own))
        smooth = (
            all(layer.activation == "tanh" for layer in layers.layers[:-1]) and loss == "squared"
        )
        if smooth and sum(hidden_widths(layers)) * len(x) <= BALLS:
            with ctx.workprec(BITS):
                low, high = (known(ball_loss(layers, p, x, y)) for p in (own, middle(made[at])))
        else:
            low = Enclosure.equal(base)
            high = Enclosure.equal(float(halves[at]))
        return cls(low, Enclosure.measured(float(max(same)), samples=len(same)), halves, high, at)

    @property
    def higher(self) -> float:
        """The part of the midpoints with a loss above that of the network."""
        return float(np.mean(self.halves > self.loss.hi + 1e-9 * self.highest.middle))


def risk_on_plane(layers: Description, x: np.ndarray, y: np.ndarray, loss: str) -> np.ndarray:
    """The loss on a grid over [−0.5, 1.5]² of the plane through the network, at (0, 0), and two copies, at (1, 0) and
    (0, 1)."""
    own = layers.params
    value = risk(layers, x, y, loss)
    first, second = (move(own) for move in two_moves(layers))
    size = sum(W.size for W, _ in own) * len(x)
    s = np.linspace(-0.5, 1.5, int(np.clip(np.sqrt(DRAWN / size), 15, 81)))

    def at(point: Any) -> Any:
        blend = lambda a, b, c: a + point[0] * (b - a) + point[1] * (c - a)
        return value(
            [tuple(blend(*parts) for parts in zip(*trio)) for trio in zip(own, first, second)]
        )

    grid = np.stack(np.meshgrid(s, s), axis=-1).reshape(-1, 2)
    return np.asarray(call_compiled(lambda points: jax.lax.map(at, points), grid)).reshape(
        len(s), len(s)
    )
