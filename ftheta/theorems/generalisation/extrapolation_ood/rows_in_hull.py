"""Rows of the data against the hull of the others."""

import numpy as np

from ftheta.logic import AtMost, Claim, Enclosure, Identity, Table
from ftheta.risks.hull import membership

from .parts import Numbers, Part

HULL_ENTRIES = 400_000


def test_hull(x: np.ndarray, rng: np.random.Generator, many: int) -> Part:
    """Some rows against the hull of the others, each with its certificate evaluated again."""
    flat = x.reshape(len(x), -1).astype(np.float64)
    kept = flat[rng.permutation(len(flat))[: max(HULL_ENTRIES // flat.shape[1], 2)]]
    if len(kept) < 3 or many == 0:
        return Part()
    tested = range(min(many, len(kept)))
    others = [np.delete(kept, k, axis=0) for k in tested]
    found = [membership(others[k], kept[k]) for k in tested]
    residuals = [found[k].residual(others[k], kept[k]) for k in tested if found[k].kind == "inside"]
    gaps = [m.gap for m in found if m.kind == "outside"]
    claims: list[Claim] = []
    if residuals:
        what = f"|Σ λᵢxᵢ − q| for the {len(residuals)} rows inside, λ ≥ 0 of sum 1"
        claims.append(Identity(what, Enclosure.exact(max(residuals)), Enclosure.exact(0)))
    if gaps:
        what = f"0 ≤ ⟨w, q⟩ − max ⟨w, xᵢ⟩ for the {len(gaps)} rows outside"
        claims.append(AtMost(what, Enclosure.exact(0), Enclosure.exact(min(gaps))))
    numbers: Numbers = {
        "rows inside the hull of the others": Enclosure.measured(
            len(residuals), samples=len(tested)
        ),
        "rows outside the hull of the others": Enclosure.measured(len(gaps), samples=len(tested)),
    }
    table = Table(
        f"rows against the hull of {len(kept) - 1:,} others",
        ("row", "where", "distance from the hull ≥", "rows combined"),
        tuple((k, m.kind, m.distance, len(m.rows)) for k, m in enumerate(found)),
    )
    summary = f"{len(residuals)} rows in the hull of the others, {len(gaps)} outside"
    return Part(tuple(claims), numbers, tables=(table,), summary=summary)
