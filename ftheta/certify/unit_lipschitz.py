r"""What 1-Lipschitz layers keep after training: $\|f(x)-f(y)\|_2\le(1+\delta)\|x-y\|_2$ with $\delta$ rounded outward.

The layers of `networks/layers/contractions.py` compute their matrices from their parameters, by iterations in floating
point. The *folded* network has the matrices they arrived at as its weights: a function of its own, which runs faster,
is read by every other part of the library, and is what the certificate is about. Of each folded layer

- $\|Q\|_2$ is bounded by `norms.spectral_norm`, and by $\sqrt{1+d}$ with the orthogonality defect
  $d\ge\|Q^\top Q-I\|_2$;
- $x+V\max(Wx+b,0)$ with $V=-hW^\top+E$ is bounded by $\max(1,|h\|W\|^2-1|)+\|E\|\|W\|$: its slopes are
  $I-hW^\top DW+EDW$ with $0\preceq D\preceq I$;
- sorting and ReLU do not expand.

Where the output of class $y$ exceeds all others by $m$ at $x$, it does so at all $x'$ with $\|x'-x\|_2<m/(\sqrt2L)$,
as $f_y-f_j$ has the Lipschitz constant $\sqrt2L$ at most (`tsuzuku2018`).
"""

from dataclasses import dataclass
from functools import reduce
from math import inf, isfinite, nextafter, sqrt
from operator import mul
from typing import Any

import jax
import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.architectures.stack import Stack
from ftheta.networks.layers.branches import Residual
from ftheta.networks.layers.contractions import ConvexPotential, GroupSort, UnitDense
from ftheta.networks.layers.grids import Flatten, ReLU
from ftheta.networks.layers.layer import Dense, Layer
from ftheta.shapes import Float, Int, Real

from .bounds import bounds
from .norms import U, frobenius_norm, gamma, round_sum_up, spectral_norm

ROOT_OF_TWO = nextafter(sqrt(2.0), inf)


@dataclass(frozen=True, eq=False)
class LayerCertificate:
    r"""`lipschitz` encloses the constant of one layer, or bounds it (from 0); `defect` bounds $\|Q^\top Q-I\|_2$ of an
    orthogonal one."""

    name: str
    lipschitz: Enclosure
    defect: float | None = None


@dataclass(frozen=True, eq=False)
class UnitLipschitz:
    """The folded network, as a `stack` with its `params`, and the certificates of its `layers`.

    It is a network to `ft.bounds`, `ft.attack` and `ft.verify`.
    """

    stack: Stack
    params: list[Any]
    layers: tuple[LayerCertificate, ...]

    @property
    def bound(self) -> float:
        """$L$: no two inputs have outputs farther apart than $L$ times their distance."""
        return reduce(mul, (layer.lipschitz for layer in self.layers)).hi

    @property
    def excess(self) -> float:
        r"""$\delta=L-1$, rounded up."""
        return nextafter(self.bound - 1, inf)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.stack.input_shape

    def apply(self, params: Any, x: Any) -> Any:
        """The folded network at one input, with these parameters."""
        return self.stack.apply(params, x)

    def radii(
        self, x: Real[np.ndarray, "n *shape"], labels: Int[np.ndarray, "n"]
    ) -> Float[np.ndarray, "n"]:
        r"""For each row a radius within which, in the norm 2, the output of its label is the largest; 0 where it is not
        the largest at the row itself. Margins are enclosed with outward rounding, the quotient is rounded down."""
        rows = np.asarray(x, np.float64)
        labels = np.asarray(labels)
        found = bounds(self, (rows, rows), method="interval")
        classes = found.lower.shape[1]
        if (
            labels.shape != (len(rows),)
            or labels.dtype.kind not in "iu"
            or not np.isin(labels, range(classes)).all()
        ):
            raise UsageError(
                "A label is the number of an output, one for each row.",
                where="labels",
                got=f"{labels.dtype} of shape {labels.shape}, from {labels.min()} to {labels.max()}",
                remedy=f"whole numbers from 0 to {classes - 1}, {len(rows)} of them",
            )
        own = np.eye(found.lower.shape[1], dtype=bool)[labels]
        margin = found.lower[own] - np.where(own, -inf, found.upper).max(axis=1)
        # three roundings: of the margin, of the product and of the quotient
        return np.maximum(margin, 0.0) / (ROOT_OF_TWO * self.bound) * (1 - 8 * U)


