"""Penalties of steepness shown: traces by probes, spectral norms by powers, noise on the input, depth with skips."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify import product_bound, spectral_norm
from ftheta.estimates import fit_rate, mean
from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Rate, Series, Witness
from ftheta.networks.description import Description, random_mlp

from .ablations import Ablation
from .averages import fractions, noise_loss_by_signs
from .penalties import (
    Function,
    cubature,
    jacobian_at,
    noise_adds,
    noise_predicted,
    power_iteration,
    probe_variance,
    spectrally_normalised,
    squared_pullback,
)

ZERO = Enclosure.exact(0)
ROWS = 8  # at which Jacobians are formed
LISTED = 10  # outputs up to which all signs are listed
SPREAD = 1e-4  # of the noise whose effect is compared with the expansion
ROUNDING = 1e-14  # of a network's output, relative
MOVES = 2048  # rows times inputs, of which second derivatives are taken
WORK = 2_000_000_000  # inputs times parameters, likewise
LARGEST = 512  # sides of matrices that are decomposed


def in_rationals() -> tuple[tuple[Claim, ...], dict[str, Enclosure]]:
    r"""A linear map and all its signs; the row $(1,2)$ of the catalogue; $x^2$ at 1, where curvature counts."""
    W = fractions(np.array([[1, 2], [0, -1], [3, 1]]))
    norm = (W**2).sum()
    probed = sum(((np.array(v) @ W) ** 2).sum() for v in product((1, -1), repeat=3)) / Fraction(8)
    X, w, y = (fractions(np.array(v)) for v in ([[1, 2]], [1, 1], [0]))
    s = Fraction(1, 10)
    noisy = noise_loss_by_signs(X, y, w, s)
    adds = 6  # E(1 + sε)⁴ = 1 + 6s² + 3s⁴ for x² at x = 1, y = 0
    slope, bend = 2, 2
    claims = (
        Identity("mean of ‖Wᵀv‖² over all 8 signs, less ‖W‖_F²", Enclosure.exact(probed - norm), ZERO),
        Identity("row (1, 2), noise 0.1: E(y − xw)² − 9 − s²‖w‖²", Enclosure.exact(noisy - 9 - s**2 * 2), ZERO),
        Identity(
            "x² at 1, y = 0: s² of E f(x + sε)² less f′² + (f − y)f″", Enclosure.exact(adds - slope**2 - bend), ZERO
        ),
    )
    numbers = {"penalty of the linear map": Enclosure.exact(norm), "noise loss of the example": Enclosure.exact(noisy)}
    return claims, numbers | {
        "x² at 1: what s² multiplies": Enclosure.exact(adds),
        "its slope squared": Enclosure.exact(slope**2),
    }


# ---- Jacobians ------------------------------------------------------------------------------------------------------


def probes_of(kind: str, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    match kind:
        case "signs":
            return rng.choice([-1.0, 1.0], size)
        case "Gaussian":
            return rng.normal(size=size)
        case _:
            return rng.uniform(-1, 1, size)


def trace_claims(
    f: Function, X: np.ndarray, kind: str, rng: np.random.Generator, draws: int
) -> tuple[list[Claim], Any]:
    """‖J‖² by Jacobians, by all signs, and by random probes, at a few rows."""
    x = jnp.asarray(X[:ROWS])
    J = np.asarray(call_compiled(jax.vmap(lambda row: jacobian_at(f, row)), x))
    exact, outputs = (J**2).sum((1, 2)), J.shape[1]
    size = max(float(exact.mean()), 1e-300)
    by_probes = lambda v: np.asarray(
        call_compiled(jax.vmap(lambda row, some: jax.lax.map(lambda one: squared_pullback(f, row, one), some)), x, v)
    )
    claims: list[Claim] = []
    if outputs <= LISTED and kind == "signs":
        every = np.array(list(product((1.0, -1.0), repeat=outputs)))[: 2 ** (outputs - 1)]  # v and −v give the same
        listed = by_probes(np.broadcast_to(every, (len(x), *every.shape))).mean(1)
        off = Enclosure.equal(float(np.abs(listed - exact).max()) / size)
        claims.append(Identity("mean of ‖Jᵀv‖² over all signs, less ‖J‖_F², relative", off, ZERO, atol=1e-9))
    few = min(draws, max(40, 2_000_000 // max(J.size, 1)))
    seen = by_probes(probes_of(kind, (len(x), few, outputs), rng))
    variance = sum(probe_variance(each, kind) for each in J) / len(x) ** 2  # the probes of different rows differ
    by_draws = mean(seen.mean(0), variance=variance)
    claims.append(
        Identity(f"‖J‖_F² at {len(x)} rows, and probes: {kind}", Enclosure.equal(float(exact.mean())), by_draws)
    )
    if outputs > 1:
        spread = mean((seen[0] - exact[0]) ** 2)
        claims.append(
            Identity("variance of ‖Jᵀv‖² at the first row", Enclosure.equal(probe_variance(J[0], kind)), spread)
        )
    return claims, (exact, seen)


def probe_chart(exact: np.ndarray, seen: np.ndarray) -> Curves:
    """The running mean of probes beside the exact trace."""
    per_draw = seen.mean(0)
    k = np.arange(1, len(per_draw) + 1)
    running = np.cumsum(per_draw) / k
    error = per_draw.std() / np.sqrt(k)
    return Curves(
        "‖J‖² by random probes",
        Axis("probes", "log"),
        Axis("mean ‖J‖² of the rows"),
        (
            Series("exact", [1, len(k)], [float(exact.mean())] * 2, "reference"),
            Series("running mean", k, running, "measured", lo=running - 2 * error, hi=running + 2 * error),
        ),
    )


# ---- spectral norms -------------------------------------------------------------------------------------------------


def power_claims(
    matrices: Sequence[np.ndarray], rng: np.random.Generator, steps: int
) -> tuple[list[Claim], Curves | None]:
    """Power iteration from below against certified norms, and its error against the bound."""
    used = [W for W in matrices if W.any() and max(W.shape) <= LARGEST][:6]
    if not used:
        return [], None
    runs = [power_iteration(W, steps, rng) for W in used]
    pairs = [run.errors(W) for run, W in zip(runs, used)]
    above = max(float(run.values[-1] / spectral_norm(W).hi) for run, W in zip(runs, used))
    worst = max(float((error - bound).max()) for error, bound in pairs)
    falls = max(float(np.max(run.values[:-1] - run.values[1:]) / run.values[-1]) for run in runs)
    told = f"{len(used)} matrices, {steps} steps"
    claims: list[Claim] = [
        AtMost(f"largest ‖Wv_k‖/σ_max, {told}", Enclosure.equal(above), Enclosure.exact(1)),
        AtMost("(σ² − θ_k)/σ² − bound, largest over k and matrices", Enclosure.equal(worst), ZERO, atol=1e-9),
        AtMost("largest fall of ‖Wv_k‖ from one step to the next, relative", Enclosure.equal(falls), ZERO, atol=1e-9),
    ]
    (error, bound), k = pairs[0], np.arange(steps + 1)
    show = lambda v: (k[v > 1e-15], v[v > 1e-15])
    series = (Series("error", *show(error)), Series("bound", *show(bound), "bound"))
    return claims, Curves("power iteration on the first matrix", Axis("step k"), Axis("1 − θ_k/σ²", "log"), series)


def normalised_claims(net: Description, X: np.ndarray) -> list[Claim]:
    """The network after spectral normalisation: norms of one, and no steeper than its activations."""
    calm = spectrally_normalised(net)
    norms = [spectral_norm(layer.weight) for layer in calm.layers if layer.weight.any()]
    if not norms:
        return []
    slopes = np.asarray(
        call_compiled(jax.vmap(lambda r: jacobian_at(lambda v: calm.apply(calm.params, v), r)), jnp.asarray(X[:ROWS]))
    )
    steepest = float(np.linalg.norm(slopes, 2, axis=(1, 2)).max())
    return [
        Identity("σ_max of the first normalised layer", Enclosure.equal(norms[0].middle), Enclosure.exact(1)),
        AtMost(
            "steepest Jacobian of the normalised network",
            Enclosure.at_least(steepest, samples=len(slopes)),
            product_bound(calm),
        ),
    ]


# ---- depth with skips -----------------------------------------------------------------------------------------------


def residual_claims(rng: np.random.Generator, depth: int = 24, width: int = 8) -> tuple[list[Claim], Curves]:
    """The least singular value of a product of layers, and of layers with skips."""
    plain = skipped = np.eye(width)
    floor, least, kept, bounds = 1.0, [], [], []
    for _ in range(depth):
        G = rng.normal(size=(width, width))
        M = G / (4 * spectral_norm(G).hi)
        plain, skipped = 4 * M @ plain, (np.eye(width) + M) @ skipped
        floor *= 1 - spectral_norm(M).hi
        values = [float(np.linalg.svd(P, compute_uv=False)[-1]) for P in (plain, skipped)]
        least, kept, bounds = [*least, values[0]], [*kept, values[1]], [*bounds, floor]
    claims: list[Claim] = [
        AtMost("∏(1 − ‖M_ℓ‖) ≤ σ_min(∏(I + M_ℓ))", Enclosure.equal(floor), Enclosure.equal(kept[-1]))
    ]
    ell, seen = np.arange(1, depth + 1), np.array(least) > 1e-15  # below it all is rounding
    series = (
        Series("with skips", ell, kept),
        Series("at least", ell, bounds, "reference"),
        Series("without, ‖W‖ = 1", ell[seen], np.array(least)[seen], "other"),
    )
    return claims, Curves(
        "the least a layer stack can shrink", Axis("depth"), Axis("smallest singular value", "log"), series
    )


# ---- noise on the input ---------------------------------------------------------------------------------------------


def smooth_rows(f: Function, X: np.ndarray) -> np.ndarray:
    """Rows around which f bends as its second derivative says, within the reach of the noise: no kink is near."""
    X = X[: max(1, min(ROWS, MOVES // int(np.prod(X.shape[1:]))))]
    points, _ = cubature(int(np.prod(X.shape[1:])))
    moves = jnp.asarray(reach(X) * points).reshape(-1, *X.shape[1:])

    def off(row: Any) -> Any:
        value = f(row)

        def along(move: Any) -> tuple[Any, Any]:
            bend = jax.jvp(lambda v: jax.jvp(f, (v,), (move,))[1], (row,), (move,))[1]
            return jnp.max(jnp.abs(f(row + move) + f(row - move) - 2 * value - bend)), jnp.max(jnp.abs(bend))

        gaps, bends = jax.lax.map(along, moves)
        return jnp.max(gaps), jnp.max(bends), jnp.max(jnp.abs(value))

    gap, bend, size = (np.asarray(v) for v in call_compiled(lambda x: jax.lax.map(off, x), jnp.asarray(X)))
    return np.flatnonzero(np.isfinite(gap) & (gap <= 1e-5 * bend + ROUNDING * np.maximum(size, 1e-3)))


def reach(X: np.ndarray) -> float:
    """The spread of the noise, such that the points of the cubature are as near in any dimension."""
    return SPREAD / max(1.0, float(np.sqrt(np.prod(X.shape[1:]))))


def expansion_claims(f: Function, X: np.ndarray, Y: np.ndarray) -> list[Claim]:
    """What a little noise adds to the squared loss, by cubature and by the expansion, at rows without kinks nearby."""
    rows = smooth_rows(f, X)
    chosen = rows if len(rows) else np.arange(min(ROWS, len(X)))  # none: the run was forced
    spread = reach(X)

    def at(row: Any) -> Any:
        x, y = row
        return noise_adds(f, x, y, spread), *noise_predicted(f, x, y), jnp.max(jnp.abs(f(x))) + jnp.max(jnp.abs(y))

    rows = (jnp.asarray(X[chosen]), jnp.asarray(Y[chosen]))
    added, slopes, bends, sizes = (np.asarray(v) for v in call_compiled(lambda r: jax.lax.map(at, r), rows))
    size = max(float(np.abs(slopes).max() + np.abs(bends).max()), 1e-12)
    rounding = 10 * ROUNDING * float(sizes.max()) ** 2 / spread**2  # of a difference divided by s²
    gaps = np.nan_to_num(np.abs(added - slopes - bends), nan=np.inf)
    k, atol = int(gaps.argmax()), 1e-4 * size + rounding
    witness = _expanded_again(f, X[chosen[k]], Y[chosen[k]], spread) if gaps[k] > atol else None
    what = f"(E‖f(x + sε) − y‖² − ‖f − y‖²)/s² less ‖J‖² + ⟨f − y, Δf⟩, {len(chosen)} rows"
    return [Identity(what, Enclosure.equal(float(gaps[k])), ZERO, witness, atol=atol)]


def _expanded_again(f: Function, x: np.ndarray, y: np.ndarray, spread: float) -> Witness:
    """One row in intervals."""

    def gap(x: Any, y: Any) -> Any:
        slope, bend = noise_predicted(f, x, y)
        return jnp.abs(noise_adds(f, x, y, spread) - slope - bend)

    found = enclose_number(gap, np.asarray(x, np.float64), np.asarray(y, np.float64))
    return Witness({"x": tuple(np.ravel(x)[:8].tolist())}, found, ZERO, "one row in intervals rounded outward")


def order_claims() -> tuple[list[Claim], Curves]:
    """A small tanh network: the remainder of the expansion is of order s⁴, without the curvature of order s²."""
    net = random_mlp(np.random.default_rng(0), (2, 6, 1), "tanh", bias=0.3)
    f, s = (lambda v: net.apply(net.params, v)), np.geomspace(0.01, 0.1, 8)

    def of(x: Any) -> Any:
        y = f(x) + 3.0
        return jax.vmap(lambda v: noise_adds(f, x, y, v))(jnp.asarray(s)), *noise_predicted(f, x, y)

    added, slope, bend = (np.asarray(v) for v in call_compiled(of, jnp.array([0.3, -0.2])))
    added = added * s**2
    whole, partial = np.abs(added - s**2 * (slope + bend)), np.abs(added - s**2 * slope)
    rate = fit_rate(1 / s, whole)
    claims: list[Claim] = [
        Rate("remainder of the expansion against 1/s", 4.0, rate, tuple(1 / s), tuple(whole), slack=0.3)
    ]
    title, axes = "what is left of the effect of noise", (Axis("spread s", "log"), Axis("remainder", "log"))
    series = (
        Series("after s²(‖J‖² + ⟨f − y, Δf⟩)", s, whole),
        Series("after s²‖J‖² alone", s, partial, "other"),
        Series("order s⁴", s, whole[-1] * (s / s[-1]) ** 4, "reference"),
    )
    return claims, Curves(title, *axes, series)


# ---- evidence -------------------------------------------------------------------------------------------------------


def steepness_evidence(
    f: Function,
    X: np.ndarray,
    Y: np.ndarray,
    matrices: Sequence[np.ndarray],
    layers: Description | None,
    trained: Ablation | None,
    rng: np.random.Generator,
    *,
    probe: str,
    draws: int,
    powers: int,
) -> Evidence:
    """A network at its rows `X` with targets `Y`, its `matrices`, and its list of layers and its ablation if known."""
    exact, numbers = in_rationals()
    traces, seen = trace_claims(f, X, probe, rng, draws)
    spectral, convergence = power_claims(matrices, rng, powers)
    calm = [] if layers is None else normalised_claims(layers, X)
    expanded = expansion_claims(f, X, Y)
    (skips, depth), (order, remainder) = residual_claims(rng), order_claims()
    claims = (*exact, *traces, *expanded, *order, *spectral, *calm, *skips)
    charts = [remainder, probe_chart(*seen), depth, *([] if convergence is None else [convergence])]
    numbers |= {"mean ‖J‖²": Enclosure.equal(float(seen[0].mean()))}
    told = f"mean ‖J‖² {seen[0].mean():.4g} at {len(seen[0])} rows"
    if trained is None:
        return Evidence(claims, tuple(charts), numbers, summary=told)
    best = trained.names[int(trained.test.mean(1).argmin())]
    gaps = (trained.test - trained.train).mean(1)
    told += f"; test loss {trained.test[0].mean():.3g} without penalty (gap {gaps[0]:.3g}), least with “{best}”: "
    told += f"{trained.test.mean(1).min():.3g}"
    return Evidence(claims, (trained.chart(), *charts), numbers, (trained.table(),), summary=told)
