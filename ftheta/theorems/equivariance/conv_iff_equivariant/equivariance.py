"""What is claimed of a linear map on a grid: that commuting with translations and being a convolution are one thing."""

from fractions import Fraction

import numpy as np

from ftheta.groups.convolution import convolve, dense, symbol, waves_error
from ftheta.groups.permutations import commutant_dimension, translations
from ftheta.groups.responses import FLOAT_ZERO, Layout, Responses, respond
from ftheta.logic import AtMost, Axis, Basis, Chart, Claim, Curves, Enclosure, Finding, Heatmap, Identity, Series

IMAGES = 8
LISTED = 1024  # pixels up to which the group is listed
SHOWN = 256  # rows and columns of the matrix that are drawn


def both_directions(seen: Responses, rng: np.random.Generator) -> tuple[Claim, Claim]:
    r"""For every linear $W$, with $\delta=\max_\tau\max|WT_\tau-T_\tau W|$ and $\varepsilon=\max|W-C_\psi|$:
    $\|Wx-\psi*x\|_\infty\le\delta\|x\|_1$, $\|WT_\tau x-T_\tau Wx\|_\infty\le2\varepsilon\|x\|_1$; here on images."""
    grid = seen.layout.grid
    S = seen.layout.S
    x = rng.integers(-3, 4, (IMAGES, *grid, S)).astype(seen.aligned.dtype)
    x[(slice(None), *[0] * (len(grid) + 1))] = 1  # none is zero
    shift = tuple(int(rng.integers(M)) for M in grid)
    axes = tuple(range(1, len(grid) + 1))
    y = seen.run(x)
    moved = seen.run(np.roll(x, shift, axes))
    size = np.abs(x).reshape(IMAGES, -1).sum(1)
    gaps = y - np.array([convolve(seen.kernel, image) for image in x]), moved - np.roll(y, shift, axes)
    misfit, commutator = (np.abs(gap).reshape(IMAGES, -1).max(1) for gap in gaps)
    atol = 0.0 if seen.exact else FLOAT_ZERO * seen.scale
    return (
        AtMost(
            f"‖Wx − ψ∗x‖_∞/‖x‖₁ on {IMAGES} images, at most the largest commutator",
            _largest(misfit, size, seen.exact),
            seen.known(seen.defect),
            atol=atol,
        ),
        AtMost(
            f"‖WT_τx − T_τWx‖_∞/‖x‖₁ on them at τ = {shift}, at most twice ‖W − ψ∗‖",
            _largest(commutator, size, seen.exact),
            seen.known(2 * seen.distance),
            atol=atol,
        ),
    )


def of_a_convolution(seen: Responses, rng: np.random.Generator) -> tuple[Claim, ...]:
    """What holds where the weights are shared: it commutes, and the waves are its eigenvectors."""
    what = "largest commutator max|WT_τ − T_τW|"
    zero = Enclosure.exact(0)
    atol = FLOAT_ZERO * seen.scale
    claims: list[Claim] = [Identity(what, seen.known(seen.defect), zero, witness=seen.witness(), atol=atol)]
    if seen.complete and seen.aligned.size <= 1 << 20:
        frequencies = np.stack(np.unravel_index(np.arange(seen.layout.pixels), seen.layout.grid), -1)
        if len(frequencies) > 64:
            frequencies = frequencies[rng.choice(len(frequencies), 16, replace=False)]
        error = seen.known(waves_error(seen.aligned, seen.kernel, frequencies))
        claims.append(Identity(f"W on {len(frequencies)} waves and ψ̂(ω) times them", error, zero, atol=atol))
    return tuple(claims)


def of_the_projection(seen: Responses) -> tuple[Claim, ...]:
    """The mean over translations is an orthogonal projection."""
    whole, parts = seen.energies()
    return (Identity("‖W‖² and ‖PW‖² + ‖W − PW‖², P the mean over translations", whole, parts),)


def of_the_commutant(seen: Responses) -> tuple[Claim, ...]:
    """All maps on this grid that commute have as many parameters as the kernel."""
    if seen.layout.pixels > LISTED:
        return ()
    group = translations(seen.layout.grid)
    blocks = seen.layout.S * seen.layout.T
    counted = Enclosure.exact(blocks * commutant_dimension(group, group))
    kernel = Enclosure.exact(seen.kernel.size)
    return (Identity("dimension of the commutant, by characters, and |ψ|", counted, kernel),)


