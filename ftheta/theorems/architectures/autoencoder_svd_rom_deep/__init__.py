"""A non-linear code needs fewer numbers: autoencoders against every linear code."""

from fractions import Fraction
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import mean
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Heatmap,
    Identity,
    Knob,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.relu.line.points import through_points
from ftheta.subjects import Dataset

from .curved_codes import (
    Codes,
    Coordinates,
    coordinates,
    first_rows,
    linear_share,
    memory_error,
    train_codes,
)
from .moving_shapes import DATA, fourier_tail, moving_shapes, whole_share

RESOLVED = 1e-9  # share of the rows' square below which a tail is rounding
SIZES = (1, 2, 3)  # latent dimensions that are trained beside the one asked for
# rows and columns in rationals
MEMORISED = 12
COLUMNS = 256
SHOWN = 120  # rows and columns of a picture
TAILS = 12  # ranks that are drawn


def moving_rows(
    rng: np.random.Generator,
    *,
    data: Annotated[str, Knob(says="which data", symbol="X", choices=DATA)] = DATA[0],
    rows: Annotated[
        int, Knob(16, 200, "number of snapshots", "n", log=True, least=8, most=400)
    ] = 64,
    columns: Annotated[
        int, Knob(16, 200, "points in space; circling ones have n", "d", log=True, least=4)
    ] = 48,
) -> Dataset:
    return Dataset(data, moving_shapes(data, rows, columns))


def standing_wave(rng: np.random.Generator) -> Dataset:
    return moving_rows(rng, data="standing wave", rows=16)


@hypothesis(
    r"$\sum_{i>r}\sigma_i^2>0$: the rows about their mean do not lie in a plane of dimension $r$",
    remedy="take a smaller code: a linear one of r numbers already holds all of these rows",
)
def no_plane_holds_the_rows(data: Dataset, *, rank: int) -> Finding:
    share = linear_share(coordinates(first_rows(data.x)), rank)
    note = f"linear codes of {rank} lose {share:.3g} of the rows' square or more; resolved above {RESOLVED:g}"
    return Finding.decide(
        share > RESOLVED, note, "singular values in float64", Enclosure.equal(share)
    )


@theorem(
    title="Non-linear autoencoders against PCA",
    gist="Data that lie on a curved manifold need fewer numbers per row if encoder and decoder may be non-linear; a "
    "trained autoencoder then beats every linear code of the same size.",
    see_also=("autoencoder-svd-rom", "autoencoder-svd-rom-sindy"),
    same_for_all={
        "a code of one number and its chords": "evaluated in rationals on the given rows: nothing is lost"
    },
    sources=("murari-slides", "eckart1936", "kramer1991", "champion2019", "greif2019", "lee2020"),
    assumes=(no_plane_holds_the_rows,),
    on=moving_rows,
    breaks_on=standing_wave,
    presets={
        "textbook": {},
        "a ring": {"data": "circling pulse", "rank": 2},
        "a jump on a ring": {"data": "circling step", "rank": 2},
        "at the edge": {"data": "circling pulse", "rank": 1},
        "broken on purpose": {"data": "standing wave"},
    },
)
def autoencoder_svd_rom_deep(
    data: Dataset,
    rng: np.random.Generator,
    *,
    rank: Annotated[int, Knob(1, 6, "latent dimension", "r", most=32)] = 1,
    hidden: Annotated[
        int, Knob(8, 64, "neurons of each hidden layer", "h", log=True, least=1, most=256)
    ] = 24,
    steps: Annotated[
        int, Knob(100, 5000, "training steps", "T", log=True, least=1, most=20_000)
    ] = 600,
) -> Evidence:
    r"""Let the rows of $X\in\mathbb R^{n\times d}$ have mean 0 and singular values $\sigma_1\ge\dots$ A linear
    code of $r$ numbers loses at least $\sum_{i>r}\sigma_i^2$. Encoders and decoders with a hidden layer beside the
    linear map contain the linear ones, so that $$\inf_{E,D}\sum_i\|D(E(x_i))-x_i\|^2\le\sum_{i>r}\sigma_i^2,$$ and one
    number is enough for no loss at all on the rows themselves: $\langle w,x_i\rangle$ tells them apart, chords through
    them decode it (a hidden layer of ReLUs). A shape $u$ that moves around a ring of $n$ pixels has
    $\sigma^2=|\hat u_k|^2$, slowly falling where $u$ jumps, whatever the linear code; a trained code follows the ring
    with two numbers, and errs less on rows that it has not seen."""
    X = first_rows(data.x)
    given = coordinates(X)
    most = given.y.shape[1]
    if rank > most:
        return Evidence((), summary=f"a code of {rank} numbers holds all of the data")
    found = train_codes(given, sorted({*(k for k in SIZES if k <= most), rank}), hidden, steps, rng)
    i = found.of(rank)
    learnt = given.learnt
    others = ~given.learnt
    numbers: dict[str, Enclosure | float] = {
        "lost by the best linear code": linear_share(given, rank),
        "lost by the best linear code of all rows": whole_share(X, rank),
        "lost by the trained code": float(found.errors[i, learnt].mean()),
    }
    if others.any():
        numbers |= {
            "on other rows, linear": float(given.linear_errors(rank)[others].mean()),
            "on other rows, trained": float(found.errors[i, others].mean()),
            "on other rows, a memory of one number": memory_error(given, rng),
        }
    linear = float(linear_share(given, rank))
    trained = float(found.errors[i, learnt].mean())
    summary = (
        f"latent dimension {rank}: the best linear code loses {linear:.3g} of the rows' square"
    )
    return Evidence(
        _claims(X, found, rank, rng),
        (_draw_errors(found), _draw_codes(found, rank), _draw_rows(X, found, rank)),
        numbers,
        summary=f"{summary}, the trained one {trained:.3g}",
        examples=_examples,
    )


