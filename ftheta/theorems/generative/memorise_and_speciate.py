"""The exact score of data leads back to the data, and at which noise the classes part."""

from math import log, sqrt
from typing import Annotated

import numpy as np
from flint import arb, ctx

from ftheta.flows.mixtures import Mixture
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Points,
    Regions,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure
from ftheta.theorems.laws import ROWS_ARE_A_LAW, mixture_of, place_bumps

MOST_ROWS = 1000
PROBES = 200
BITS = 128
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def scattered_rows(
    rng: np.random.Generator,
    *,
    rows: Annotated[int, Knob(2, 200, "rows of data", "n", log=True, most=1000)] = 20,
    dimension: Annotated[int, Knob(1, 20, "entries per row", "d", log=True, most=200)] = 2,
    duplicated: Annotated[bool, Knob(says="one row is there twice")] = False,
) -> Measure:
    points = rng.normal(size=(rows, dimension))
    if duplicated:
        points[-1] = points[0]
    return Measure.empirical(f"{rows} rows of {dimension} entries", points)


@hypothesis(
    "the rows are distinct points",
    remedy="drop duplicated rows; of a mixture take the rows themselves, spread 0",
)
def distinct_rows(measure: Measure) -> Finding:
    rows = measure.atoms[:MOST_ROWS]
    if measure.spread > 0 or len(rows) < 2:
        return Finding.failed(f"{len(rows)} points with spread {measure.spread:g}")
    distinct = len(np.unique(rows, axis=0))
    note = f"{distinct} of {len(rows)} rows differ"
    return Finding.decide(
        distinct == len(rows), note, "compared as they are stored", basis=Basis.EXACT
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@hypothesis(
    r"the row is nearer than the others by the whole margin $2\sigma^2\ln\frac{(n-1)R}\eta$",
    remedy="set --margin 1; to be the nearest row is not enough",
)
def whole_margin(measure: Measure, *, margin: float) -> Finding:
    return Finding.decide(
        margin >= 1, f"{margin:g} of the margin", "read off the knob", basis=Basis.EXACT
    )


@theorem(
    title="Memorisation and speciation",
    gist="Near each row there is a region in which the exact denoiser of the data returns that row, almost exactly: "
    "once a sample has entered it, it becomes a copy. When classes part is decided earlier, at a noise that their "
    "distance sets.",
    see_also=("diffusion-score", "score-matching", "sampler-orders"),
    sources=("biroli2024",),
    assumes=(distinct_rows, whole_margin),
    on=scattered_rows,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "many entries": {"dimension": 20, "rows": 100},
        "little noise": {"noise": 0.02},
        "broken on purpose": {"margin": 0.0},
    },
    adapters=(ROWS_ARE_A_LAW,),
)
def memorise_and_speciate(
    measure: Measure,
    rng: np.random.Generator,
    *,
    noise: Annotated[
        float, Knob(0.01, 1, "noise that is removed", "σ", log=True, least=1e-6, most=1e3)
    ] = 0.1,
    closeness: Annotated[
        float,
        Knob(
            1e-6,
            0.1,
            "how near the denoised point is to a row",
            "η",
            log=True,
            least=1e-12,
            most=10,
        ),
    ] = 1e-3,
    margin: Annotated[
        float, Knob(0, 1, "share of the margin that is asked for; 0 is the nearest row", "m")
    ] = 1.0,
) -> Evidence:
    r"""Let $D(x)=\sum_jr_jx_j$, $r_j\propto e^{-|x-x_j|^2/2\sigma^2}$, be the denoiser of $n$ rows and
    $R=\max_j|x_j-x_1|$. If $|x-x_j|^2-|x-x_1|^2\ge2\sigma^2\ln\frac{(n-1)R}\eta$ for all $j\ne1$, then
    $$|D(x)-x_1|\le\eta,$$
    which holds in the ball around $x_1$ with the radius
    $\min_j\frac{|x_j-x_1|^2-2\sigma^2\ln((n-1)R/\eta)}{2|x_j-x_1|}$. The noised mixture
    $\frac12\mathcal N(\pm e^{-t}a,\cdot)$ of $\frac12\mathcal N(\pm a,s^2)$ is unimodal iff
    $t\ge\frac12\ln(1+a^2-s^2)$."""
    rows = measure.atoms[:MOST_ROWS]
    law = Mixture(rows, np.full(len(rows), 1 / len(rows)), 0.0)
    squares = law.squares(rows)
    radii = _radii(squares, noise, closeness, margin)
    kept = np.flatnonzero(radii > 0)
    claims: list[Claim] = [_claim_copies(law, rows, radii, kept, noise, closeness, rng)]
    share = len(kept) / len(rows)
    numbers: Numbers = {
        "rows with a region": Enclosure.exact(len(kept)),
        "median radius": float(np.median(radii)),
    }
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_regions(rows, radii), _draw_share(squares, closeness)),
        numbers=numbers,
        summary=f"at σ = {noise:g} {len(kept)} of {len(rows)} rows ({share:.0%}) have a ball in which every denoised "
        f"point is within {closeness:g} of them",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _radii(squares: np.ndarray, sigma: float, eta: float, margin: float = 1.0) -> np.ndarray:
    """The radius of the ball around every row, 0 where there is none; a little less than the formula, for rounding."""
    n = len(squares)
    distances = np.sqrt(squares)
    widest = distances.max(1, keepdims=True)
    least = (
        margin * 2 * sigma**2 * np.maximum(np.log(np.maximum((n - 1) * widest / eta, 1e-300)), 0.0)
    )
    with np.errstate(all="ignore"):
        radius = (squares - least) / (2 * distances)
    np.fill_diagonal(radius, np.inf)
    return np.maximum(np.nan_to_num(radius, nan=0.0, posinf=np.inf).min(1), 0.0) * (1 - 1e-9)


