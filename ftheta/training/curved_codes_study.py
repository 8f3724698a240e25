"""What curved codes are claimed to do: never worse than the best linear code, and on bent data much better."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from ftheta.certify.linear_autoencoder import snapshots
from ftheta.certify.low_rank import decompose
from ftheta.estimates import mean
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Chart,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Exists,
    Heatmap,
    Identity,
    Series,
    Witness,
)
from ftheta.relu.line.points import through_points

from .curved_codes import Codes, Coordinates, coordinates, train_codes

ROWS, ENTRIES = 400, 4_000_000  # of data that are looked at
RESOLVED = 1e-9  # share of the rows' square below which a tail is rounding
MEMORISED, COLUMNS = 12, 256  # rows and columns in rationals
SHOWN = 120  # rows and columns of a picture
TAILS = 12  # ranks that are drawn

DATA = ("travelling pulse", "circling pulse", "circling step", "standing wave")


def moving_shapes(kind: str, n: int, d: int) -> np.ndarray:
    """Rows in the order of time; circling ones have as many pixels as rows."""
    if kind == "circling step":  # the ring is half full
        return np.array([np.roll(np.arange(n) < n // 2, k) for k in range(n)], float)
    if kind == "standing wave":  # one shape in changing parts: a line
        return np.cos(np.linspace(0, 6, n))[:, None] * np.sin(np.linspace(0, np.pi, d))[None]
    return snapshots(kind, n, d)


def first_rows(X: np.ndarray) -> np.ndarray:
    """As many as are looked at; in units of the largest entry where squares would leave the range of float64."""
    flat = X.reshape(len(X), -1)
    rows = flat[: max(2, min(ROWS, ENTRIES // flat.shape[1]))].astype(float)
    size = float(np.abs(rows).max()) or 1.0
    return rows if 1e-100 < size < 1e100 else rows / size


def linear_share(given: Coordinates, r: int) -> float:
    """What every linear code of r numbers loses on the learnt rows, as a share of their square about the mean."""
    return float(given.linear_errors(r)[given.learnt].mean())


def _linear_again(X: np.ndarray, given: Coordinates, r: int) -> Witness:
    """What one linear code loses, the projection on r vectors, in intervals."""

    def share(rows: Any, mean: Any, V: Any) -> Any:
        Z = rows - mean
        left = Z - (Z @ V.T) @ V
        return jnp.sum(left * left) / jnp.sum(Z * Z)

    found = enclose_number(share, X[given.learnt], given.mean, given.V[:r])
    return Witness({"r": float(r)}, Enclosure.exact(RESOLVED), found, "one linear code in intervals rounded outward")


def one_number(X: np.ndarray, rng: np.random.Generator) -> Claim:
    """Rows told apart by one product each, and the chords through them as a decoder: in rationals, without error."""
    rows = [[Fraction(v) for v in row] for row in np.unique(X[:MEMORISED, :COLUMNS], axis=0).tolist()]
    for _ in range(20):
        w = [int(v) for v in rng.integers(-99, 100, len(rows[0]))]
        codes = [sum((a * b for a, b in zip(w, row)), Fraction(0)) for row in rows]
        if len(set(codes)) == len(rows):
            break
    worst = Fraction(0)
    if len(set(codes)) == len(rows) > 1:
        for column in zip(*rows):
            chords = through_points(codes, column)
            worst = max(worst, *(abs(chords(c) - v) for c, v in zip(codes, column)))
    what = f"a code of one number and its chords on {len(rows)} rows, largest error, in rationals"
    return Identity(what, Enclosure.exact(worst), Enclosure.exact(0))


def memory_error(given: Coordinates, rng: np.random.Generator) -> float:
    """The mean square error of that memory on rows it does not hold, in float64."""
    y, others = given.y[given.learnt], ~given.learnt
    w = rng.normal(size=y.shape[1])
    order = np.argsort(y @ w)
    told = np.column_stack([np.interp(given.y[others] @ w, (y @ w)[order], column) for column in y[order].T])
    return float((((told - given.y[others]) ** 2).sum(1) + given.outside[others]).mean())


def fourier_tail(X: np.ndarray, r: int) -> float | None:
    r"""The tail of rows that are all rotations of the first: $\sigma_i^2=|\hat u_k|^2$. None where they are not."""
    if X.shape[0] != X.shape[1] or not all(np.array_equal(np.roll(X[0], k), row) for k, row in enumerate(X)):
        return None
    squares = np.sort(np.abs(np.fft.fft(X[0])[1:]) ** 2)[::-1]  # the mean is the wave of frequency 0
    return float(squares[r:].sum() / max(float(squares.sum()), 1e-300))


def curved_claims(X: np.ndarray, found: Codes, r: int, rng: np.random.Generator) -> tuple[Claim, ...]:
    given, i, equal = found.given, found.of(r), Enclosure.equal
    lost, kept = linear_share(given, r), float(found.errors[i, given.learnt].mean())
    what = f"{RESOLVED:g} ≤ what every linear code of r numbers loses"
    witness = _linear_again(X, given, r) if lost < RESOLVED else None
    claims: list[Claim] = [
        AtMost(what, Enclosure.exact(RESOLVED), equal(lost), witness=witness),
        AtMost("loss of the trained code ≤ of every linear code of r numbers", equal(kept), equal(lost), atol=1e-12),
        one_number(X, rng),
    ]
    others = ~given.learnt
    if others.sum() > 1:
        bent, straight = found.errors[i, others], given.linear_errors(r)[others]
        said = {"error of the trained code": float(bent.mean()), "of the linear one": float(straight.mean())}
        what = "a code that errs less on other rows than the best linear one: difference"
        claims.append(Exists(what, said, mean(bent - straight), Enclosure.exact(0)))
    waves = fourier_tail(X, r)
    if waves is not None:
        tail = whole_share(X, r)
        claims.append(Identity("Σ_(i>r) σᵢ² of all rotations, by the Fourier transform", equal(tail), equal(waves)))
    return tuple(claims)


def whole_share(X: np.ndarray, r: int) -> float:
    """The tail of all rows about their mean, as a share of the whole."""
    sigma = decompose(X - X.mean(0)).sigma
    return float((sigma[r:] ** 2).sum() / max(float((sigma**2).sum()), 1e-300))


# -- pictures ---------------------------------------------------------------------------------------------------


def error_chart(found: Codes) -> Curves:
    given, sizes = found.given, found.shape.sizes
    ranks = np.arange(1, min(TAILS, given.y.shape[1] - 1) + 1)
    learnt = found.errors[:, given.learnt].mean(1)
    tails = np.array([linear_share(given, int(k)) for k in ranks])
    series = [
        Series("best linear code", ranks, np.maximum(tails, 1e-16), "bound"),
        Series("autoencoder, its own rows", sizes, np.maximum(learnt, 1e-16)),
    ]
    if not given.learnt.all():
        others = found.errors[:, ~given.learnt].mean(1)
        series.append(Series("autoencoder, other rows", sizes, np.maximum(others, 1e-16), "other"))
    axis = Axis("mean square error, as a share", "log")
    return Curves("error against the numbers in the code", Axis("numbers in the code, r"), axis, tuple(series))


def latent_chart(found: Codes, r: int) -> Curves:
    """The codes of the rows one after the other: in the plane of the first two numbers, or against the row."""
    given, code = found.given, found.code[found.of(r)]
    flat = given.y[:, : max(r, 1)] / found.shape.scale[: max(r, 1)]
    if r == 1:
        k = np.arange(len(code))
        series = (Series("trained code", k, code[:, 0]), Series("linear code", k, flat[:, 0], "bound"))
        return Curves("latent trajectory: the code row by row", Axis("row"), Axis("code"), series)
    series = (Series("trained code", code[:, 0], code[:, 1]), Series("linear code", flat[:, 0], flat[:, 1], "bound"))
    return Curves("latent trajectory", Axis("first number of the code"), Axis("second number"), series)


def rows_chart(X: np.ndarray, found: Codes, r: int) -> Heatmap:
    """Rows, and what the two codes make of them, side by side."""
    given, few = found.given, slice(None, None, -(-len(X) // SHOWN))
    across = slice(None, None, -(-X.shape[1] // SHOWN))
    flat = np.where(np.arange(given.y.shape[1]) < r, given.y, 0.0)
    panels = [part[few, across] for part in (X, given.rows(flat), given.rows(found.output[found.of(r)]))]
    low, high = float(X.min()), float(X.max())
    gap = np.full((len(panels[0]), max(1, panels[0].shape[1] // 30)), low)
    sheet = np.clip(np.hstack([panels[0], gap, panels[1], gap, panels[2]]), low - 0.2, high + 0.2)
    extent = (0.0, float(sheet.shape[1]), 0.0, float(len(sheet)))
    title = f"rows · best linear code · autoencoder, r = {r}"
    return Heatmap(title, Axis("entry"), Axis("row"), sheet, extent, "value")


def curved_evidence(
    X: np.ndarray, r: int, hidden: int, steps: int, rng: np.random.Generator, sizes: Sequence[int] = (1, 2, 3)
) -> Evidence:
    given = coordinates(X)
    most = given.y.shape[1]
    if r > most:
        return Evidence((), summary=f"a code of {r} numbers holds all of the data")
    found = train_codes(given, sorted({*(k for k in sizes if k <= most), r}), hidden, steps, rng)
    i, learnt, others = found.of(r), given.learnt, ~given.learnt
    numbers: dict[str, Enclosure | float] = {
        "lost by the best linear code": linear_share(given, r),
        "lost by the best linear code of all rows": whole_share(X, r),
        "lost by the trained code": float(found.errors[i, learnt].mean()),
    }
    numbers["half a ring of 64, lost by two linear numbers"] = whole_share(moving_shapes(DATA[2], 64, 64), 2)
    if others.any():
        numbers |= {
            "on other rows, linear": float(given.linear_errors(r)[others].mean()),
            "on other rows, trained": float(found.errors[i, others].mean()),
            "on other rows, a memory of one number": memory_error(given, rng),
        }
    charts: tuple[Chart, ...] = error_chart(found), latent_chart(found, r), rows_chart(X, found, r)
    told = f"{r} number{'s' * (r > 1)} a row: the best linear code loses {numbers['lost by the best linear code']:.3g}"
    told += f" of the rows' square, the trained one {numbers['lost by the trained code']:.3g}"
    return Evidence(curved_claims(X, found, r, rng), charts, numbers, summary=told)
