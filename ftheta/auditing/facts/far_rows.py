"""Rows that are unlike everything in the rows of training."""

import numpy as np

from ftheta.logic import AuditFinding, Axis, Enclosure, Fact, Histogram, Series, SubjectError, Table
from ftheta.risks.baselines import nearest_distances
from ftheta.subjects import Network
from ftheta.subjects.inputs import takes_tokens

from ..judging import judge, percent
from ..part import Part
from .evaluation import flatten
from .inputs import describe_rows
from .pictures import draw_rows

ROWS = 2000
REFERENCE = 5000
SHOWN = 12
BINS = 24


def far_rows(net: Network, rng: np.random.Generator) -> Part:
    """Rows outside the range of training, and rows further from it than any row of training is from the others."""
    data = net.data
    train = net.train_data
    if data is None or train is None:
        raise SubjectError(
            "This needs the rows of training.", got="none", remedy="add --train with x and y"
        )
    if takes_tokens(net):
        raise SubjectError(
            "Token ids have no distances.", remedy="this is about inputs that are numbers"
        )
    chosen = np.sort(rng.permutation(len(data))[:ROWS])
    x = flatten(data.x[chosen])
    every = flatten(train.x)
    known = every[rng.permutation(len(train))[:REFERENCE]]
    beyond = (x < every.min(0)) | (x > every.max(0))
    outside = int(beyond.any(1).sum())
    spread = known.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    here = nearest_distances(x / scale, known / scale)
    usual = nearest_distances(known / scale)
    far = np.flatnonzero(here > usual.max())
    n = len(x)
    ranged = f"{describe_rows(n, data)}, {describe_rows(len(train), train)}"
    told = f"{describe_rows(n, data)}, {describe_rows(len(known), train)}"
    facts = (
        Fact(
            "rows outside the range of training in some column",
            Enclosure.exact(outside),
            ranged,
            "outside_range",
        ),
        Fact(
            "rows further from training than any of its rows",
            Enclosure.equal(len(far)),
            f"{told}, scaled",
            "far_rows",
        ),
    )
    worst = far[np.argsort(-here[far], kind="stable")][:SHOWN]
    rows = [(int(chosen[i]), float(here[i] / usual.max()), int(beyond[i].sum())) for i in worst]
    heads = ("row", "distance ÷ largest in training", "columns out of range")
    tables = (Table("rows far from the rows of training", heads, tuple(rows)),) if rows else ()
    pictures = (
        draw_rows("the rows furthest from training", net.input_shape, (data.x[chosen[worst]],))
        if rows
        else ()
    )
    looked_at = "" if len(known) == len(train) else f" looked at ({len(known):,} of {len(train):,})"
    return Part(
        facts, tables, (_picture(here, usual), *pictures), _judge_far(far, n, told, looked_at)
    )


def _judge_far(far: np.ndarray, n: int, told: str, looked_at: str) -> tuple[AuditFinding, ...]:
    says = (
        f"{len(far):,} of {n:,} rows ({percent(len(far) / n)}) lie further from every row of training{looked_at} than "
        "any of these from the others."
    )
    value = Enclosure.equal(len(far))
    return judge("far-rows", value, says, f"distances in float64, {told}", judged_by=len(far) / n)


def _picture(here: np.ndarray, usual: np.ndarray) -> Histogram:
    edges = np.linspace(0.0, float(max(here.max(), usual.max())) or 1.0, BINS + 1)
    share = np.histogram(here, edges)[0] / len(here)
    other = np.histogram(usual, edges)[0] / len(usual)
    middle = (edges[1:] + edges[:-1]) / 2
    curve = Series("rows of training", middle, other, "reference")
    title = "distance to the nearest row of training"
    return Histogram(
        title, Axis("distance, columns scaled"), Axis("share of rows"), edges, share, (curve,)
    )
