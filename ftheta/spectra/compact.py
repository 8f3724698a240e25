r"""Closed constants of the loss of a network on a ball of parameters.

$F(\theta)=\frac1n\sum_i\frac12\|f_\theta(x_i)-y_i\|^2$ on $\|\theta\|\le R$, with layers $x^+=\sigma(z)$, $z=Wx+b$. Let
$\|x\|\le X$, $\|D_\theta x\|\le G$, $\|D^2_\theta x\|\le H$ and $|\sigma|\le s_0$, $|\sigma'|\le s_1$,
$|\sigma''|\le s_2$. As $Dz[v]=V\tilde x+W\,Dx[v]$ and $D^2z[v,v]=2V\,Dx[v]+W\,D^2x[v,v]$ with $\tilde x=(x,1)$ and $V$
the layer's own part of $v$,
$$G_z=\sqrt{X^2+1+R^2G^2},\quad H_z=\tfrac12\big(RH+\sqrt{R^2H^2+4G^2}\big),\quad
G^+=s_1G_z,\quad H^+=s_1H_z+s_2G_z^2,$$
and with $\Delta=\sup\|f-y\|$: $\|\nabla F\|\le\overline{\Delta G}$ and
$-\overline{\Delta H}\,I\preceq\nabla^2F\preceq\overline{(G^2+\Delta H)}\,I$ (means over the rows).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import arb

from ftheta.logic.enclosure import Enclosure
from ftheta.networks.activations import activation
from ftheta.shapes import Float, Real

# sup |σ''|: of tanh at tanh² = 1/3, of the logistic function at σ = (3 ± √3)/6, of arctan at x² = 1/3
BENDS: dict[str, Callable[[], arb]] = {
    "identity": lambda: arb(0),
    "tanh": lambda: 4 / (3 * arb(3).sqrt()),
    "sigmoid": lambda: 1 / (6 * arb(3).sqrt()),
    "arctan": lambda: 3 * arb(3).sqrt() / 8,
    "softplus": lambda: arb(1) / 4,
}


@dataclass(frozen=True, eq=False)
class NetworkOnBall:
    r"""$F$ as a function of the flat $\theta$, for $\|\theta\|\le$ `radius`; hidden layers have one activation."""

    widths: tuple[int, ...]
    activation: str
    x: Real[np.ndarray, "n *shape"]
    y: Real[np.ndarray, "n *k"]
    radius: float

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum((a + 1) * b for a, b in pairwise(self.widths))

    def __call__(self, theta: Any) -> Any:
        state = jnp.asarray(self.x)
        at = 0
        for j, (a, b) in enumerate(pairwise(self.widths), 1):
            U = theta[at : at + b * (a + 1)].reshape(b, a + 1)
            state = state @ U[:, :-1].T + U[:, -1]
            at = at + U.size
            state = (
                activation(self.activation).function(state) if j < len(self.widths) - 1 else state
            )
        return jnp.mean(jnp.sum((state - self.y) ** 2, axis=1)) / 2

    @cached_property
    def constants(self) -> tuple[float, float, float]:
        r"""$(M,L,\mu)$, rounded outwards."""
        rows = [self._of_row(x, y) for x, y in zip(self.x, self.y)]
        steep, bend, low = (sum((row[k] for row in rows), arb(0)) / len(rows) for k in range(3))
        return Enclosure.ball(steep).hi, Enclosure.ball(bend).hi, -Enclosure.ball(low).hi

    def _of_row(self, x: np.ndarray, y: np.ndarray) -> tuple[arb, arb, arb]:
        """ΔG, G² + ΔH and ΔH of one row."""
        R = arb(self.radius)
        size = _norm(x)
        G = arb(0)
        H = arb(0)
        for j, width in enumerate(self.widths[1:], 1):
            word = self.activation if j < len(self.widths) - 1 else "identity"
            s1 = arb(activation(word).lipschitz.hi)
            s2 = BENDS[word]()
            longer = (size**2 + 1).sqrt()
            first = (longer**2 + (R * G) ** 2).sqrt()
            second = (R * H + ((R * H) ** 2 + 4 * G**2).sqrt()) / 2
            size = _largest_output(word, width, s1 * R * longer)
            G = s1 * first
            H = s1 * second + s2 * first**2
        gap = size + _norm(y)
        return gap * G, G**2 + gap * H, gap * H


def into_ball(points: Float[np.ndarray, "n p"], radius: float) -> Float[np.ndarray, "n p"]:
    """Rows that are longer than the radius are shortened to it."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    return points * np.minimum(1, radius / np.maximum(length, 1e-300))


def _largest_output(word: str, width: int, moved: arb) -> arb:
    r"""$\|\sigma(z)\|\le\min(s_0\sqrt m,\ |\sigma(0)|\sqrt m+s_1\|z\|)$."""
    ends = activation(word).limits
    root = arb(width).sqrt()
    at_zero = arb(2).log() if word == "softplus" else arb(0.5) if word == "sigmoid" else arb(0)
    reached = at_zero * root + moved
    widest = arb(max(map(abs, ends))) * (1 + arb(2) ** -50)  # limits are rounded to float64
    return reached.min(widest * root) if all(map(isfinite, ends)) else reached


def _norm(v: np.ndarray) -> arb:
    return sum((arb(float(a)) ** 2 for a in np.ravel(v)), arb(0)).sqrt()
