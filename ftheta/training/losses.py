r"""Losses $\ell(\hat y,y)$ of one prediction and one target, by name, and the targets each of them accepts.

The squared loss is a sum over coordinates without a factor ½, as everywhere in the catalogue; `half-squared` has it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Float, Real

Shape: TypeAlias = tuple[int, ...]
PerExample: TypeAlias = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """`of(prediction, target)` is one number; `targets(y, shape)` are the targets of predictions of that shape.

    A `flat` loss is piecewise constant: it measures, but has no slope to train by.
    """

    name: str
    of: PerExample
    targets: Callable[[np.ndarray, Shape], np.ndarray]
    flat: bool = False


def loss_named(loss: "str | Loss | PerExample", *, to_train: bool = True) -> Loss:
    """The loss of that name; a function `(prediction, target) -> number` takes its targets as they are.

    A loss `to_train` by has a slope: flat ones are refused.
    """
    if isinstance(loss, Loss):
        found = loss
    elif callable(loss):
        found = Loss(getattr(loss, "__name__", "loss"), loss, lambda y, shape: y)
    else:
        found = LOSSES.get(str(loss).lower().replace("_", "-"))
    names = [name for name, one in LOSSES.items() if not (one.flat and to_train)]
    if found is None:
        remedy = (
            f"choose one of {', '.join(names)}, or give a function of one prediction and one target"
        )
        raise UsageError("Unknown loss.", got=loss, remedy=remedy)
    if found.flat and to_train:
        remedy = f"train by a loss that bounds it (`logistic`, `cross-entropy`), or by one of {', '.join(names)}"
        raise UsageError(
            "This loss is flat: it has no slope to train by.", got=found.name, remedy=remedy
        )
    return found


def same_size(y: Real[np.ndarray, "n *k"], shape: Shape) -> Float[np.ndarray, "n *outputs"]:
    """Real targets, one number per output. Labels (n,) and predictions (1,) are matched, never broadcast."""
    if y[0].size != int(np.prod(shape)):
        raise SubjectError(
            "The targets do not have the size of the predictions.",
            got=f"targets of shape {y.shape[1:]}, predictions of shape {shape}",
            remedy="give the network one output a target; integer classes belong to the loss `cross-entropy`",
        )
    return y.reshape(len(y), *shape).astype(np.float64)


def classes(y: Real[np.ndarray, "n *k"], shape: Shape) -> Float[np.ndarray, "n *outputs"]:
    r"""Classes $0,\dots,K-1$, or rows of $K$ probabilities, as rows of probabilities."""
    if len(shape) != 1:
        raise SubjectError(
            "Cross-entropy needs a vector of one score a class.",
            got=f"predictions of shape {shape}",
        )
    K = shape[0]
    if y[0].size == K and K > 1:
        return _probabilities(y.reshape(len(y), K))
    if y[0].size != 1:
        got = f"labels of shape {y.shape[1:]}, predictions of shape {shape}"
        raise SubjectError(
            "Cross-entropy needs one class per row, or one probability per class.", got=got
        )
    labels = y.reshape(len(y))
    outside = np.flatnonzero((labels != np.floor(labels)) | (labels < 0) | (labels >= K))
    if len(outside):
        raise SubjectError(
            f"A label is not one of the classes 0, …, {K - 1}.",
            where=f"y[{outside[0]}]",
            got=f"{labels[outside[0]]} ({len(outside)} such labels)",
            remedy=f"number the classes from 0, or give the network {int(np.nanmax(labels)) + 1} outputs",
        )
    return np.eye(K)[labels.astype(int)]


def _probabilities(rows: np.ndarray) -> np.ndarray:
    wrong = np.flatnonzero((rows < 0).any(1) | (np.abs(rows.sum(1) - 1) > 1e-6))
    if len(wrong):
        raise SubjectError(
            "Rows of class probabilities must be non-negative of sum 1.",
            where=f"y[{wrong[0]}]",
            got=f"{rows[wrong[0]]}",
            remedy="give one class number per row, or probabilities",
        )
    return rows.astype(np.float64)


def signs(y: Real[np.ndarray, "n *k"], shape: Shape) -> Float[np.ndarray, "n *outputs"]:
    """Labels 0 and 1, or −1 and 1, as −1 and 1."""
    found = set(np.unique(y).tolist())
    if not (found <= {0, 1} or found <= {-1, 1}):
        raise SubjectError(
            "Binary labels must be 0 and 1, or -1 and 1.",
            got=f"labels {sorted(found)[:6]}",
            remedy="use the loss `cross-entropy` for more classes, `squared` for real targets",
        )
    return same_size(np.where(y > 0, 1.0, -1.0), shape)


def squared(prediction: Any, target: Any) -> jax.Array:
    r"""$\|\hat y-y\|_2^2$."""
    return jnp.sum(jnp.square(prediction - target))


def half_squared(prediction: Any, target: Any) -> jax.Array:
    r"""$\frac12\|\hat y-y\|_2^2$."""
    return squared(prediction, target) / 2


def absolute(prediction: Any, target: Any) -> jax.Array:
    r"""$\|\hat y-y\|_1$."""
    return jnp.sum(jnp.abs(prediction - target))


def huber(prediction: Any, target: Any) -> jax.Array:
    r"""$\sum_kh(\hat y_k-y_k)$ with $h(r)=\frac12r^2$ for $|r|\le1$ and $|r|-\frac12$ beyond."""
    r = jnp.abs(prediction - target)
    return jnp.sum(jnp.where(r <= 1, jnp.square(r) / 2, r - 0.5))


def cross_entropy(prediction: Any, target: Any) -> jax.Array:
    r"""$-\sum_ky_k\log\mathrm{softmax}(\hat y)_k$."""
    return -jnp.sum(target * jax.nn.log_softmax(prediction))


def logistic(prediction: Any, target: Any) -> jax.Array:
    r"""$\sum_k\log(1+e^{-y_k\hat y_k})$ with $y_k\in\{-1,1\}$."""
    return jnp.sum(jax.nn.softplus(-target * prediction))


def hinge(prediction: Any, target: Any) -> jax.Array:
    r"""$\sum_k\max(0,1-y_k\hat y_k)$ with $y_k\in\{-1,1\}$."""
    return jnp.sum(jax.nn.relu(1 - target * prediction))


def zero_one(prediction: Any, target: Any) -> jax.Array:
    r"""$1\{\hat y\ne y\}$: right only where all coordinates are."""
    return jnp.any(jnp.asarray(prediction) != target).astype(float)


def top_one(prediction: Any, target: Any) -> jax.Array:
    r"""$1\{\arg\max_k\hat y_k\ne\arg\max_ky_k\}$; of several largest entries the first counts."""
    return (jnp.argmax(prediction) != jnp.argmax(target)).astype(float)


def sign(prediction: Any, target: Any) -> jax.Array:
    r"""$\sum_k1\{y_k\hat y_k\le0\}$ with $y_k\in\{-1,1\}$: the zero-one loss of the margin."""
    return jnp.sum(jnp.where(jnp.asarray(target * prediction) > 0, 0.0, 1.0))


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("squared", squared, same_size),
        Loss("half-squared", half_squared, same_size),
        Loss("absolute", absolute, same_size),
        Loss("huber", huber, same_size),
        Loss("cross-entropy", cross_entropy, classes),
        Loss("logistic", logistic, signs),
        Loss("hinge", hinge, signs),
        Loss("zero-one", zero_one, same_size, flat=True),
        Loss("top-1", top_one, classes, flat=True),
        Loss("sign", sign, signs, flat=True),
    )
}
