"""Whether the network says the same in the precision that it will run in."""

import numpy as np

from ftheta.logic import Enclosure, Fact
from ftheta.subjects import Network

from ..judging import judge
from ..part import Part
from .evaluation import Evaluation, evaluate_data
from .inputs import affordable, outputs_at, outputs_in_float32

ROWS = 1024
WORK = 5e10  # multiplications in float64, where the facts share outputs in float32
LEAST = 4  # rows, however large the network is


def precision(net: Network, rng: np.random.Generator) -> Part:
    """Outputs and predictions in float32 beside those in float64."""
    found = evaluate_data(net, rng)
    rounded, exact = _in_both(net, found)
    size = float(np.abs(exact).max()) or 1.0
    gap = float(np.abs(rounded - exact).max()) / size
    n = len(exact)
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


def _in_both(net: Network, found: Evaluation) -> tuple[np.ndarray, np.ndarray]:
    """Outputs in float32 and in float64, of the same rows; one of them is evaluated already."""
    if found.precision == "float32":
        few = affordable(net, WORK, LEAST, ROWS)
        return found.outputs[:few], outputs_at(net, found.x[:few])
    return outputs_in_float32(net, found.x[:ROWS]), found.outputs[:ROWS]


def _short(x: float) -> str:
    """1.4e-7, without the zero that Python writes before the 7."""
    return f"{x:.1e}".replace("e-0", "e-")
