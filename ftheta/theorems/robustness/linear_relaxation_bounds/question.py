"""The output that is bounded: of the network handed in, and of its normal form."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.relu.network import ReluNetwork, Step
from ftheta.subjects import Network


@dataclass(frozen=True, eq=False)
class Question:
    """The output `row`·f(x) of the network handed in, and a ReLU network that computes it from its normal form."""

    subject: Network
    network: ReluNetwork
    row: np.ndarray
    words: str

    def measure(self, x: np.ndarray) -> np.ndarray:
        """By the network handed in, for many inputs."""
        return (
            np.asarray(self.subject(x.reshape(-1, *self.subject.input_shape))).reshape(len(x), -1)
            @ self.row
        )

    def program(self, x: jax.Array) -> jax.Array:
        """The same for one input, as a program."""
        y = self.subject.apply(self.subject.params, x.reshape(self.subject.input_shape))
        return jnp.vdot(jnp.asarray(self.row), jnp.ravel(y))


def pose_question(net: Network, form: ReluNetwork, centre: np.ndarray) -> Question:
    y = np.asarray(net(centre.reshape(1, *net.input_shape))).ravel()
    row = np.zeros(len(y))
    if len(y) == 1:
        row[0] = 1.0
        words = "f"
    else:
        first, second = np.argsort(-y, kind="stable")[:2]
        row[first] = 1.0
        row[second] = -1.0
        words = f"f_{first} − f_{second}"
    last = Step(row[None], np.zeros(1), np.zeros(1, bool))
    return Question(net, ReluNetwork((*form.steps, last), form.rounded), row, words)
