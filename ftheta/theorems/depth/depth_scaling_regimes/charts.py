"""Outputs by depth, norms by the exponent, and paths beside those of the limit."""

import numpy as np

from ftheta.flows.regimes import Regime
from ftheta.logic import Axis, Curves, Histogram, Series, draw_curves

from .ito import BiasedEnds
from .random_blocks import NormDraws, RandomBlocks

EXPONENTS = {0.25: "β = ¼", 0.5: "β = ½", 1.0: "β = 1"}


def draw_depth(regime: Regime) -> Curves:
    k = np.arange(regime.blocks + 1)
    lo, middle, hi = np.quantile(regime.flipped_norms, (0.1, 0.5, 0.9), axis=0)
    signs = Series("blocks with random signs", k, middle, "reference", "line", lo, hi)
    axes = (Axis("block k"), Axis("‖x_k‖²/‖x₀‖²", "log"))
    return Curves("norms against depth", *axes, (Series("this network", k, regime.norms), signs))


def draw_sums(regime: Regime) -> Curves:
    m = regime.lags.astype(float)
    return draw_curves(
        "how blocks add up",
        m,
        x="neighbours m",
        y="size of their sum, squared",
        log="xy",
        measured={"residuals": regime.field_sums / regime.field_sums[0]},
        other={"weights": regime.weight_sums / max(regime.weight_sums[0], 1e-300)},
        reference={"independent: m": m},
        bound={"smooth: m²": m**2},
    )


def draw_regimes(
    blocks: RandomBlocks, depth: int, rng: np.random.Generator, draws: int = 200
) -> Curves:
    """Norms against depth in the three regimes: median and middle 80 % of the law, and the exact second moment."""
    k = np.arange(depth + 1)
    curves = []
    for beta, name in EXPONENTS.items():
        alpha = depth**-beta
        path = np.concatenate(
            [np.ones((draws, 1)), np.cumprod(blocks.quotients(alpha, (draws, depth), rng), 1)], 1
        )
        lo, middle, hi = np.quantile(path, (0.1, 0.5, 0.9), axis=0)
        curves.append(Series(f"median, {name}", k, middle, "measured", "line", lo, hi))
        curves.append(Series(f"mean, {name}", k, (1 + alpha**2) ** k, "bound"))
    return Curves(
        f"norms against depth, L = {depth}",
        Axis("layer k"),
        Axis("‖h_k‖²/‖h₀‖²", "log"),
        tuple(curves),
    )


def draw_norm_laws(norms: NormDraws) -> Histogram:
    logs = np.log(norms.law)
    low, high = np.quantile(logs, (0.001, 0.999))
    edges = np.linspace(low, high, 41)
    heights = np.histogram(logs, edges, density=True)[0]
    curves: tuple[Series, ...] = ()
    if not norms.blocks.relu:
        centre, variance = norms.blocks.log_growth(norms.depth)
        x = np.linspace(edges[0], edges[-1], 121)
        curves = (Series("normal law", x, _normal_density(x, centre, variance), "reference"),)
    title = f"the spread of the norm after {norms.depth} blocks"
    return Histogram(
        title, Axis("log of the squared norm"), Axis("density"), edges, heights, curves
    )


def _normal_density(x: np.ndarray, centre: float, variance: float = 1.0) -> np.ndarray:
    return np.exp(-((x - centre) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


def draw_paths(
    dimension: int, depth: int, smooth: np.ndarray, rng: np.random.Generator, paths: int = 3
) -> Curves:
    """One coordinate against depth: independent weights with step L^(-1/2), and smooth ones with step 1/L."""
    t = np.linspace(0, 1, depth + 1)
    blocks = RandomBlocks(0.5, dimension)
    curves = []
    for i in range(paths):
        path = blocks.path(blocks.weights(depth, rng), smooth[0], depth**-0.5)
        curves.append(Series(f"independent weights {i + 1}", t, path[:, 0], "measured"))
    curves.append(Series("smooth weights", np.linspace(0, 1, len(smooth)), smooth[:, 0], "bound"))
    return Curves(
        "a diffusion and a flow", Axis("t = k/L"), Axis("first coordinate of h"), tuple(curves)
    )


def draw_ends(ends: BiasedEnds) -> Histogram:
    edges = np.linspace(-3, 4, 43)
    x = np.linspace(-3, 4, 141)
    limits = (
        Series("limit, with the drift ½σ″(0)", x, _normal_density(x, 0.5), "bound"),
        Series("without it", x, _normal_density(x, 0.0), "reference"),
    )
    heights = np.histogram(ends.curved, edges, density=True)[0]
    title = f"Itô's correction: h after {ends.depth} blocks h + σ(b/√L), σ(z) = e^z − 1"
    return Histogram(title, Axis("h at the end, from 0"), Axis("density"), edges, heights, limits)