def certify_unit_lipschitz(net: Any) -> UnitLipschitz:
    """The certificate of 1-Lipschitz layers: of a `Network` made from a `Stack`, or of `(params, stack.apply)`."""
    params, apply = net if isinstance(net, tuple) else (net.params, getattr(net, "apply", None))
    stack = getattr(apply, "__self__", None)
    if not isinstance(stack, Stack) or getattr(apply, "__func__", None) is not Stack.apply:
        remedy = "make it of a Stack: Network(name, stack.apply, params, stack.input_shape)"
        raise UsageError(
            "The certificate is for networks made of layers.", got=type(net).__name__, remedy=remedy
        )
    pairs = enumerate(zip(stack.layers, params))
    with jax.enable_x64(True):
        found = [_fold(layer, jax.tree.map(_to_float64, own), i) for i, (layer, own) in pairs]
    folded = Stack(
        f"{stack.name}, folded",
        tuple(layer for layer, _, _ in found),
        stack.input_shape,
        stack.circular,
    )
    return UnitLipschitz(folded, [own for _, own, _ in found], tuple(told for _, _, told in found))


def bound_orthogonality_defect(Q: Real[np.ndarray, "m n"]) -> float:
    r"""An upper bound of $\|Q^\top Q-I\|_2$, or of $\|QQ^\top-I\|_2$ where there are fewer rows than columns.

    The computed $Q^\top Q$ errs by $\gamma_m\|Q\|_F^2$ at most, and its difference to $I$ by $u$ of itself.
    """
    tall = np.asarray(Q, np.float64)
    tall = tall if tall.shape[0] >= tall.shape[1] else tall.T
    rest = tall.T @ tall - np.eye(tall.shape[1])
    product = gamma(tall.shape[0]) * frobenius_norm(tall).hi ** 2
    difference = U * frobenius_norm(rest).hi
    return round_sum_up(spectral_norm(rest).hi + product + difference, 8) + np.finfo(float).tiny


def _to_float64(leaf: Any) -> np.ndarray:
    return np.asarray(leaf, np.float64)


def _fold(layer: Layer, params: Any, i: int) -> tuple[Layer, Any, LayerCertificate]:
    """The layer with its matrices as weights, its parameters, and its certificate."""
    if isinstance(layer, UnitDense):
        Q = np.asarray(layer.matrix(params))
        norm = spectral_norm(Q)
        told = LayerCertificate(layer.name, norm)
        if layer.constraint != "spectral":
            defect = bound_orthogonality_defect(Q)
            root = nextafter(sqrt(nextafter(1 + defect, inf)), inf)
            told = LayerCertificate(
                layer.name, Enclosure.between(min(norm.lo, root), min(norm.hi, root)), defect
            )
        return Dense(layer.units), {"weight": Q, "bias": params["bias"]}, told
    if type(layer) is Dense:
        return layer, params, LayerCertificate(layer.name, spectral_norm(params["weight"]))
    if isinstance(layer, ConvexPotential):
        return _fold_potential(layer, params)
    if isinstance(layer, GroupSort | ReLU | Flatten):
        return layer, params, LayerCertificate(layer.name, Enclosure.between(0.0, 1.0))
    remedy = "take UnitDense, Dense, GroupSort, ReLU, Flatten and ConvexPotential; ft.bounds and ft.verify take others"
    raise SubjectError(
        "This layer has no certificate.", where=f"layer {i}", got=layer.name, remedy=remedy
    )


def _fold_potential(layer: ConvexPotential, params: Any) -> tuple[Layer, Any, LayerCertificate]:
    back = np.asarray(layer.back(params))
    folded = Residual((Dense(layer.hidden), ReLU(), Dense(len(back))))
    inner = [params, {}, {"weight": back, "bias": np.zeros(len(back))}]
    told = LayerCertificate(
        layer.name, Enclosure.between(0.0, bound_potential(params["weight"], back))
    )
    return folded, {"main": inner, "shortcut": []}, told


def bound_potential(weight: Real[np.ndarray, "k d"], back: Real[np.ndarray, "d k"]) -> float:
    r"""$\max(1,|h\|W\|^2-1|)+\|E\|\|W\|$ with $V=-hW^\top+E$: $I-hW^\top DW$ has eigenvalues between 1 and
    $1-h\|W\|^2$. Any $h$ will do; the best fit leaves $E$ to rounding."""
    if not weight.any():
        return 1.0
    h = float(-np.sum(back.T * weight) / np.sum(weight * weight))
    if not isfinite(h):
        raise SubjectError("The step of a convex potential is not finite.", got=h)
    norm = spectral_norm(weight)
    error = back + h * weight.T
    rounding = (
        2 * U * (frobenius_norm(h * weight).hi + frobenius_norm(error).hi) + np.finfo(float).tiny
    )
    overshoot = Enclosure.exact(h) * norm * norm - 1.0
    slip = (Enclosure.exact(frobenius_norm(error).hi) + Enclosure.exact(rounding)) * norm
    return (Enclosure.exact(max(1.0, abs(overshoot).hi)) + slip).hi