def measurements(seen: Responses) -> dict[str, Enclosure | float]:
    N = seen.layout.pixels
    S = seen.layout.S
    T = seen.layout.T
    numbers: dict[str, Enclosure | float] = {
        "free parameters": Enclosure.exact(N * S * T),
        "dense parameters": Enclosure.exact(N * N * S * T),
        "largest commutator": seen.known(seen.defect),
        "distance to the convolution": seen.known(seen.distance),
    }
    if N <= LISTED:
        group = translations(seen.layout.grid)
        numbers["commutant dimension"] = Enclosure.exact(commutant_dimension(group, group))
    values = symbol(seen.kernel)[..., 0, 0].ravel()
    if S == T == 1 and N <= 16 and np.abs(np.imag(values)).max() <= 1e-12 * (np.abs(values).max() or 1):
        numbers |= {f"eigenvalue {k}": float(value) for k, value in enumerate(np.real(values))}
    return numbers


def boundary(seen: Responses | None) -> Finding:
    """Whether what leaves the grid on one side enters on the other, where that can be told from the responses."""
    if seen is None:
        return Finding.proved("there is no grid, hence no border", "an empty statement")
    inner = seen.interior_defect
    if inner is None and not seen.is_zero(seen.defect):
        return Finding.proved(
            "no two pixels are away from the border: nothing is claimed that depends on it", "an empty statement"
        )
    away = f", away from the border by {inner:.3g}" if inner is not None else ""
    note = f"responses to impulses differ by {seen.defect:.3g}{away}"
    if not seen.shares_weights:
        return Finding.proved(f"{note}: no weights are shared, so that no border matters", "no claim reads the border")
    if seen.complete or not seen.is_zero(seen.defect):
        basis = Basis.EXACT if seen.exact else Basis.FLOAT
        why = "the responses to all impulses are the whole linear map"
        return Finding.decide(seen.is_zero(seen.defect), note, why, seen.known(seen.defect), basis=basis)
    return Finding.sampled(f"{note}, at {len(seen.positions)} of {seen.layout.pixels} pixels")


def first_layer_defect(weight: np.ndarray) -> float | None:
    """How far a weight on flattened square images is from commuting with translations, relative to its largest entry.

    None where inputs are no square or outputs no multiple of it; both orders of the output's channels are tried.
    """
    (rows, pixels) = weight.shape
    M = int(np.sqrt(weight.shape[1]) + 0.5)
    if pixels != M * M or rows % pixels or not weight.any():
        return None
    last = weight.reshape(M, M, -1, M, M, 1)
    first = weight.reshape(-1, M, M, M, M, 1)
    views = last, np.moveaxis(first, 0, 2)
    seen = [respond(dense, view, Layout((M, M), 1, rows // pixels), np.random.default_rng(0)) for view in views]
    return min(float(r.defect) for r in seen) / float(np.abs(weight).max())


def pictures(seen: Responses) -> tuple[Chart, ...]:
    """The matrix, the kernels, and how far the map is from commuting with each shift along the first axis."""
    tiles = seen.kernel.reshape(seen.layout.grid[0], -1, seen.layout.S, seen.layout.T)
    tiled = np.concatenate([np.concatenate(list(tiles[:, :, s].transpose(2, 0, 1)), 1) for s in range(seen.layout.S)])
    kernels = _heatmap("kernels ψ_st, row s, column t", tiled[:SHOWN, :SHOWN], "pixel, channel t", "pixel, channel s")
    if not seen.complete:
        return (kernels,)
    shifts = tuple(map(float, range(seen.layout.grid[0])))
    defects = tuple(map(float, seen.commutators()))
    series = (Series("max|WT_τ − T_τW|", shifts, defects),)
    return (
        _heatmap("matrix of the map", _matrix(seen)[:SHOWN, :SHOWN], "input s, pixel", "output t, pixel"),
        kernels,
        Curves("commutator against shift", Axis("shift τ along the first axis"), Axis("largest entry"), series),
    )


def _matrix(seen: Responses) -> np.ndarray:
    """Rows (t, p) and columns (s, q): a block of pixels for each pair of channels."""
    axes = tuple(range(1, len(seen.layout.grid) + 1))
    columns = [np.roll(block, tuple(q), axes) for q, block in zip(seen.positions, seen.aligned)]  # each s, p, t
    W = np.array(columns).reshape(len(columns), seen.layout.S, -1, seen.layout.T)
    return W.transpose(3, 2, 1, 0).reshape(seen.layout.T * W.shape[2], -1)


def _heatmap(title: str, values: np.ndarray, x: str, y: str) -> Heatmap:
    rows = tuple(tuple(map(float, row)) for row in values[::-1])
    return Heatmap(title, Axis(x), Axis(y), rows, (0.0, float(values.shape[1]), 0.0, float(values.shape[0])))


def _largest(above: np.ndarray, below: np.ndarray, exact: bool) -> Enclosure:
    if not exact:
        return Enclosure.equal(float(np.nan_to_num((above / below).max(), nan=np.inf)))
    return Enclosure.exact(max(Fraction(int(a), int(b)) for a, b in zip(above, below)))
