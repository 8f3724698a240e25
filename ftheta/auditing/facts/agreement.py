"""Whether the network says here what it says in the framework it came from: the import, held against its source."""

from contextlib import suppress

import numpy as np

from ftheta.logic import AuditFinding, Enclosure, Fact, SubjectError
from ftheta.subjects import Network

from ..judging import judge
from ..origins import Ran, run_origin
from ..part import Part
from .inputs import affordable, choose_rows, describe_rows, outputs_at, outputs_in_float32

ROWS = 64
WORK = 5e9  # multiplications
MARGIN = 10  # a runtime that adds in another order may differ by that many times our own rounding
ROUNDING = {"float16": 1e-2, "float32": 1e-5}  # relative to the largest output, at least
FINE = 1e-9  # of a runtime in float64
NAME = "agreement with the framework it came from"


def agreement(net: Network, rng: np.random.Generator) -> Part:
    """Outputs and predictions on rows of the data, here and in the framework or runtime the network was read from."""
    if net.data is None:
        raise SubjectError("This needs data.", got="none", remedy="add --data with x")
    chosen = choose_rows(net.data, affordable(net, WORK, 1, ROWS), rng)
    told = describe_rows(len(chosen), net.data)
    try:
        if net.origin is None:
            raise SubjectError("It was not read from a framework, or ended early.")
        if net.parts:
            raise SubjectError("It has several inputs.")
        ran = run_origin(net.origin, net.data.x[chosen])
        ours = _evaluate(net, ran)
    except SubjectError as error:
        return Part((Fact(NAME, f"not checked: {_in_words(error)}"),))
    allowed = _rounding(net, ran, ours)
    return _hold_against(ran, ours, allowed, f"{told}, {ran.runtime}")


def _in_words(error: SubjectError) -> str:
    what = f"{error.what[:1].lower()}{error.what[1:]}".rstrip(".")
    got = f" ({error.got})" if error.got is not None else ""
    return f"{what}{got}" + (f"; {error.remedy}" if error.remedy else "")


def _evaluate(net: Network, ran: Ran) -> np.ndarray:
    """Our outputs at the rows as the runtime got them, rounded as they are then."""
    rows = ran.rows.reshape(len(ran.rows), *net.input_shape)
    ours = outputs_at(net, rows.astype(np.float64) if rows.dtype.kind == "f" else rows)
    ours = ours if ran.convert is None else ran.convert(ours)
    if ours.shape != ran.outputs.shape:
        got = f"{ran.outputs.shape[1]} numbers a row, here {ours.shape[1]}"
        raise SubjectError(f"{ran.runtime} returns outputs of another shape.", got=got)
    return ours


def _rounding(net: Network, ran: Ran, ours: np.ndarray) -> float:
    """Relative to the largest output: the difference that the precision of the runtime explains."""
    least = ROUNDING.get(ran.outputs.dtype.name)
    if least is None:
        return FINE
    with suppress(SubjectError):
        rows = ran.rows.reshape(len(ran.rows), *net.input_shape)
        own = np.abs(outputs_in_float32(net, rows) - ours).max()
        return max(least, MARGIN * float(own) / _size(ours))
    return least


def _size(outputs: np.ndarray) -> float:
    return float(np.abs(outputs).max()) or 1.0


def _hold_against(ran: Ran, ours: np.ndarray, allowed: float, told: str) -> Part:
    theirs = ran.outputs.astype(np.float64)
    n, k = ours.shape
    size = _size(ours)
    gap = float(np.abs(theirs - ours).max()) / size
    if not np.isfinite(gap):
        gap = float(not np.array_equal(theirs, ours, equal_nan=True))
    flips, beyond = _changes(theirs, ours, allowed * size) if k > 1 else (0, 0)
    found = Enclosure.measured(gap, samples=n)
    known = f"{told}, relative to the largest output"
    facts = [Fact("largest difference to the framework it came from", found, known, "origin_gap")]
    if k > 1:
        changed = Enclosure.measured(flips, samples=n)
        facts.append(Fact("predictions that differ there", changed, told, "origin_flips"))
    findings = _judge(ran.runtime, found, flips if k > 1 else None, beyond, allowed, known)
    return Part(tuple(facts), findings=findings)


def _changes(theirs: np.ndarray, ours: np.ndarray, allowed: float) -> tuple[int, int]:
    """Rows with another prediction, and those of them whose margin is larger than rounding explains."""
    every = np.arange(len(ours))
    guess = theirs.argmax(1)
    margin = ours.max(1) - ours[every, guess]
    changed = guess != ours.argmax(1)
    return int(changed.sum()), int((changed & (margin > 2 * allowed)).sum())


def _judge(
    runtime: str, found: Enclosure, flips: int | None, beyond: int, allowed: float, known: str
) -> tuple[AuditFinding, ...]:
    gap = found.middle
    n = found.samples
    changed = "" if flips is None else f"; {flips or 'no'} of {n} predictions {_differ(flips)}"
    says = f"{runtime} and ftheta differ by at most {gap:.1e} of the largest output{changed}."
    excess = 1.0 if beyond else max(0.0, gap - allowed)
    return judge("agreement", found, says, known, judged_by=excess)


def _differ(flips: int) -> str:
    return "differs" if flips == 1 else "differ"
