"""Whether the network says the same in the precision that it will run in."""

import jax
import numpy as np

from ftheta.logic import Enclosure, Fact, SubjectError
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge
from ..part import Part
from .evaluation import evaluate_data
from .inputs import BATCH

ROWS = 1024


def precision(net: Network, rng: np.random.Generator) -> Part:
    """Outputs and predictions in float32 beside those in float64."""
    found = evaluate_data(net, rng)
    x = found.x[:ROWS]
    exact = found.outputs[:ROWS]
    rounded = _outputs_in_float32(net, x)
    size = float(np.abs(exact).max()) or 1.0
    gap = float(np.abs(rounded - exact).max()) / size
    n = len(x)
    told = f"{n:,} rows, relative to the largest output"
    facts = [
        Fact(
            "largest difference of an output in float32",
            Enclosure.at_least(gap, samples=n),
            told,
            "float32_gap",
        )
    ]
    if exact.shape[1] < 2:
        return Part(tuple(facts))
    flips = int((rounded.argmax(1) != exact.argmax(1)).sum())
    is_all = n == found.whole
    value = Enclosure.measured(flips, samples=n) if is_all else Enclosure.at_least(flips, samples=n)
    facts.append(Fact("predictions that change in float32", value, f"{n:,} rows", "float32_flips"))
    if flips:
        says = f"{flips:,} of {n:,} predictions change between float64 and float32."
    else:
        says = f"float32 is enough: no prediction changes, outputs by at most {_short(gap)} of the largest."
    return Part(tuple(facts), findings=judge("precision", value, says, judged_by=flips / n))


def _short(x: float) -> str:
    """1.4e-7, without the zero that Python writes before the 7."""
    return f"{x:.1e}".replace("e-0", "e-")


def _outputs_in_float32(net: Network, x: np.ndarray) -> np.ndarray:
    narrow = lambda a: np.asarray(a, np.float32) if np.asarray(a).dtype.kind == "f" else a
    params = jax.tree.map(narrow, net.params)
    inputs = (
        x.astype(np.int32) if takes_tokens(net) and x.dtype.kind == "i" else x.astype(np.float32)
    )
    try:
        with jax.enable_x64(False):
            run = jax.jit(
                lambda p, x: jax.lax.map(lambda row: net.apply(p, row), x, batch_size=BATCH)
            )
            return np.asarray(run(params, inputs), np.float64).reshape(len(x), -1)
    except (TypeError, ValueError) as error:
        remedy = "a network whose constants are float64 cannot be run in float32"
        raise SubjectError(
            "It does not run in float32.", got=str(error).splitlines()[0], remedy=remedy
        ) from None
