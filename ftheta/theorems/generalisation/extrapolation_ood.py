"""Beyond the data: ReLU networks go on as straight lines, bounded ones as constants."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.generalisation.shift import ood_study as study
from ftheta.generalisation.shift.importance import GaussianShift
from ftheta.generalisation.shift.rays import is_bounded
from ftheta.logic import Evidence, Finding, Knob, Status, hypothesis, theorem
from ftheta.networks import random_mlp
from ftheta.pieces.normal_forms import normal_form
from ftheta.relu.describe import described
from ftheta.relu.line.points import line_network, through_points
from ftheta.subjects import Dataset, Network
from ftheta.subjects.layers import describes_this_function
from ftheta.training import fit

KINDS = ("parabola", "sine", "four points", "random")
HIDDEN = ("relu", "tanh", "arctan", "square")


def fitted(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="what the network was fitted to", choices=KINDS)] = "parabola",
    hidden: Annotated[str, Knob(says="activation of its hidden layers", symbol="σ", choices=HIDDEN)] = "relu",
    width: Annotated[int, Knob(2, 64, "neurons in a hidden layer", "m", log=True, most=256)] = 24,
) -> Network:
    if kind == "four points":
        x, y = np.arange(4.0), np.array([0.0, 1.0, 0.0, 2.0])
        net = Network.described(described(line_network(through_points(x.tolist(), y.tolist()))), kind)
        return net.with_data(Dataset(kind, x[:, None], y))
    if kind == "random":
        layers = random_mlp(rng, (3, width, width, 2), hidden, bias=0.5)
        return Network.described(layers, kind).with_data(Dataset(kind, rng.normal(size=(60, 3))))
    x = np.linspace(-1, 1, 41)[:, None]
    data, layers = Dataset(kind, x, study.TARGETS[kind](x)), random_mlp(rng, (1, width, 1), hidden, bias=1)
    trained = fit(layers, data, steps=1000, step=0.01, every=1000, progress=False).network
    return Network.described(trained, f"{hidden} network fitted to the {kind}").with_data(data)


def extrapolated(given: Network | Dataset) -> study.Extrapolated:
    data = given if isinstance(given, Dataset) else given.data
    pair = None if data is None else (data.x, data.y)
    if isinstance(given, Dataset):
        return study.Extrapolated(given.name, given.x.shape[1:], data=pair)
    f, goal = partial(given.apply, given.params), "" if data is None else data.name
    layers = given.description if describes_this_function.check(given).status is Status.PROVED else None
    return study.Extrapolated(given.name, given.input_shape, f, normal_form(given), layers, pair, goal)


@hypothesis(
    "a network of ReLUs, or one whose first layer has a bounded activation",
    remedy="use ReLU, leaky ReLU, max-pooling; or tanh, sigmoid, arctan in the first layer of a list",
)
def affine_or_bounded(given: Network | Dataset) -> Finding:
    if isinstance(given, Dataset):
        return Finding.proved("data alone: their hull is asked for", "an empty statement")
    form, layers = normal_form(given), extrapolated(given).layers
    if not form.refusal:
        return Finding.proved("piecewise affine", "its graph has a normal form", basis=form.basis)
    bounded = layers is not None and is_bounded(layers)
    return Finding.decide(bounded, "a bounded first layer" if bounded else form.refusal, "by name, in its own list")


@theorem(
    title="Extrapolation: straight lines and constants",
    sources=("seed 2", "seed 3", "xu2021", "shimodaira2000", "balestriero2021"),
    assumes=(affine_or_bounded,),
    on=fitted,
    breaks_on=lambda rng: fitted(rng, kind="random", hidden="square"),
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
    move: Annotated[float, Knob(-3, 3, "mean of the test law of the inputs", "μ")] = 1.0,
    spread: Annotated[float, Knob(0.3, 2, "standard deviation of the test law", "s", least=0.1, most=5)] = 0.8,
    draws: Annotated[int, Knob(100, 100_000, "draws of the training law", "n", log=True, most=10**6)] = 20_000,
    rows: Annotated[int, Knob(0, 20, "rows asked for in the hull of the others", "q", most=200)] = 6,
) -> Evidence:
    r"""On a ray a ReLU network is $f(x+tv)=\alpha t+\beta$ for $t\ge t_0$; if its first layer is bounded, it tends to a
    constant there: no such network continues $x^2$ or $\sin\pi x$. If inputs follow $q$ in the test and $p$ in
    training, $\mathbb E_q\ell=\mathbb E_p[w\ell]$ with $w=q/p$. A query is in the hull of the rows, $\sum_i\lambda_i
    x_i$ with $\lambda\ge0$, $\sum_i\lambda_i=1$, or some $u$ separates it: $\langle u,x\rangle>\max_i\langle u,
    x_i\rangle$."""
    return study.evidence(extrapolated(given), rng, rays, GaussianShift(move, spread), draws, rows)
