r"""Training runs whose risks are known at every step: on a finite law, and on the rows of a network handed in."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.networks import Dense, Description, random_mlp
from ftheta.training import fit
from ftheta.training.study import affordable

from .decomposition import (
    SNAPSHOTS,
    Law,
    Losses,
    Terms,
    TrainingRun,
    choose_snapshots,
    losses_of,
    losses_on,
    terms_of,
    train_on,
)

STEP = 0.005
SHARES = (24, 8, 3)  # of the width: sizes of the models that are compared
WORK = 2e9  # multiplications spent on looking at a network handed in


@dataclass(frozen=True, eq=False)
class Experiment:
    """A law, a network trained for so many steps on samples of it, and the losses of θ* at every row (`best`).

    `drawn_from` are other weights of the rows from which the samples are drawn in truth.
    """

    law: Law
    net: Description
    steps: int
    losses: Losses
    best: np.ndarray
    drawn_from: np.ndarray | None

    @classmethod
    def of(
        cls,
        law: Law,
        width: int,
        steps: int,
        drawn_from: np.ndarray | None,
        rng: np.random.Generator,
        wider: "Experiment | None" = None,
    ) -> "Experiment":
        """θ* is played by the same network trained on the law itself: argmin R is not known, only bounded.

        It is put into the network of a `wider` experiment on this law, whose programs it shares.
        """
        net = shrink_outputs(
            random_mlp(rng, (law.x.shape[1], width, width, law.y.shape[1]), "tanh")
        )
        steps = affordable(sum(W.size for W, _ in net.params), len(law), steps)
        if wider:
            net = widen(net, wider.net.widths[1])
        losses = wider.losses if wider else losses_of(net.apply, law)
        whole = train_on(net, law, np.ones(len(law), int), [steps, 2 * steps], STEP, losses)
        return cls(
            law, net, steps, losses, whole.losses[int(whole.losses.mean(1).argmin())], drawn_from
        )

    def run(self, counts: np.ndarray, steps: list[int]) -> tuple[TrainingRun, Terms]:
        """Train on the sample with these counts, looked at after these numbers of steps; and the four terms there."""
        found = train_on(self.net, self.law, counts, steps, STEP, self.losses)
        return found, terms_of(found, self.law, counts, self.best)


def compare_widths(
    experiment: Experiment, counts: np.ndarray, end: Terms, rng: np.random.Generator
) -> list[tuple[int, Terms]]:
    r"""The terms after training networks of a few widths, up to that of the experiment, on the sample with these
    counts; $\theta^*$ is found anew in every class. `end` are the terms of the experiment itself."""
    width = experiment.net.widths[1]
    found = []
    for w in sorted({max(1, width // share) for share in SHARES}):
        smaller = Experiment.of(
            experiment.law, w, experiment.steps, experiment.drawn_from, rng, wider=experiment
        )
        found.append((w, smaller.run(counts, [smaller.steps])[1]))
    return [*found, (width, end)]


def shrink_outputs(net: Description) -> Description:
    """The same network with outputs near 0: training begins at the risk of predicting nothing."""
    *hidden, last = net.layers
    return Description((*hidden, Dense(last.weight / 16, last.bias / 16, last.activation)))


def widen(net: Description, width: int) -> Description:
    """The same function with as many units in every hidden layer: what is added has no weights, and by tanh(0) = 0 no
    gradient ever gives it any."""
    inner = [max(width, w) for w in net.widths[1:-1]]
    sizes = [net.widths[0], *inner, net.widths[-1]]
    layers = []
    for layer, before, after in zip(net.layers, sizes, sizes[1:]):
        more = after - layer.weight.shape[0]
        weight = np.pad(layer.weight, ((0, more), (0, before - layer.weight.shape[1])))
        layers.append(Dense(weight, np.pad(layer.bias, (0, more)), layer.activation))
    return Description(tuple(layers))


def shuffle_weights(params: Any, rng: np.random.Generator) -> Any:
    """Half of the same weights in another order, and no biases: a start of known size in which nothing is learnt."""

    def shuffle(leaf: Any) -> Any:
        if np.ndim(leaf) <= 1:
            return np.zeros_like(leaf)
        return rng.permutation(np.ravel(leaf)).reshape(leaf.shape) / 2

    return jax.tree.map(shuffle, params)


def train_at(
    start: Any, apply: Any, data: tuple[np.ndarray, np.ndarray], loss: str, steps: list[int]
) -> list[Any]:
    """The parameters after these numbers of steps of one run."""
    run = fit((start, apply), data, loss, "adam", step=STEP, steps=steps[0], progress=False)
    found = [run.params]
    for t in steps[1:]:
        run = run.resume(t)
        found.append(run.params)
    return found


@dataclass(frozen=True, eq=False)
class HeldOut:
    r"""The network handed in plays $\theta^*$: its losses on the `sample` of $n$ rows and on the others. A copy with
    shuffled weights was trained on the sample; `held` are its losses on the others, one row per snapshot."""

    terms: Terms
    held: np.ndarray
    best_train: np.ndarray
    best_held: np.ndarray

    @property
    def n(self) -> int:
        return len(self.best_train)


def train_copy(net: Any, loss: str, rng: np.random.Generator, steps: int) -> HeldOut:
    """Train a copy of the network on half of its rows, and estimate $R$ on the others, which it has not seen."""
    affords = int(max(32, WORK / (2 * SNAPSHOTS * net.parameters)))
    order = rng.permutation(len(net.data))[:affords]
    n = len(order) // 2
    sample = (net.data.x[order[:n]], net.data.y[order[:n]])
    others = (net.data.x[order[n:]], net.data.y[order[n:]])
    on_sample = losses_on(net, sample, loss)
    held_out = losses_on(net, others, loss)
    seen = choose_snapshots(affordable(net.parameters, n, steps))
    params = train_at(shuffle_weights(net.params, rng), net.apply, sample, loss, seen)
    train = np.stack([on_sample(p) for p in params])
    held = np.stack([held_out(p) for p in params])
    best_train = on_sample(net.params)
    best_held = held_out(net.params)
    terms = Terms(
        np.array(seen),
        train.mean(1),
        held.mean(1),
        float(best_train.mean()),
        float(best_held.mean()),
    )
    return HeldOut(terms, held, best_train, best_held)
