"""Networks in their role in a generative model, and the laws that such a model is to imitate."""

from functools import lru_cache, partial
from typing import Any

import numpy as np

from ftheta.lazy import jax, jnp
from ftheta.logic.hypotheses import Finding, Hypothesis, hypothesis

from .dataset import Dataset
from .kinds import Measure
from .network import Network

SAYS = {
    "generator": "takes a standard normal latent and returns a point",
    "decoder": "takes a standard normal latent and returns the mean of a Gaussian",
    "score": "takes a point and the time, in one vector, and returns the gradient of a log-density there",
    "velocity": "takes a point and the time, in one vector, and returns the velocity there",
}


def ask_role(role: str, *, needs_data: bool = True) -> Hypothesis:
    """The hypothesis that a network is in this role, of fitting shapes, and has the data that it is to imitate.

    Subjects that are no network pass.
    """
    remedy = f'ft.Network(…, role="{role}"), or --role {role}'
    if needs_data:
        remedy += ", with --data: the rows that it is to imitate"

    @hypothesis(
        f"a {role}: it {SAYS[role]}", remedy=remedy, name=f"a network in the role of a {role}"
    )
    def in_role(given: Any) -> Finding:
        if not isinstance(given, Network):
            return Finding.proved("no network", "an empty statement")
        if given.role != role:
            return Finding.failed(f"its role is {given.role or 'not stated'}")
        wrong = _misfit(given)
        if wrong:
            return Finding.failed(wrong)
        if needs_data and given.law is None:
            return Finding.failed("no data to imitate")
        return Finding.proved(f"a {role}", "stated for the network, and its shapes fit")

    return in_role


def _misfit(net: Network) -> str:
    """What is wrong with the shapes of a network in its role; empty where nothing is."""
    if len(net.input_shape) != 1 or len(net.output_shape) != 1:
        return f"from {net.input_shape} to {net.output_shape}, not from a vector to a vector"
    timed = net.role in ("score", "velocity")
    if timed and net.input_shape[0] != net.output_shape[0] + 1:
        return f"{net.input_shape[0]} inputs and {net.output_shape[0]} outputs; required: one input more, the time"
    return ""


def values_at(net: Network, x: np.ndarray, t: float | np.ndarray | None = None) -> np.ndarray:
    """The network at the rows of `x`, each followed by the time `t` where one is given."""
    rows = np.asarray(x, np.float64)
    if t is not None:
        rows = np.concatenate([rows, np.broadcast_to(t, len(rows))[:, None]], 1)
    with jax.enable_x64(True):
        if net.description is not None and net.scaled_layers is None:
            return np.asarray(net.description(rows))
        return np.asarray(_compile(net)(jnp.asarray(rows)))


@lru_cache(maxsize=2)
def _compile(net: Network) -> Any:
    return jax.jit(jax.vmap(partial(net.apply, net.params)))


def measure_of_rows(data: Dataset, most: int = 2000) -> Measure:
    """The empirical law of the rows of data, of the first `most` of them."""
    rows = np.asarray(data.x, np.float64).reshape(len(data), -1)
    return Measure.empirical(data.name, rows[:most])
