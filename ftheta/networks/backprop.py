r"""Back-propagation by hand, layer by layer, for a whole batch: ForwardNN and BackwardNN.

Rows are inputs. Forward $Z_r=X_rA_r^\top+\mathbf1b_r^\top$, $X_{r+1}=\rho_r(Z_r)$; backward, from
$g=X_L-Y$ (the loss is $\frac12\|X_L-Y\|^2$),
$$M=\rho_r'(Z_r)\odot g,\qquad\nabla A_r=M^\top X_r,\qquad\nabla b_r=M^\top\mathbf1,\qquad g\leftarrow MA_r.$$
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from .activations import activation
from .description import Description

Gradients = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Flow:
    """The states X_0 … X_L, the slopes ρ′(Z_r), the adjoints g_0 … g_L, and the gradients (∇A_r, ∇b_r)."""

    states: list[np.ndarray]
    slopes: list[np.ndarray]
    adjoints: list[np.ndarray]
    gradients: Gradients

    @property
    def flat(self) -> np.ndarray:
        """The whole gradient in one row."""
        return np.concatenate([np.ravel(part) for pair in self.gradients for part in pair])


def forward_pass(
    description: Description, x: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """States and slopes of every layer at the rows of x."""
    states = [np.asarray(x, np.float64)]
    slopes = []
    for layer in description.layers:
        z = jnp.asarray(states[-1] @ layer.weight.T + layer.bias)
        value, steep = jax.jvp(activation(layer.activation).function, (z,), (jnp.ones_like(z),))
        states.append(np.asarray(value))
        slopes.append(np.asarray(steep))
    return states, slopes


def backpropagate(description: Description, x: np.ndarray, y: np.ndarray) -> Flow:
    """Both passes, for the loss ½‖X_L − Y‖² summed over the batch."""
    states, slopes = forward_pass(description, x)
    above = [states[-1] - y]
    gradients: Gradients = []
    for layer, state, steep in zip(description.layers[::-1], states[-2::-1], slopes[::-1]):
        m = steep * above[-1]
        gradients.append((m.T @ state, m.sum(0)))
        above.append(m @ layer.weight)
    return Flow(states, slopes, above[::-1], gradients[::-1])
