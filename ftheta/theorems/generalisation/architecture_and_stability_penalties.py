"""Penalties of steepness: Jacobians, spectral norms, noise on the input, and what they do to the test loss."""

from typing import Annotated

import jax
import numpy as np

from ftheta.generalisation.regularisers.ablations import with_each
from ftheta.generalisation.regularisers.penalties import PROBES
from ftheta.generalisation.regularisers.penalty_study import MOVES, WORK, smooth_rows, steepness_evidence
from ftheta.learning.features import targets_of
from ftheta.learning.outputs import outputs_of
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import real_inputs
from ftheta.training.study import ROWS


def few_noisy_rows(
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(16, 200, "rows, half of them to test", "n", log=True, least=8, most=400)] = 80,
    noise: Annotated[float, Knob(0, 2, "noise of the targets", "σ", most=10)] = 0.5,
) -> Network:
    x = rng.normal(size=(n, 3))
    y = np.stack([np.sin(2 * x[:, 0]), x[:, 1] * x[:, 2] / 2, np.cos(x[:, 0] + x[:, 1])], axis=1)
    net = random_mlp(rng, (3, 24, 24, 3), "tanh")
    data = Dataset("few noisy rows", x, y + noise * rng.normal(size=y.shape))
    return Network.described(net, "tanh, 3-24-24-3").with_data(data)


def on_its_kinks(rng: np.random.Generator) -> Network:
    net = Description((Dense(np.eye(2), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1))))
    return Network.described(net, "ReLU at its kinks").with_data(Dataset("rows", np.zeros((4, 2)), np.zeros(4)))


def rows_of(net: Network) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and real targets: of the data, a column a class; without labels zeros, without data random inputs."""
    random = lambda: np.random.default_rng(0).normal(size=(8, *net.input_shape))
    x, out = random() if net.data is None else net.data.x[:ROWS].astype(float), outputs_of(net)
    y = np.zeros((len(x), 1)) if out is None else targets_of(out.y, out.classes, int(np.prod(net.output_shape)))
    return x, np.broadcast_to(y[: len(x)], (len(x), int(np.prod(net.output_shape)))).reshape(-1, *net.output_shape)


@hypothesis(r"$f$ has two derivatives around some of the rows", remedy="move the rows off the kinks of the network")
def smooth_somewhere(net: Network) -> Finding:
    if (d := int(np.prod(net.input_shape))) > MOVES:
        return Finding.failed(f"{d:,} inputs, second derivatives are taken of {MOVES:,} at most")
    if d * net.parameters > WORK:
        return Finding.failed(f"{d:,} inputs × {net.parameters:,} parameters, at most {WORK:,} for second derivatives")
    good = len(smooth_rows(lambda v: net.apply(net.params, v), rows_of(net)[0]))
    note = f"around {good} rows"
    return Finding.sampled(note) if good else Finding.failed(note)


@hypothesis(r"$\mathbb E\,vv^\top=I$ for the probes", remedy="take signs or Gaussian vectors")
def unit_probes(net: Network, *, probe: str) -> Finding:
    return Finding.decide(
        probe != "uniform", {"uniform": "variance 1/3"}.get(probe, "variance 1"), "closed form", basis=Basis.EXACT
    )


@theorem(
    title="Penalties and architectures that keep a network from being steep",
    sources=("seed 2", "drucker1992", "bishop1995", "hutchinson1990", "miyato2018", "yoshida2017"),
    assumes=(real_inputs, smooth_somewhere, unit_probes),
    on=few_noisy_rows,
    breaks_on=on_its_kinks,
    presets={
        "textbook": {},
        "Gaussian probes, strong penalties": {"probe": "Gaussian", "strength": 0.3},
        "at the edge": {"noise": 0.0, "n": 16, "strength": 0.0},
        "broken on purpose": {"probe": "uniform"},
    },
)
def architecture_and_stability_penalties(
    net: Network,
    rng: np.random.Generator,
    *,
    probe: Annotated[str, Knob(says="random vectors of the trace", symbol="v", choices=PROBES)] = "signs",
    draws: Annotated[int, Knob(100, 5000, "random vectors", "T", log=True, least=20, most=50_000)] = 1000,
    powers: Annotated[int, Knob(1, 200, "steps of power iteration", "k", log=True, most=2000)] = 40,
    strength: Annotated[float, Knob(0, 1, "strength of the penalties that are trained with", "γ", most=10)] = 0.1,
    steps: Annotated[
        int, Knob(50, 1000, "steps of training with each penalty", "K", log=True, least=5, most=5000)
    ] = 300,
) -> Evidence:
    r"""$\|J\|_F^2=\mathbb E\|J^\top v\|^2$ if $\mathbb E\,vv^\top=I$; for a linear map it is $\|W\|_F^2$. Power
    iteration tends to $\sigma_{\max}$ from below, $1-\theta_k/\sigma_1^2\le\tan^2\alpha\,(\sigma_2/\sigma_1)^{4k}$, and
    $W/\sigma_{\max}$ has norm 1. Input noise of variance $s^2$ adds
    $$s^2\big(\|J\|_F^2+\langle f-y,\Delta f\rangle\big)+O(s^4)$$ to $\|f-y\|^2$, the Jacobian penalty alone where
    $f=\mathbb E[y\,|\,x]$ or $f$ is affine. With skips $\sigma_{\min}(\prod(I+M_\ell))\ge\prod(1-\|M_\ell\|)$."""
    x, y = rows_of(net)
    matrices = [np.asarray(leaf) for leaf in jax.tree.leaves(net.params) if np.ndim(leaf) == 2]
    f, out, trained = (lambda v: net.apply(net.params, v)), outputs_of(net), None
    if out is not None:
        labels = out.y[: len(x)]
        trained = with_each(net.apply, net.params, out.loss, x, labels, rng, steps=steps, strength=strength)
    knobs = {"probe": probe, "draws": draws, "powers": powers}
    return steepness_evidence(f, x, y, matrices, net.description, trained, rng, **knobs)
