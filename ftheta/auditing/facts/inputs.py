"""Inputs to look at a network with: rows of its data, or random ones where there are none."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from ftheta.graph import GraphError, trace
from ftheta.graph.compiling import call_compiled
from ftheta.graph.domains.cost import total_cost
from ftheta.logic import Basis, SubjectError
from ftheta.pieces.normal_forms import normal_form
from ftheta.relu import ReluNetwork
from ftheta.subjects import Dataset, Network
from ftheta.subjects.inputs import takes_tokens

BATCH = 256  # rows sent through the network at once
BLOCK = 4  # rows of a large network sent through at once
BLOCKWISE = 1e9  # multiplications of all rows, from which compiling takes less than evaluating
MOST_PRODUCTS = 10_000_000  # of a normal form


def affordable(net: Network, work: float, least: int, most: int) -> int:
    """How many rows can be evaluated with so many multiplications."""
    return int(np.clip(work / multiplications(net), least, most))


def choose_rows(data: Dataset, most: int, rng: np.random.Generator) -> np.ndarray:
    """The numbers of up to `most` rows, drawn from the data, in order."""
    return np.sort(rng.permutation(len(data))[:most])


def some_rows(net: Network, most: int, rng: np.random.Generator) -> tuple[np.ndarray, str]:
    """Up to `most` rows, drawn from the data where there are any, and where they come from."""
    if net.data is None:
        if takes_tokens(net):
            remedy = "add --data with one row of token ids per input"
            raise SubjectError(
                "Requires data: the inputs are token ids, and none are drawn at random.",
                remedy=remedy,
            )
        return rng.normal(size=(most, *net.input_shape)), f"{most} standard normal inputs"
    chosen = choose_rows(net.data, most, rng)
    return net.data.x[chosen].astype(np.float64), describe_rows(len(chosen), net.data)


def ensure_real_inputs(net: Network, required: str = "real-valued inputs") -> None:
    """Raise where the inputs are token ids, between which there is nothing: a change of them is never small."""
    if takes_tokens(net):
        remedy = "this is not about networks on tokens"
        raise SubjectError(
            f"Requires {required}.", got="this network takes token ids", remedy=remedy
        )


def name_other_kind() -> SubjectError:
    """The error of a fact about networks of another kind: the same for all, so that one sentence tells of them."""
    return SubjectError(
        "These are about networks of another kind.", remedy="nothing needs to be done"
    )


def describe_rows(looked_at: int, data: Dataset) -> str:
    """So many rows, and of how many: `24 of the 397 rows of digits-test`."""
    whole = len(data)
    if looked_at == whole:
        return f"all {whole:,} rows of {data.name}" if whole > 1 else f"the one row of {data.name}"
    return f"{looked_at:,} of the {whole:,} rows of {data.name}"


def outputs_at(net: Network, x: np.ndarray) -> np.ndarray:
    """The outputs at all rows, each as one flat row."""
    if multiplications(net) * len(x) >= BLOCKWISE:
        return _outputs_by_block(net, x)
    found = np.asarray(
        call_compiled(lambda x: jax.lax.map(net, x, batch_size=BATCH), x), np.float64
    )
    return found.reshape(len(x), -1)


def outputs_in_float32(net: Network, x: np.ndarray) -> np.ndarray:
    """The outputs at all rows as the network computes them in single precision, each as one flat row of float64."""
    narrow = x.astype(np.int32 if takes_tokens(net) and x.dtype.kind == "i" else np.float32)
    try:
        if multiplications(net) * len(x) >= BLOCKWISE:
            return _outputs_by_block(net, narrow, "float32")
        params = jax.tree.map(lambda a: _cast_reals(a, "float32"), net.params)
        with jax.enable_x64(False):
            run = jax.jit(
                lambda p, x: jax.lax.map(lambda row: net.apply(p, row), x, batch_size=BATCH)
            )
            return np.asarray(run(params, narrow), np.float64).reshape(len(x), -1)
    except (TypeError, ValueError) as error:
        remedy = "a network whose constants are float64 cannot be run in float32"
        raise SubjectError(
            "It does not run in float32.", got=str(error).splitlines()[0], remedy=remedy
        ) from None


def _outputs_by_block(net: Network, x: np.ndarray, precision: str = "float64") -> np.ndarray:
    """The same in blocks of one size, the last filled up: the program is compiled once, however many rows there are."""
    run = _compile_block(net, precision)
    found = []
    for i in range(0, len(x), BLOCK):
        rows = x[i : i + BLOCK]
        filled = np.concatenate([rows, np.repeat(rows[-1:], BLOCK - len(rows), axis=0)])
        outputs = np.asarray(run(filled), np.float64)
        found.append(outputs[: len(rows)].reshape(len(rows), -1))
    return np.concatenate(found)


@lru_cache(maxsize=4)
def _compile_block(net: Network, precision: str) -> Callable[[np.ndarray], Any]:
    """The parameters are an argument: as constants of the program XLA would look at each of 10⁸ while it compiles."""
    evaluate = jax.jit(jax.vmap(net.apply, (None, 0)))
    wide = precision == "float64"
    with jax.enable_x64(wide):
        params = jax.device_put(
            net.params if wide else jax.tree.map(lambda a: _cast_reals(a, precision), net.params)
        )

    def run(rows: np.ndarray) -> Any:
        with jax.enable_x64(wide):
            return evaluate(params, _cast_reals(rows, precision))

    return run


def _cast_reals(array: Any, precision: str) -> np.ndarray:
    """Real numbers in this precision, others as they are."""
    array = np.asarray(array)
    return array.astype(precision) if array.dtype.kind == "f" else array


@lru_cache(maxsize=8)
def multiplications(net: Network) -> int:
    """About how many one evaluation takes, at least one a parameter: what the rows looked at are chosen by."""
    try:
        counted = total_cost(trace(net.apply, net.params, net.example)).multiplications
    except GraphError:
        counted = 0
    return max(counted, net.parameters, 1)


def labelled_data(net: Network) -> tuple[Dataset, np.ndarray]:
    """The data of a network, and their labels, a row each."""
    if net.data is None or net.data.y is None:
        got = "no data" if net.data is None else f"{net.data.name} has no labels"
        raise SubjectError(
            "This needs data with labels.", got=got, remedy="add --data with x and y"
        )
    return net.data, net.data.y.reshape(len(net.data), -1)


def describe_misfit(net: Network, y: np.ndarray) -> str:
    """The shapes that do not go together, in words."""
    return (
        f"{y.shape[1]} number{'s' * (y.shape[1] > 1)} a label, outputs of shape {net.output_shape}"
    )


def classes_of(net: Network, y: np.ndarray) -> np.ndarray | None:
    """The class of each row, where labels are classes of this network's outputs."""
    k = int(np.prod(net.output_shape))
    fits = (
        k > 1
        and y.shape[1] == 1
        and bool((y == np.floor(y)).all())
        and y.min() >= 0
        and y.max() < k
    )
    return y[:, 0].astype(int) if fits else None


def piecewise_affine(net: Network) -> tuple[ReluNetwork, Basis]:
    """The ReLU normal form, and how well its numbers are known."""
    if multiplications(net) > MOST_PRODUCTS:
        got = f"{multiplications(net):,} multiplications an input"
        raise SubjectError(
            "The network is too large for its normal form.",
            got=got,
            remedy="end it earlier: `--until`",
        )
    form = normal_form(net)
    if form.network is None or form.refusal:
        remedy = "pieces are those of ReLU, leaky ReLU, max, abs, clip and affine maps"
        raise SubjectError("The network is not piecewise affine.", got=form.refusal, remedy=remedy)
    return form.network, form.basis