def _claim_copies(
    law: Mixture,
    rows: np.ndarray,
    radii: np.ndarray,
    kept: np.ndarray,
    sigma: float,
    eta: float,
    rng: np.random.Generator,
) -> Claim:
    """Points on the spheres of the regions, towards the nearest other row and in random directions, denoised."""
    what = f"|D(x) − x_k| ≤ η = {eta:g} on the balls around {len(kept)} rows, largest found"
    if not len(kept):
        # of no row: it says nothing
        return AtMost(what, Enclosure.exact(0), Enclosure.exact(eta), trivial=eta)
    chosen = rng.choice(kept, PROBES)
    squares = law.squares(rows[chosen])
    squares[np.arange(PROBES), chosen] = np.inf
    ways = np.where(
        rng.random((PROBES, 1)) < 0.5,
        rows[squares.argmin(1)] - rows[chosen],
        rng.normal(size=(PROBES, rows.shape[1])),
    )
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    x = rows[chosen] + radii[chosen, None] * ways
    found = np.linalg.norm(law.denoise(x, sigma) - rows[chosen], axis=1)
    worst = int(found.argmax())
    witness = (
        _check_again(rows, int(chosen[worst]), x[worst], sigma, eta) if found[worst] > eta else None
    )
    seen = Enclosure.at_least(float(found[worst]), samples=PROBES)
    return AtMost(what, seen, Enclosure.exact(eta), witness=witness)


def _check_again(rows: np.ndarray, k: int, x: np.ndarray, sigma: float, eta: float) -> Witness:
    """|D(x) − x_k| in balls, at the point as it is stored."""
    with ctx.workprec(BITS):
        at = [arb(v) for v in x.tolist()]
        points = [[arb(v) for v in row] for row in rows.tolist()]
        scale = 2 * arb(sigma) ** 2
        squares = [sum(((p - q) ** 2 for p, q in zip(point, at)), arb(0)) for point in points]
        shares = [((squares[k] - square) / scale).exp() for square in squares]
        total = sum(shares, arb(0))
        off = arb(0)
        for j, target in enumerate(points[k]):
            denoised = (
                sum((share * point[j] for share, point in zip(shares, points)), arb(0)) / total
            )
            off += (denoised - target) * (denoised - target)  # powers of balls around 0 are NaN
    where = {"x": tuple(x.tolist())}
    return Witness(where, Enclosure.ball(off.sqrt()), Enclosure.exact(eta), "the denoiser in balls")


def _examples() -> Examples:
    r"""$\frac12\mathcal N(\pm2,\frac14)$: the curvature at 0 of the noised density changes its sign at
    $\frac12\ln\frac{19}4$."""
    a, s = 2.0, 0.5
    with ctx.workprec(96):
        time = arb(19) / 4
        time = time.log() / 2
        shrink = (-2 * time).exp()
        variance = 1 + (arb(s) ** 2 - 1) * shrink
        gap = Enclosure.ball(arb(a) ** 2 * shrink - variance)
    claim = Identity(
        "a²e^(−2t) − s_t² at the time of speciation = 0", gap, Enclosure.exact(0), atol=1e-12
    )
    after = place_bumps(2, a, 1)
    law = mixture_of(Measure("two bumps", after, np.full(2, 0.5), s))
    bends = [_bend_at_zero(law, 0.5 * log(19 / 4) + shift) for shift in (-0.01, 0.01)]
    signs = AtMost(
        "before it 0 is a minimum of the density, after it a maximum",
        Enclosure.equal(-bends[0]),
        Enclosure.equal(-bends[1]),
    )
    return Examples(claims=(claim, signs), numbers={"time of speciation": Enclosure.ball(time)})


def _bend_at_zero(law: Mixture, t: float) -> float:
    r"""$(\log p_t)''(0)$ of a symmetric mixture on the line."""
    at = law.after(t)
    return float(at.scatter(np.zeros((1, 1)))[0]) / at.variance**2 - 1 / at.variance


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_regions(rows: np.ndarray, radii: np.ndarray) -> Regions | Points:
    """The balls around the rows, in the first two entries."""
    if rows.shape[1] == 1:
        return Points(
            "rows and the radii of their regions", Axis("x"), Axis("radius"), rows[:, 0], radii
        )
    turn = np.linspace(0, 2 * np.pi, 41)
    balls = []
    for k in np.flatnonzero(radii > 0)[:200]:
        circle = rows[k, :2, None] + radii[k] * np.stack([np.cos(turn), np.sin(turn)])
        balls.append(tuple((float(a), float(b)) for a, b in circle.T))
    here = [(float(a), float(b), -1.0, -1.0) for a, b in rows[:200, :2]]
    return Regions(
        "balls that lead back to their row",
        Axis("x₁"),
        Axis("x₂"),
        tuple(balls) or (((0.0, 0.0),),),
        [0.0] * max(1, len(balls)),
        classes=("proved: denoised to the row in its middle",),
        points=here,
    )


def _draw_share(squares: np.ndarray, eta: float) -> Curves:
    """The share of rows that have a region against the noise."""
    scale = sqrt(float(np.median(squares[squares > 0]))) if (squares > 0).any() else 1.0
    sigmas = scale * np.geomspace(0.003, 1, 30)
    shares = [float((_radii(squares, float(s), eta) > 0).mean()) for s in sigmas]
    return Curves(
        "rows with a region",
        Axis("noise σ", "log"),
        Axis("share"),
        (Series("share", sigmas, shares),),
    )
