"""Large networks: one gradient, compiled once and in float32, serves every fact that needs one.

Of a network with a billion multiplications per input a compilation takes seconds and a row a tenth of one, so that
what small networks are asked row by row and in float64 is asked here of a few rows, once. These programs run a few
times and are compiled in a hurry where they can: of a 12-layer BERT in 4 s instead of 15 s, and run an eighth longer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph import GraphError, trace
from ftheta.graph.hurry import quick_compiler_options
from ftheta.logic import SubjectError
from ftheta.spectra.objective import Objective, natural_objective
from ftheta.spectra.operators import Operator
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from .inputs import affordable, describe_misfit, describe_rows, labelled_data, multiplications

LARGE = 1e8  # multiplications of one evaluation
WORK = 1.5e10  # multiplications of the forward sweeps of one gradient
ROWS = (4, 16)  # at least, at most


@dataclass(frozen=True, eq=False)
class Gradients:
    """The loss on the first rows `x` of the data, its gradient by the parameters (a tree like these, mean over the
    rows), and by the input of each row (None where inputs are token ids)."""

    x: np.ndarray
    y: np.ndarray
    loss: float
    by_parameters: Any
    by_inputs: np.ndarray | None
    told: str


_CACHE: WeakKeyDictionary[Network, Gradients] = WeakKeyDictionary()


def is_large(net: Network) -> bool:
    """Whether a row takes so long that facts have to share what they evaluate."""
    return multiplications(net) >= LARGE


def loss_gradients(net: Network) -> Gradients:
    """The gradients of the natural loss of a large network, evaluated once in a process."""
    if net not in _CACHE:
        _CACHE[net] = _differentiate(net)
    return _CACHE[net]


def large_hessian(net: Network) -> tuple[Operator, int]:
    """Products with the Hessian of the loss on a few rows, in float32, and how many rows these are."""
    objective = _objective(net, ROWS[0])
    loss = _mean_loss(net, objective)
    x = _narrow(objective.examples.x)
    with jax.enable_x64(False):
        params, unravel = ravel_pytree(jax.tree.map(_narrow, net.params))

        @partial(jax.jit, compiler_options=_compiler_options(net))
        def product(theta: Any, v: Any) -> Any:
            slope = jax.grad(lambda theta: loss(unravel(theta), x))
            return jax.jvp(slope, (theta,), (v,))[1]

    def apply(v: np.ndarray) -> np.ndarray:
        with jax.enable_x64(False):
            return np.asarray(product(params, np.asarray(v, np.float32)), np.float64)

    return Operator(params.size, apply), len(x)


def _differentiate(net: Network) -> Gradients:
    data, labels = labelled_data(net)
    objective = _objective(net, affordable(net, WORK, *ROWS))
    examples = objective.examples
    loss = _mean_loss(net, objective)
    has_slope = not takes_tokens(net)
    with jax.enable_x64(False):
        slope = jax.jit(
            jax.value_and_grad(loss, argnums=(0, 1) if has_slope else (0,)),
            compiler_options=_compiler_options(net),
        )
        value, found = slope(jax.tree.map(_narrow, net.params), _narrow(examples.x))
    by_parameters = jax.tree.map(np.asarray, found[0])
    by_inputs = np.asarray(found[1], np.float64) if has_slope else None
    told = f"{objective.loss.name} loss on {describe_rows(len(examples), data)}, float32"
    return Gradients(
        examples.x, labels[: len(examples)], float(value), by_parameters, by_inputs, told
    )


def _compiler_options(net: Network) -> dict[str, int | bool] | None:
    """In a hurry, but where there are convolutions: loops over the windows of their gradients, which are compiled here
    and in no library, would run for minutes."""
    try:
        nodes = trace(net.apply, net.params, net.example).nodes
    except GraphError:
        return None
    convolves = any(node.primitive.startswith("conv") for node in nodes)
    return None if convolves else dict(quick_compiler_options())


def _objective(net: Network, rows: int) -> Objective:
    objective = natural_objective(net, rows)
    if objective is None:
        remedy = "give one class per row, or one number per output"
        got = describe_misfit(net, labelled_data(net)[1])
        raise SubjectError("No loss fits these labels.", got=got, remedy=remedy)
    return objective


def _mean_loss(net: Network, objective: Objective) -> Callable[[Any, Any], Any]:
    """The mean loss over rows, as a function of parameters and rows in float32."""
    targets = _narrow(objective.examples.y)

    def mean_loss(params: Any, x: Any) -> Any:
        outputs = jax.vmap(net.apply, (None, 0))(params, x)
        return jnp.mean(jax.vmap(objective.loss.of)(outputs, targets))

    return mean_loss


def _narrow(array: Any) -> np.ndarray:
    """In single precision."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int32)
