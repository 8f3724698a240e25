r"""Networks out of and into this package: JAX and equinox callables, `.npz` and `.onnx` files.

A plain network is written as the weight list of `networks.files`: `W0, b0, W1, b1, …` and `activations`. Any other
network is written as `format = "ftheta-relu-steps-1"`, the number `steps`, and for each step $i$ the CSR parts
`data{i}, indices{i}, indptr{i}, shape{i}` of its matrix, the offset `offset{i}` and the mask `rectified{i}`.
"""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse as jax_sparse
from scipy import sparse

from ftheta.logic.errors import SubjectError
from ftheta.networks import files
from ftheta.networks.onnx.write import write

from .counts import is_plain
from .describe import to_description
from .exact import from_description
from .matrices import compact_array
from .network import ReluNetwork, Step

FORMAT = "ftheta-relu-steps-1"
MAX_WIDTH = 1 << 27


class ReluModule(eqx.Module):
    """The realisation as an equinox module; weights are its leaves, in the precision mode in which it was made."""

    matrices: tuple[Any, ...]
    offsets: tuple[jax.Array, ...]
    rectified: tuple[tuple[bool, ...], ...] = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        for A, b, mask in zip(self.matrices, self.offsets, self.rectified):
            x = A @ x + b
            x = jnp.where(np.array(mask), jax.nn.relu(x), x) if any(mask) else x
        return x


def to_equinox(net: ReluNetwork) -> ReluModule:
    """A module of one point `(d,)`; `jax.vmap` it for many. Sparse matrices stay sparse."""
    return ReluModule(
        tuple(_jax_matrix(step.matrix) for step in net.steps),
        tuple(jnp.asarray(step.offset) for step in net.steps),
        tuple(tuple(bool(r) for r in step.rectified) for step in net.steps),
    )


def _jax_matrix(matrix: Any) -> Any:
    return (
        jax_sparse.BCOO.from_scipy_sparse(matrix)
        if sparse.issparse(matrix)
        else jnp.asarray(matrix)
    )


def save(net: ReluNetwork, path: Path) -> None:
    """Write the network to an `.npz` file, or to an `.onnx` file if the name ends so."""
    if path.suffix == ".onnx":
        write(net, path)
        return
    if is_plain(net):
        files.save(to_description(net), path)
        return
    arrays: dict[str, Any] = {"format": np.array(FORMAT), "steps": np.array(len(net.steps))}
    for i, step in enumerate(net.steps):
        A = sparse.csr_array(step.matrix)
        arrays |= {
            f"data{i}": A.data,
            f"indices{i}": A.indices,
            f"indptr{i}": A.indptr,
            f"shape{i}": np.array(A.shape),
        }
        arrays |= {f"offset{i}": step.offset, f"rectified{i}": step.rectified}
    np.savez_compressed(path, **arrays)


def load(path: Path) -> ReluNetwork:
    """Read a network from an `.npz` file of either format."""
    arrays = files.read_arrays(path)
    if files.is_weight_list(arrays):
        return from_description(files.describe(arrays, str(path)))
    if is_steps(arrays):
        return steps_of(arrays, str(path))
    raise SubjectError(
        "The file holds neither a weight list nor steps.",
        where=str(path),
        got=sorted(arrays),
        remedy=f"name the arrays W0, b0, … or write the format {FORMAT}",
    )


def is_steps(arrays: dict[str, np.ndarray]) -> bool:
    """Whether the `arrays` of a file are the steps of a normal form."""
    return str(arrays.get("format")) == FORMAT


def steps_of(arrays: dict[str, np.ndarray], where: str) -> ReluNetwork:
    """The network whose steps the arrays of a file are."""
    try:
        return ReluNetwork(tuple(_step(arrays, i) for i in range(int(arrays["steps"]))))
    except (KeyError, ValueError, IndexError, TypeError) as error:
        raise SubjectError("The file holds broken steps.", where=where, got=f"{error}") from error


def _step(arrays: dict[str, np.ndarray], i: int) -> Step:
    parts = (
        files.real(arrays[f"data{i}"], f"data{i}"),
        arrays[f"indices{i}"],
        arrays[f"indptr{i}"],
    )
    shape = tuple(int(n) for n in arrays[f"shape{i}"])
    if max(shape) > MAX_WIDTH:
        raise ValueError(f"a matrix of shape {shape}")
    matrix = sparse.csr_array(parts, shape=shape)
    matrix.check_format()
    return Step(compact_array(matrix), arrays[f"offset{i}"], arrays[f"rectified{i}"])
