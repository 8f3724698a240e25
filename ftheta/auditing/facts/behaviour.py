"""What the function respects: monotone, convex, odd, even; proved on the box of the data where that is possible."""

import numpy as np

from ftheta.certify.behaviour.slopes import Signs, SlopeRules
from ftheta.certify.neurons.bounding import bound_neurons
from ftheta.logic import (
    Axis,
    Basis,
    Chart,
    Curves,
    Enclosure,
    Fact,
    FthetaError,
    Series,
    SubjectError,
    Table,
)
from ftheta.relu import ReluNetwork
from ftheta.subjects import Dataset, Network

from ..part import Part, no_better
from .evaluation import flatten
from .inputs import affordable, ensure_real_inputs, outputs_at, piecewise_affine, some_rows

MOST_INPUTS = 256
MOST_OUTPUTS = 16
ROWS = 256
ROUNDING = 1e-9  # of the largest output
SHOWN = 40
BARS = 24


def monotone_and_convex(net: Network, rng: np.random.Generator) -> Part:
    """Inputs in which the outputs are monotone, outputs that are convex or concave; odd and even functions."""
    ensure_real_inputs(net)
    inputs = int(np.prod(net.input_shape))
    outputs = int(np.prod(net.output_shape))
    if inputs > MOST_INPUTS or outputs > MOST_OUTPUTS:
        got = f"{inputs:,} inputs, {outputs:,} outputs"
        raise SubjectError(
            "The network is too large for slopes of every pair.",
            got=got,
            remedy="a smaller network",
        )
    x, told = some_rows(net, affordable(net, 2e9, 16, ROWS), rng)
    facts = _parity_facts(net, x, told)
    data = net.data
    if data is None:
        return Part(tuple(facts))
    try:
        form, basis = piecewise_affine(net)
    except FthetaError as error:
        facts.append(Fact("monotone inputs", f"not bounded: {error.what}"))
        return Part(tuple(facts))
    rows = flatten(data.x)
    low, high, states = _enclose_slopes(form, rows.min(0), rows.max(0))
    told = f"on the box around the rows of {data.name}, bounds rounded outward"
    counted = lambda mask: no_better(Enclosure.exact(int(mask.sum())), basis)
    pairs = f"of {low.size:,} pairs of input and output; {told}"
    facts += [
        Fact(
            "slopes that are never negative (increasing)",
            counted((low >= 0) & (high > 0)),
            pairs,
            "increasing",
        ),
        Fact(
            "slopes that are never positive (decreasing)",
            counted((high <= 0) & (low < 0)),
            pairs,
            "decreasing",
        ),
        Fact("slopes that are zero (no dependence)", counted((low == 0) & (high == 0)), pairs),
        *_convexity_facts(form, states, basis, told),
    ]
    is_worth_a_table = len(low) == 1 or bool(((low >= 0) | (high <= 0)).any())
    tables = (_table(data, low, high),) if is_worth_a_table else ()
    return Part(tuple(facts), tables, _picture(data, low, high))


def _parity_facts(net: Network, x: np.ndarray, told: str) -> list[Fact]:
    """Whether f(−x) = −f(x), or f(−x) = f(x), on the rows."""
    there = outputs_at(net, x)
    back = outputs_at(net, -x)
    size = float(np.abs(there).max()) or 1.0
    gaps = {"odd": np.abs(back + there).max() / size, "even": np.abs(back - there).max() / size}
    facts = []
    for word, gap in gaps.items():
        known = Enclosure.at_least(float(gap), samples=len(x))
        note = f"{told}, relative to the largest output" + (
            "; none is seen" if gap <= ROUNDING else ""
        )
        facts.append(Fact(f"departure from an {word} function", known, note))
    return facts


def _enclose_slopes(
    form: ReluNetwork, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Bounds of every ∂f_j/∂x_i over the box; and of ∂f_j/∂h at the neurons of each hidden step that are open there,
    with their numbers below."""
    signs = []
    for step, (under, above) in zip(form.steps, bound_neurons(form, low, high)):
        is_open = step.rectified & (under < 0) & (above > 0)
        signs.append(Signs(~step.rectified | (under >= 0), is_open))
    at_inputs, *at_states = SlopeRules(form).enclose(np.eye(form.widths[-1]), signs)
    states = [
        (slopes.low[:, sign.open], slopes.high[:, sign.open])
        for slopes, sign in zip(at_states, signs)
    ]
    return at_inputs.low, at_inputs.high, states


def _convexity_facts(form: ReluNetwork, states: list, basis: Basis, told: str) -> list[Fact]:
    """An output that no open neuron can lower is convex: a sum of convex functions, non-decreasing in each."""
    outputs = form.widths[-1]
    convex = np.ones(outputs, bool)
    concave = np.ones(outputs, bool)
    for low, high in states:
        convex &= (low >= 0).all(1)
        concave &= (high <= 0).all(1)
    of_them = f"of {outputs}; {told}"
    counted = lambda mask: no_better(Enclosure.exact(int(mask.sum())), basis)
    return [
        Fact("outputs proved convex", counted(convex & ~concave), of_them, "convex"),
        Fact("outputs proved concave", counted(concave & ~convex), of_them),
        Fact("outputs proved affine", counted(convex & concave), of_them),
    ]


def _name(data: Dataset, i: int) -> str:
    return data.columns[i] if i < len(data.columns) else f"input {i}"


def _direction(low: float, high: float) -> str:
    if low >= 0 and high <= 0:
        return "no dependence"
    return "increasing" if low >= 0 else "decreasing" if high <= 0 else "–"


def _table(data: Dataset, low: np.ndarray, high: np.ndarray) -> Table:
    """The pairs whose sign is proved first, then the widest slopes."""
    order = np.argsort(np.maximum(np.minimum(-low, high), 0.0).ravel(), kind="stable")[:SHOWN]
    rows = []
    for place in order:
        j, i = divmod(int(place), low.shape[1])
        ends = (float(low[j, i]), float(high[j, i]))
        rows.append((_name(data, i), j, *ends, _direction(*ends)))
    return Table(
        "slopes over the box of the data",
        ("input", "output", "at least", "at most", "proved"),
        tuple(rows),
    )


def _picture(data: Dataset, low: np.ndarray, high: np.ndarray) -> tuple[Chart, ...]:
    """Of a network of one output, the range of its slope in each input."""
    if len(low) != 1 or not 1 < low.shape[1] <= BARS:
        return ()
    number = np.arange(1, low.shape[1] + 1)
    span = Series(
        "slope over the box", number, (low[0] + high[0]) / 2, "bound", lo=low[0], hi=high[0]
    )
    zero = Series("0", [1, len(number)], [0.0, 0.0], "reference")
    names = ", ".join(data.columns)
    axis = Axis(f"input: {names}" if 0 < len(names) < 90 else "input, from the first")
    return (Curves("bounds of the slope in every input", axis, Axis("slope"), (span, zero)),)
