"""Linear in a lifted space: kernels, the representer theorem, and the features a network has learned."""

from typing import Annotated

import numpy as np

from ftheta.learning.features import Features, features
from ftheta.learning.kernel_study import data_evidence, network_evidence, ring
from ftheta.learning.kernels import NAMES, kernel
from ftheta.learning.outputs import outputs_of
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.subjects import Dataset, Network
from ftheta.training.study import first_rows

KINDS = ("three points", "disc in a ring")


def rows(
    rng: np.random.Generator, *, kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three points"
) -> Dataset:
    if kind == "disc in a ring":
        return Dataset(kind, *ring(rng))
    return Dataset(kind, np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0]))


def squashed(rng: np.random.Generator) -> Network:
    *hidden, last = random_mlp(rng, (2, 16, 1), "relu", bias=0.5).layers
    net = Description((*hidden, Dense(last.weight, last.bias, "tanh")))
    return Network.described(net, "ends in tanh").with_data(Dataset("disc in a ring", *ring(rng)))


def learned(net: Network) -> Features | None:
    x = np.random.default_rng(0).normal(size=(16, *net.input_shape)) if net.data is None else net.data.x
    try:
        return features(net.apply, net.params, x)
    except SubjectError:
        return None


@hypothesis("there are targets", remedy="give data with one number a row, or a network with labelled --data")
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.decide(
            outputs_of(subject) is not None, "those of the network's data", "counted", basis=Basis.EXACT
        )
    got = 0 if subject.y is None else subject.y[0].size
    return Finding.decide(got == 1, f"targets a row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(r"$f(x)=W\varphi(x)+b$: the last step is affine", remedy="cut the network before its last activation")
def affine_readout(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved("the model is linear in the lifted space", "it is fitted so here")
    found = learned(subject)
    if found is None:
        return Finding.failed("no last dense layer was found")
    note, number = f"|f − Wφ − b| up to {found.gap:.3g} on {len(found.phi)} rows", Enclosure.equal(found.gap)
    return Finding.sampled(note, number) if found.affine else Finding.failed(note, number)


@hypothesis(r"$k$ is positive semi-definite", remedy="take a kernel: linear, polynomial, Gaussian, Laplace")
def positive_kernel(subject: Dataset | Network, *, lift: str) -> Finding:
    positive = isinstance(subject, Network) or bool(kernel(lift).positive)
    note = lift if isinstance(subject, Dataset) else "an inner product"
    return Finding.decide(positive, note, "known of the kernel by name", basis=Basis.EXACT)


@theorem(
    title="Kernels, the representer theorem and learned features",
    sources=("seed 0", "scholkopf2001"),
    assumes=(targets_known, affine_readout, positive_kernel),
    on=rows,
    breaks_on=squashed,
    presets={
        "textbook": {},
        "disc in a ring": {"kind": "disc in a ring", "lift": "polynomial", "ridge": 0.1},
        "infinitely many features": {"kind": "disc in a ring", "lift": "Gaussian", "ridge": 0.01, "width": 0.7},
        "at the edge": {"ridge": 1e-6},
        "broken on purpose": {"lift": "minus distance"},
    },
)
def kernel_lift(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    lift: Annotated[str, Knob(says="the kernel of data", symbol="k", choices=NAMES)] = "linear",
    ridge: Annotated[float, Knob(1e-3, 100, "ridge λ = nγ", "λ", log=True, least=1e-9, most=1e9)] = 1.0,
    degree: Annotated[int, Knob(1, 6, "degree of the polynomial kernel", "p", most=12)] = 2,
    width: Annotated[float, Knob(0.1, 10, "width of Gaussian and Laplace", "s", log=True, least=1e-3, most=1e3)] = 1.0,
) -> Evidence:
    r"""Replace $x$ by $\varphi(x)\in\mathbb R^D$, $D\le\infty$; $k(x,x')=\langle\varphi(x),\varphi(x')\rangle$. Then
    $\min_f\frac1n\sum_i\ell(f(x_i),y_i)+\gamma\|f\|_{\mathcal H}^2$ has a solution $\sum_i\alpha_ik(x_i,\cdot)$; for
    the squared loss $$\alpha=(K+n\gamma I)^{-1}y.$$ A deep network is a linear model on its penultimate features."""
    if isinstance(subject, Dataset):
        x, y = first_rows(subject, flat=True)
        return data_evidence(x, y[:, 0], kernel(lift, degree=degree, width=width), ridge, degree, rng)
    found, data = learned(subject), outputs_of(subject)
    return Evidence(()) if found is None or data is None else network_evidence(found, data, ridge)