def _examples() -> Examples:
    """All rotations of half a ring of 64 pixels."""
    lost = whole_share(moving_shapes(DATA[2], 64, 64), 2)
    return Examples(numbers={"half a ring of 64, lost by two linear numbers": lost})


def _claims(X: np.ndarray, found: Codes, r: int, rng: np.random.Generator) -> tuple[Claim, ...]:
    """Never worse than the best linear code on its own rows; better on others; one number is enough for no loss."""
    given = found.given
    i = found.of(r)
    equal = Enclosure.equal
    lost = linear_share(given, r)
    kept = float(found.errors[i, given.learnt].mean())
    what = f"{RESOLVED:g} ≤ what every linear code of r numbers loses"
    witness = _refute_by_linear_code(X, given, r) if lost < RESOLVED else None
    claims: list[Claim] = [
        AtMost(what, Enclosure.exact(RESOLVED), equal(lost), witness=witness),
        AtMost(
            "loss of the trained code ≤ of every linear code of r numbers",
            equal(kept),
            equal(lost),
            atol=1e-12,
        ),
        one_number_claim(X, rng),
    ]
    others = ~given.learnt
    if others.sum() > 1:
        bent = found.errors[i, others]
        straight = given.linear_errors(r)[others]
        said = {
            "error of the trained code": float(bent.mean()),
            "of the linear one": float(straight.mean()),
        }
        what = "a code that errs less on other rows than the best linear one: difference"
        claims.append(Exists(what, said, mean(bent - straight), Enclosure.exact(0)))
    waves = fourier_tail(X, r)
    if waves is not None:
        tail = whole_share(X, r)
        claims.append(
            Identity(
                "Σ_(i>r) σᵢ² of all rotations, by the Fourier transform", equal(tail), equal(waves)
            )
        )
    return tuple(claims)


def _refute_by_linear_code(X: np.ndarray, given: Coordinates, r: int) -> Witness:
    """What one linear code loses, the projection on r vectors, in intervals."""

    def share(rows: Any, mean: Any, V: Any) -> Any:
        Z = rows - mean
        left = Z - (Z @ V.T) @ V
        return jnp.sum(left * left) / jnp.sum(Z * Z)

    found = enclose_number(share, X[given.learnt], given.mean, given.V[:r])
    return Witness(
        {"r": float(r)},
        Enclosure.exact(RESOLVED),
        found,
        "one linear code in intervals rounded outward",
    )


def one_number_claim(X: np.ndarray, rng: np.random.Generator) -> Claim:
    """Rows distinguished by one product each, and the chords through them as a decoder: in rationals, without error."""
    rows = [
        [Fraction(v) for v in row] for row in np.unique(X[:MEMORISED, :COLUMNS], axis=0).tolist()
    ]
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


def _draw_errors(found: Codes) -> Curves:
    given = found.given
    sizes = found.shape.sizes
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
    return Curves("error against latent dimension", Axis("latent dimension r"), axis, tuple(series))


def _draw_codes(found: Codes, r: int) -> Curves:
    """The codes of the rows one after the other: in the plane of the first two numbers, or against the row."""
    given = found.given
    code = found.code[found.of(r)]
    flat = given.y[:, : max(r, 1)] / found.shape.scale[: max(r, 1)]
    if r == 1:
        k = np.arange(len(code))
        series = (
            Series("trained code", k, code[:, 0]),
            Series("linear code", k, flat[:, 0], "bound"),
        )
        return Curves("latent trajectory: the code row by row", Axis("row"), Axis("code"), series)
    series = (
        Series("trained code", code[:, 0], code[:, 1]),
        Series("linear code", flat[:, 0], flat[:, 1], "bound"),
    )
    return Curves(
        "latent trajectory", Axis("first number of the code"), Axis("second number"), series
    )


def _draw_rows(X: np.ndarray, found: Codes, r: int) -> Heatmap:
    """Rows, and what the two codes make of them, side by side."""
    given = found.given
    few = slice(None, None, -(-len(X) // SHOWN))
    across = slice(None, None, -(-X.shape[1] // SHOWN))
    flat = np.where(np.arange(given.y.shape[1]) < r, given.y, 0.0)
    panels = [
        part[few, across] for part in (X, given.rows(flat), given.rows(found.output[found.of(r)]))
    ]
    low = float(X.min())
    high = float(X.max())
    gap = np.full((len(panels[0]), max(1, panels[0].shape[1] // 30)), low)
    sheet = np.clip(np.hstack([panels[0], gap, panels[1], gap, panels[2]]), low - 0.2, high + 0.2)
    extent = (0.0, float(sheet.shape[1]), 0.0, float(len(sheet)))
    title = f"rows · best linear code · autoencoder, r = {r}"
    return Heatmap(title, Axis("entry"), Axis("row"), sheet, extent, "value")
