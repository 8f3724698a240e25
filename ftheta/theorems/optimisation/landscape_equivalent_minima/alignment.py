r"""Two trained networks of one architecture: which neuron of one is which of the other, and what lies between them.

Weight matching (`ainsworth2023`): the order (and for odd activations the signs) of the neurons of $B$ that maximises
$\sum_\ell\langle W^A_\ell,W^B_\ell\rangle+\langle b^A_\ell,b^B_\ell\rangle$ is a linear assignment problem for each
hidden layer when the others are held, solved exactly and repeated until nothing gets better. With one hidden layer the
first assignment is the best of all. The barrier is $\max_t\mathcal L((1-t)A+tB)-(1-t)\mathcal L(A)-t\mathcal L(B)$.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linear_sum_assignment

from ftheta.graph.compiling import call_compiled
from ftheta.logic import UsageError
from ftheta.networks.description import Description, random_mlp
from ftheta.spectra.objective import LabelledNetwork
from ftheta.training.losses import loss_named
from ftheta.training.optimisers import optimiser_named
from ftheta.training.program import Problem
from ftheta.training.study import affordable

from .minima import Move, Params, hidden_widths, odd_layers, risk

SWEEPS = 50
STARTS = 8  # random starts of the rival; the best is taken


def similarity(a: Params, b: Params) -> float:
    """The inner product of all weights and biases."""
    return float(
        sum((np.asarray(p) * q).sum() for one, other in zip(a, b) for p, q in zip(one, other))
    )


def match(layers: Description, other: Params) -> Move:
    """The move that brings the neurons of `other` next to those of `layers`."""
    shapes = [W.shape for W, _ in other]
    if shapes != [W.shape for W, _ in layers.params]:
        raise UsageError(
            "Only networks of one architecture can be aligned.", got=f"weights {shapes}"
        )
    own = layers.params
    odd = odd_layers(layers)
    move = Move.none(hidden_widths(layers))
    best = similarity(own, other)
    for _ in range(SWEEPS):
        for i in range(len(odd)):
            move = _assign(own, other, move, i, odd[i])
        new = similarity(own, move(other))
        if new <= best * (1 + 1e-12) if best > 0 else new <= best + 1e-12:
            break
        best = new
    return move


def _assign(own: Params, other: Params, move: Move, i: int, odd: bool) -> Move:
    """The move with the best order and signs of hidden layer i, the other layers held."""
    free = Move(
        tuple(np.arange(len(o)) if k == i else o for k, o in enumerate(move.orders)),
        tuple(np.ones(len(s)) if k == i else s for k, s in enumerate(move.signs)),
    )
    ((W, b), (A, _)), moved = own[i : i + 2], free(other)
    (V, c), (C, _) = moved[i : i + 2]
    gain = W @ V.T + np.outer(b, c) + A.T @ C  # of neuron j of `other` at the place of neuron k
    rows, columns = linear_sum_assignment(np.abs(gain) if odd else gain, maximize=True)
    sign = np.where(gain[rows, columns] < 0, -1.0, 1.0) if odd else np.ones(len(rows))
    replace = lambda parts, new: tuple(new if k == i else part for k, part in enumerate(parts))
    return Move(replace(move.orders, columns), replace(move.signs, sign))


def train_rival(
    layers: Description,
    x: np.ndarray,
    y: np.ndarray,
    loss: str,
    rng: np.random.Generator,
    steps: int,
    step: float,
) -> Description:
    """The same architecture trained on these rows from random starts, all at once; the one of the lowest loss."""
    import optax

    hidden = layers.layers[0].activation
    starts = [
        random_mlp(rng, layers.widths, hidden, gain=1.0, bias=0.1).params for _ in range(STARTS)
    ]
    targets = loss_named(loss).targets(y, (layers.widths[-1],))
    schedule = optax.cosine_decay_schedule(step, steps, 0.01)  # so that the run settles
    problem = Problem(layers.apply, loss_named(loss).of, optimiser_named("adam", schedule)[1])
    with jax.enable_x64(True):
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
        train = lambda params: problem.roll(problem.start(params), x, targets, None, steps, steps)
        done = call_compiled(jax.vmap(train), stacked)
        last = np.asarray(done.losses)[:, -1]
        k = int(np.nanargmin(np.where(np.isfinite(last), last, np.inf)))
        params = [(np.asarray(W[k]), np.asarray(b[k])) for W, b in done.state.params]
    return describe_as(layers, params)


def describe_as(layers: Description, params: Params) -> Description:
    """These weights in the architecture of `layers`."""
    made = [type(old)(W, b, old.activation) for (W, b), old in zip(params, layers.layers)]
    return Description(tuple(made))


@dataclass(frozen=True, eq=False)
class Between:
    """Losses on the straight way from A to B and to B aligned with A; how alike the weights are before and after."""

    t: np.ndarray
    plain: np.ndarray
    aligned: np.ndarray
    before: float
    after: float

    @classmethod
    def of(
        cls,
        a: Description,
        b: Description,
        x: np.ndarray,
        y: np.ndarray,
        loss: str,
        points: int = 25,
    ) -> "Between":
        own = a.params
        other = b.params
        moved = match(a, other)(other)
        t = np.linspace(0.0, 1.0, points)
        with jax.enable_x64(True):
            value = risk(a, x, y, loss)
            mix = lambda end, s: [
                ((1 - s) * W + s * V, (1 - s) * p + s * q) for (W, p), (V, q) in zip(own, end)
            ]
            plain, aligned = (
                np.array([float(value(mix(end, s))) for s in t]) for end in (other, moved)
            )
        return cls(t, plain, aligned, similarity(own, other), similarity(own, moved))

    def barriers(self) -> tuple[float, float]:
        """The barrier on the way to B, and to B aligned."""
        straight = [
            way - (1 - self.t) * way[0] - self.t * way[-1] for way in (self.plain, self.aligned)
        ]
        return float(straight[0].max()), float(straight[1].max())


def same_kind(layers: Description) -> bool:
    """Whether all hidden layers have one activation, so that a rival can be drawn."""
    return len({layer.activation for layer in layers.layers[:-1]}) == 1


def compare_with_rival(
    subject: LabelledNetwork, layers: Description, rng: np.random.Generator, steps: int, step: float
) -> Between:
    """The network beside one of its architecture that was trained on its data from a random start."""
    loss = subject.loss or "squared"
    many = affordable(STARTS * subject.net.parameters, len(subject.x), steps)
    other = train_rival(layers, subject.x, subject.y, loss, rng, many, step)
    return Between.of(layers, other, subject.x, subject.y, loss)
