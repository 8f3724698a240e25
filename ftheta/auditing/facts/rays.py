"""What the network does far from its data: along rays from their mean."""

import numpy as np
from scipy import sparse

from ftheta.estimates.calibration import softmax
from ftheta.logic import (
    AuditFinding,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Fact,
    FthetaError,
    Series,
    SubjectError,
)
from ftheta.pieces import Segment, pieces
from ftheta.relu import ReluNetwork
from ftheta.subjects import Network

from ..judging import judge, percent
from ..part import Part, no_better
from .calibration import are_probabilities
from .inputs import affordable, ensure_real_inputs, outputs_at, piecewise_affine, some_rows

RAYS = 8
FAR = 100.0  # times the distance of the row that a ray goes through
MOST_CELLS = 2_000  # on a ray
WORK = 5e8  # pieces on all rays, times the weights of the network
TIMES = np.geomspace(0.1, FAR, 61)


def rays(net: Network, rng: np.random.Generator) -> Part:
    """Pieces, the last kink and the slope far out, for networks that are piecewise affine; growth for all."""
    ensure_real_inputs(net)
    x, source = some_rows(net, affordable(net, 5e9 / len(TIMES), 2, RAYS), rng)
    flat = x.reshape(len(x), -1)
    centre = (
        np.zeros(flat.shape[1])
        if net.data is None
        else net.data.x.reshape(len(net.data), -1).mean(0)
    )
    ways = (flat - centre)[np.linalg.norm(flat - centre, axis=1) > 0]
    if not len(ways):
        got = f"{len(x)} rows, each the mean of the data"
        remedy = "add rows: `--data`"
        raise SubjectError("A ray needs a row beside the mean.", got=got, remedy=remedy)
    told = f"{len(ways)} rays from {'0' if net.data is None else 'the mean'} through {source}"
    points = centre + TIMES[None, :, None] * ways[:, None, :]
    values = outputs_at(net, points.reshape(-1, *net.input_shape)).reshape(
        len(ways), len(TIMES), -1
    )
    facts = [Fact("growth exponent, 10×–100× the input", _growth(values), told)]
    if values.shape[2] > 1:
        facts.append(_margin_growth(values, told))
        facts += _confidence_facts(values, told)
    try:
        form, basis = piecewise_affine(net)
    except FthetaError as error:
        facts.append(
            Fact("pieces", f"none are counted: {error.what} {error.got or ''}".strip(), told)
        )
    else:
        facts += _exact_facts(form, basis, centre, ways, told)
    charts = (*_confidence_picture(values), _picture(values))
    return Part(tuple(facts), charts=charts, findings=_judge_margins(facts, len(ways)))


def _judge_margins(facts: list[Fact], n: int) -> tuple[AuditFinding, ...]:
    for fact in facts:
        if fact.key == "growing_margins" and isinstance(fact.value, Enclosure):
            grows = int(fact.value.middle)
            sure = next(
                f.value.middle
                for f in facts
                if f.key == "far_confidence" and isinstance(f.value, Enclosure)
            )
            says = (
                f"Far from the data it grows ever more confident: on {grows} of {n} rays the margin keeps growing "
                f"(median confidence {percent(sure)} at {FAR:.0f} times the distance)."
            )
            return judge("far-away", fact.value, says, f"measured, {n} rays", judged_by=grows / n)
    return ()


def _growth(values: np.ndarray) -> Enclosure:
    """The largest exponent p of |f| ~ tᵖ over the last factor of ten, over the rays."""
    size = np.linalg.norm(values, axis=2)
    start = int(np.searchsorted(TIMES, FAR / 10 * (1 - 1e-9)))
    power = np.log(np.maximum(size[:, -1], 1e-300) / np.maximum(size[:, start], 1e-300)) / np.log(
        FAR / TIMES[start]
    )
    return Enclosure.measured(float(power.max()), samples=len(values))


def _margin_growth(values: np.ndarray, told: str) -> Fact:
    """Whether the gap between the two largest outputs still grows far out: then softmax tends to certainty there."""
    top = np.sort(values[:, [-2, -1]], axis=2)
    gaps = top[:, :, -1] - top[:, :, -2]
    grows = int((gaps[:, 1] > gaps[:, 0] * (1 + 1e-9)).sum())
    known = Enclosure.measured(grows, samples=len(values))
    return Fact("rays with growing margin", known, told, "growing_margins")


