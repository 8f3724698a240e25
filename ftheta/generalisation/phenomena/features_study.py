"""What random ReLU features show: the curve, its limit, and the ridge without a peak; on Gaussian rows and on data."""

from math import sqrt

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import AtMost, Axis, Claim, Converges, Curves, Enclosure, Evidence, Identity, Series

from . import random_features as rf
from .random_features import FeatureSweep, Teacher, around, data_feature_sweep, feature_sweep, limit

TEST = 20_000  # fresh rows that check the closed form of the risk


def feature_evidence(rng: np.random.Generator, teacher: Teacher, widest: int, draws: int) -> Evidence:
    """The sweep on Gaussian rows, with the closed form of the risk checked on fresh rows and the limit for large d."""
    found = feature_sweep(rng, teacher, around(teacher.rows, widest), draws)
    measured, closed = closed_form_check(rng, teacher, 2 * teacher.rows)
    claims = [Identity("risk of one fit: fresh rows, closed form", measured, closed), *_shape(found)]
    if teacher.signal > 0:
        claims.append(_limit_claim(rng, teacher, draws))
    lines = [N for N in np.geomspace(found.at[0], found.at[-1], 60) if abs(N / teacher.rows - 1) > 0.05]
    series = (
        Series("limit d → ∞", lines, [limit(teacher, N) for N in lines], "bound", "points"),
        *_measured_series(found),
    )
    title = f"random ReLU features: n = {teacher.rows} rows in {teacher.inputs} dimensions"
    shares = {"n/2": 0.5, "2n": 2.0, "4n": 4.0}
    return Evidence(
        claims=tuple(claims),
        charts=(Curves(title, Axis("random features N", "log"), Axis("risk", "log"), series),),
        numbers={f"limit at N = {name}": limit(teacher, share * teacher.rows) for name, share in shares.items()},
        summary=_told(found, f"risk {teacher.null_risk:.3g} without features"),
    )


def data_feature_evidence(
    rng: np.random.Generator, x: np.ndarray, y: np.ndarray, n: int, widest: int, draws: int, noise: float
) -> Evidence:
    """The sweep on rows of data: what trains and what tests is drawn anew each time."""
    found = data_feature_sweep(rng, x, y, n, around(n, widest), draws, noise)
    classes = y.shape[1] > 1
    rise = float(np.diff(found.train, axis=1).max(initial=0.0))
    training = AtMost(
        "largest rise of the training error from fewer to more features",
        Enclosure.measured(rise, samples=len(found.train)),
        Enclosure.exact(0),
        atol=1e-7 * float(np.abs(y).max() ** 2) + 1e-300,
    )
    label = Axis("test error in %") if classes else Axis("squared test error", "log")
    series = _measured_series(found, 100.0 if classes else 1.0)
    title = f"random ReLU features on data: n = {n} rows" + (f", {noise:.0%} of the labels wrong" if noise else "")
    return Evidence(
        claims=(training, *_shape(found)),
        charts=(Curves(title, Axis("random features N", "log"), label, series),),
        numbers={"N of the largest test error": float(found.peak)},
        summary=_told(found, f"{x.shape[1]} inputs"),
    )


def closed_form_check(rng: np.random.Generator, teacher: Teacher, features: int) -> tuple[Enclosure, Enclosure]:
    """The mean squared error of one fit on fresh rows, and its population risk."""
    d, n = teacher.inputs, teacher.rows
    beta, W, rows = np.full(d, sqrt(teacher.signal / d)), rf.on_sphere(rng, features, d), rng.normal(size=(n + TEST, d))
    y = rows @ beta + sqrt(teacher.noise) * rng.normal(size=n + TEST)
    F = np.maximum(rows @ W.T, 0)
    with rf.one_thread():
        a = rf.ridge_path(F[:n], y[:n, None], rf.RIDGES[:1])[0, :, 0]
        exact = float(rf.risks(teacher, beta, W, rf.arc_cosine(W), a[None])[0])
    return mean((F[n:] @ a - y[n:]) ** 2), Enclosure.equal(exact)


def _shape(found: FeatureSweep) -> list[Claim]:
    """Up to N = n, down beyond it, and without a peak for the best ridge: as measured."""
    draws, n = len(found.train), found.rows
    known = lambda value: Enclosure.measured(float(value), samples=draws)
    at = {N: known(risk) for N, risk in zip(found.at, found.middle)}
    if n not in at or n >= found.at[-1]:
        return []
    rise = float(np.diff(found.best).max(initial=0.0))
    before = min((e for N, e in at.items() if n > N), key=lambda e: e.lo, default=at[n])
    return [
        AtMost("least median risk with N < n, against N = n", before, at[n]),
        AtMost("median risk with most features, against N = n", at[found.at[-1]], at[n]),
        AtMost("best ridge: risk at N = n, against the least norm", known(found.best[found.at.index(n)]), at[n]),
        AtMost(
            "best ridge: rise of the mean risk with N, against its fall", known(rise), known(np.ptp(found.best) / 4)
        ),
    ]


def _limit_claim(rng: np.random.Generator, teacher: Teacher, draws: int) -> Claim:
    """At N = 2n, rows and inputs growing together."""
    share, scales = teacher.rows / teacher.inputs, (10, 20, 40, 80)
    grown = [Teacher(d, max(1, round(share * d)), teacher.signal, teacher.noise) for d in scales]
    means = [feature_sweep(rng, t, [2 * t.rows], draws, rf.RIDGES[:1]).least_norm.mean() for t in grown]
    values = tuple(Enclosure.measured(float(m), samples=draws) for m in means)
    goal = limit(grown[-1], 2 * grown[-1].rows)
    return Converges("risk at N = 2n", Enclosure.equal(goal), values, tuple(map(float, scales)), 0.2 * goal)


def _measured_series(found: FeatureSweep, scale: float = 1.0) -> tuple[Series, ...]:
    low, high = (scale * np.quantile(found.least_norm, q, axis=0) for q in (0.1, 0.9))
    return (
        Series("least norm (median)", found.at, scale * found.middle, "measured", "line", low, high),
        Series("best ridge", found.at, scale * found.best, "other"),
    )


def _told(found: FeatureSweep, more: str) -> str:
    peak = found.at.index(found.peak)
    return (
        f"median risk {found.middle[peak]:.3g} at N = {found.peak} (n = {found.rows}), {found.middle[-1]:.3g} with "
        f"{found.at[-1]:,} features, {found.best.min():.3g} with the best ridge; {more}; {len(found.train)} draws"
    )
