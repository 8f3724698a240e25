"""What a network says of the rows it carries, and what their labels are: real targets, or classes."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.shapes import Float, Int, Real
from ftheta.training.study import natural_loss


@dataclass(frozen=True, eq=False)
class Outputs:
    """Predictions and labels, one row each; `loss` is the one that the labels ask for."""

    predictions: Float[np.ndarray, "n k"]
    y: Real[np.ndarray, "n *k"]
    loss: str

    @property
    def classes(self) -> Int[np.ndarray, "n"] | None:
        """One class per row; None for real targets."""
        return self.y[:, 0].astype(int) if self.loss == "cross-entropy" else None


def asked_loss(net: Any) -> str | None:
    """The squared loss for one number per output, the cross-entropy for one class per row; None where neither fits."""
    if net.data is None or net.data.y is None:
        return None
    return natural_loss(net.data.y.reshape(len(net.data), -1), int(np.prod(net.output_shape)))


def outputs_of(net: Any) -> Outputs | None:
    """A `Network` on the data it carries; None where there are no labels that fit."""
    wanted = asked_loss(net)
    if wanted is None:
        return None
    n = len(net.data)
    with jax.enable_x64(True):
        found = np.asarray(jax.lax.map(net, net.data.x, batch_size=256))
    return Outputs(found.reshape(n, -1), net.data.y.reshape(n, -1), wanted)