def _confidences(values: np.ndarray) -> np.ndarray:
    """The largest probability at every point of every ray: of the outputs where these are some, else of softmax."""
    if are_probabilities(values):
        return values.max(2)
    rays, points, outputs = values.shape
    return softmax(values.reshape(-1, outputs)).max(1).reshape(rays, points)


def _confidence_facts(values: np.ndarray, told: str) -> list[Fact]:
    found = np.median(_confidences(values), axis=0)
    here = int(np.argmin(np.abs(TIMES - 1.0)))
    n = len(values)
    source = (
        "outputs, which are probabilities"
        if are_probabilities(values)
        else "softmax of the outputs"
    )
    note = f"median, {source}; {told}"
    return [
        Fact(
            "confidence at the rows of the rays",
            Enclosure.measured(float(found[here]), samples=n),
            note,
        ),
        Fact(
            f"confidence {FAR:.0f} times as far",
            Enclosure.measured(float(found[-1]), samples=n),
            note,
            "far_confidence",
        ),
    ]


def _confidence_picture(values: np.ndarray) -> tuple[Curves, ...]:
    if values.shape[2] < 2:
        return ()
    found = _confidences(values)
    band = {"lo": found.min(0), "hi": found.max(0)}
    series = Series("median of the rays", TIMES, np.median(found, axis=0), **band)
    x = Axis("distance from the mean, in distances of the row", "log")
    return (Curves("confidence along rays", x, Axis("largest probability"), (series,)),)


def _exact_facts(
    form: ReluNetwork, basis: Basis, centre: np.ndarray, ways: np.ndarray, told: str
) -> list[Fact]:
    weights = sum(
        step.matrix.nnz if sparse.issparse(step.matrix) else step.matrix.size for step in form.steps
    )
    most = int(np.clip(WORK / weights / len(ways), 16, MOST_CELLS))
    counts = []
    last = []
    for way in ways:
        cells = pieces(form, Segment(centre, centre + FAR * way), max_cells=most)
        counts.append(cells.count)
        kinks = np.unique(cells.vertices)
        last.append(
            (FAR * float(kinks[-2]) if len(kinks) > 2 else 0.0)
            if cells.certificate.complete
            else np.inf
        )
    slopes = [
        float(np.linalg.norm(at_infinity(form, way))) / float(np.linalg.norm(way)) for way in ways
    ]
    fewest = min(c.lo for c in counts)
    largest = max(c.hi for c in counts)
    weakest = max((c.basis for c in counts), key=lambda b: b.rank)
    return [
        Fact("pieces on a ray", no_better(Enclosure(fewest, largest, weakest), basis), told),
        *_last_breakpoint(last, told),
        Fact("slope at infinity, steepest ray", Enclosure.equal(max(slopes)), told),
    ]


def _last_breakpoint(last: list[float], told: str) -> list[Fact]:
    """The last kink of all rays; where some were not followed to their end, no earlier than that of the others."""
    seen = [t for t in last if np.isfinite(t)]
    if not seen:
        return []
    latest = Enclosure.equal(max(seen)) if len(seen) == len(last) else Enclosure.at_least(max(seen))
    return [Fact("last breakpoint (× input norm)", latest, told)]


def at_infinity(form: ReluNetwork, way: np.ndarray) -> np.ndarray:
    r"""$\lim_{t\to\infty}f(x+t\,w)/t$: the network without its offsets at $w$, as ReLU is positively homogeneous."""
    state = np.asarray(way, np.float64)
    for step in form.steps:
        state = np.asarray(step.matrix @ state).ravel()
        state = np.where(step.rectified, np.maximum(state, 0.0), state)
    return state


def _picture(values: np.ndarray) -> Curves:
    size = np.linalg.norm(values, axis=2)
    series = [Series(f"ray {k + 1}", TIMES[row > 0], row[row > 0]) for k, row in enumerate(size)]
    x = Axis("distance from the mean, in distances of the row", "log")
    y = Axis("|f|", "log")
    return Curves("outputs along rays", x, y, tuple(series))
