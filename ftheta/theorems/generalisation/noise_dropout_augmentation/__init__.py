"""Noise, dropout and augmentation: what they minimise on average."""

from fractions import Fraction
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from ftheta.estimates import mean
from ftheta.groups import translations
from ftheta.kernels.features import targets_of
from ftheta.logic import (
    Basis,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Table,
    hypothesis,
    theorem,
)
from ftheta.risks.averages import (
    augmented_ridge,
    draw_dropout_losses,
    draw_noise_losses,
    dropout_fit,
    dropout_loss,
    dropout_loss_by_masks,
    fractions,
    invariant_part,
    moved_rows,
    noise_fit,
    noise_loss,
    noise_loss_by_signs,
    noise_variance,
    orbit_means,
    ridge_on_orbits,
)
from ftheta.risks.linear import exact_least_squares
from ftheta.risks.outputs import outputs_of
from ftheta.subjects import Dataset, Network
from ftheta.subjects.readouts import ends_in_tanh, linear_model, readout_of
from ftheta.theorems.readouts import claim_affine_readout
from ftheta.training.study import first_rows

from .charts import draw_ellipses, draw_losses
from .generated import show_generated_rows

ZERO = Enclosure.exact(0)
EXACT_ROWS = 6  # rows and columns whose masks are all summed up, in fractions
EXACT_COLUMNS = 6
ORBIT = 256  # elements of a group, at most
NUMBERS = 20_000_000  # drawn for one mean, at most
OFTEN = 1000  # entries dropped, and kept, before a mean over masks is trusted


def draw_rows(
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(4, 200, "number of rows", "n", log=True, least=2, most=500)] = 30,
    d: Annotated[int, Knob(2, 12, "entries per row", "d", most=64)] = 4,
    stretch: Annotated[
        float, Knob(1, 10, "size of the first column, the others are 1", log=True, most=100)
    ] = 3.0,
) -> Dataset:
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    X[:, 0] *= stretch
    return Dataset(
        f"{n} rows of {d} correlated entries", X, X.sum(1) / d + 0.5 * rng.normal(size=n)
    )


@hypothesis(
    "one target per row, or labels that fit the outputs",
    remedy="give data with targets",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.decide(
            outputs_of(subject) is not None,
            "those of the network's data",
            "counted",
            basis=Basis.EXACT,
        )
    got = 0 if subject.y is None else subject.y[0].size
    return Finding.decide(
        got == 1, f"{len(subject)} rows, targets per row: {got}", "counted", basis=Basis.EXACT
    )


@hypothesis(
    r"the noise has mean 0",
    remedy="take offset 0, or subtract the mean of the noise",
    name="noise of mean 0",
)
def centred_noise(subject: Dataset | Network, *, offset: float) -> Finding:
    return Finding.decide(
        offset == 0, f"mean {offset:g}", "closed form of the noise", basis=Basis.EXACT
    )


@theorem(
    title="Input noise, dropout and augmentation as penalties",
    gist="On average, noise on the inputs of a linear model is ridge regression, dropout is a ridge in units of each "
    "column, and data augmentation makes the fit invariant: random disturbances are penalties in disguise.",
    see_also=(
        "explicit-regularisation",
        "architecture-and-stability-penalties",
        "group-equivariant-linear-maps",
    ),
    sources=("murari-slides", "bishop1995", "wager2013", "srivastava2014", "chen2020"),
    assumes=(targets_known, linear_model, centred_noise),
    on=draw_rows,
    breaks_on=ends_in_tanh,
    presets={
        "textbook": {},
        "half dropped": {"keep": 0.5, "d": 8},
        "loud noise, columns alike": {"spread": 1.0, "stretch": 1.0},
        "at the edge": {"keep": 1.0, "spread": 0.0},
        "broken on purpose": {"offset": 0.5},
    },
)
def noise_dropout_augmentation(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    spread: Annotated[
        float, Knob(0, 2, "spread of the noise (of a network's features, relative)", "s", most=100)
    ] = 0.5,
    keep: Annotated[
        float, Knob(0.1, 1, "share of entries that dropout keeps", "q", least=0.01)
    ] = 0.7,
    offset: Annotated[float, Knob(0, 1, "mean of the noise", "m", least=-100, most=100)] = 0.0,
    draws: Annotated[
        int, Knob(200, 5000, "draws of noise and masks", "T", log=True, least=20, most=50_000)
    ] = 1000,
) -> Evidence:
    r"""For a linear model and the squared loss, on average over noise $\mathcal N(0,s^2I)$ on the inputs, or over masks
    that keep an entry with probability $q$ and divide it by $q$, $\mathbb E\|y-\tilde Xw\|^2$ is
    $$\|y-Xw\|^2+ns^2\|w\|^2,\qquad\|y-Xw\|^2+\frac{1-q}q\sum_j\|X_j\|^2w_j^2.$$ The ridge fit to all rows moved
    by a finite group is invariant, and is the fit to the means of their orbits. Generated rows, $c$ for each of $n$
    real ones, make the excess risk $\frac{p\sigma^2}n\frac1{1+c}+(\frac c{1+c})^2\Delta$, with $\Delta$ that of the
    generator: a gain exactly if $\Delta<\frac{p\sigma^2}n\frac{1+c}c$, never if it was fitted to the same rows."""
    disturbed = Disturbances(spread, keep, offset, draws)
    if isinstance(subject, Dataset):
        return _disturb_rows(subject, rng, disturbed)
    return _disturb_features(subject, rng, disturbed)


class Disturbances(NamedTuple):
    """Spread and mean of the noise, the share of entries that dropout keeps, and how often both are drawn."""

    spread: float
    keep: float
    offset: float
    draws: int


def _disturb_rows(subject: Dataset, rng: np.random.Generator, how: Disturbances) -> Evidence:
    """The linear model fitted to noisy rows of data."""
    spread, keep, offset, draws = how
    X, targets = first_rows(subject, flat=True)
    y = targets[:, 0]
    grid = subject.x.shape[1:] if subject.x.ndim == 3 else (X.shape[1],)
    T = _limit_draws(X, draws)
    w = noise_fit(X, y, spread**2)
    groups, seen = _claim_orbits(X, y, grid, 1e-3 * float((X**2).sum()) / X.shape[1])
    claims = [
        *_claim_exact_losses(X, y, w, spread, keep, offset),
        *_claim_mean_losses(X, y, w, spread, keep, rng, T),
        *groups,
    ]
    ellipses = (draw_ellipses(X, y, spread**2, keep),) if X.shape[1] > 1 else ()
    told = f"{len(y)} rows, {X.shape[1]} columns: noise of spread {spread:g} is the ridge λ = "
    told += f"{len(y) * spread**2:.4g}; keeping {keep:g} of the entries is the ridge {(1 - keep) / keep:.3g}‖X_j‖² "
    return Evidence(
        claims=tuple(claims),
        charts=(*ellipses, *draw_losses(X, y, w, rng, T)),
        numbers=seen,
        tables=(_tabulate_fits(X, y, w, keep),),
        summary=told + "on column j",
        examples=partial(_examples, rng.spawn(1)[0]),
    )


def _disturb_features(subject: Network, rng: np.random.Generator, how: Disturbances) -> Evidence:
    """The last layer of a network, on its own features."""
    spread, keep, offset, draws = how
    out = outputs_of(subject)
    found = readout_of(subject)
    if found is None or out is None:
        return Evidence(())
    X = found.phi
    W = found.weight.T
    Y = targets_of(out.y, out.classes, found.outputs.shape[1])[: len(X)] - found.bias
    T = _limit_draws(X, draws)
    s = spread * max(float(X.std()), 1e-300)
    claims = [
        claim_affine_readout(found),
        *_claim_exact_losses(X, Y, W, s, keep, offset),
        *_claim_mean_losses(X, Y, W, s, keep, rng, T),
    ]
    per_row = float(((Y - X @ W) ** 2).sum()) / len(X)
    costs = (X**2).sum(0) * (W**2).sum(1) / len(X)
    added = (1 - keep) / keep * float(costs.sum())
    return Evidence(
        claims=tuple(claims),
        charts=draw_losses(X, Y, W, rng, T),
        numbers={
            "squared loss per row": Enclosure.equal(per_row),
            "dropout adds": Enclosure.equal(added),
        },
        tables=(_tabulate_costs(costs),),
        summary=f"squared loss {per_row:.4g} per row; keeping {keep:g} of {X.shape[1]} features adds {added:.4g}",
        examples=partial(_examples, rng.spawn(1)[0]),
    )


# ---- claims about the subject ---------------------------------------------------------------------------------------


def _claim_exact_losses(
    X: np.ndarray, Y: np.ndarray, W: np.ndarray, spread: float, keep: float, offset: float
) -> list[Claim]:
    """On the first rows and columns, in fractions: every sign and every mask."""
    x = fractions(X[:EXACT_ROWS, :EXACT_COLUMNS])
    y = fractions(Y[:EXACT_ROWS])
    w = fractions(W[:EXACT_COLUMNS])
    s = Fraction(spread)
    q = Fraction(keep)
    m = Fraction(offset)
    size = f"{x.shape[0]} rows × {x.shape[1]} entries"
    signs = noise_loss_by_signs(x, y, w, s, m)
    masks = dropout_loss_by_masks(x, y, w, q)
    scale = Fraction(max(float((y**2).sum()), 1e-300))
    off_noise = Enclosure.exact(abs(signs - noise_loss(x, y, w, s**2)) / scale)
    off_dropout = Enclosure.exact(abs(masks - dropout_loss(x, y, w, q)) / scale)
    return [
        Identity(f"noise m ± s on {size}: Σ over signs − formula, relative", off_noise, ZERO),
        Identity(f"dropout on {size}: Σ over masks − formula, relative", off_dropout, ZERO),
    ]


def _claim_mean_losses(
    X: np.ndarray,
    Y: np.ndarray,
    W: np.ndarray,
    spread: float,
    keep: float,
    rng: np.random.Generator,
    draws: int,
) -> list[Claim]:
    """Means of draws; of dropout where both kinds of entries are met often enough for a mean to be trusted."""
    noisy = mean(
        draw_noise_losses(X, Y, W, spread, rng, draws), variance=noise_variance(X, Y, W, spread)
    )
    formula = Enclosure.equal(noise_loss(X, Y, W, spread**2))
    claims: list[Claim] = [
        Identity("Gaussian noise: ‖Y − XW‖² + ns²‖W‖², and the mean of draws", formula, noisy)
    ]
    if keep == 1 or X.size * draws * min(keep, 1 - keep) >= OFTEN:
        dropped = mean(draw_dropout_losses(X, Y, W, keep, rng, draws))
        formula = Enclosure.equal(dropout_loss(X, Y, W, keep))
        claims.append(
            Identity("dropout: ‖Y − XW‖² + penalty, and the mean of draws", formula, dropped)
        )
    return claims


def _limit_draws(X: np.ndarray, draws: int) -> int:
    """Of so many draws, those that a table of this size can afford."""
    return min(draws, max(20, NUMBERS // X.size))


def _claim_orbits(
    X: np.ndarray, Y: np.ndarray, grid: tuple[int, ...], ridge: float
) -> tuple[list[Claim], dict[str, float]]:
    """Cyclic translations: the fit to all moved rows is invariant, and is that to the means of orbits."""
    action = translations(grid)[:ORBIT] if int(np.prod(grid)) <= ORBIT else None
    if action is None:
        return [], {}
    few = max(4, 40_000 // (len(action) * X.shape[1]))
    x = X[:few]
    y = Y[:few].reshape(len(x), -1)
    W = augmented_ridge(x, y, action, ridge)
    V = ridge_on_orbits(x, y, action, ridge)
    size = max(float(np.abs(W).max()), 1e-300)
    moved = moved_rows(x, action)
    averaged = orbit_means(x, action)
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    within = ((moved @ plain - averaged @ plain) ** 2).sum((1, 2)).mean()
    split = float(((y - averaged @ plain) ** 2).sum() + within)
    invariant = invariant_part(plain, action)
    not_invariant = float(np.abs(W - invariant_part(W, action)).max()) / size
    apart = float(np.abs(W - V).max()) / size

    def moved_loss(weights: np.ndarray) -> float:
        return float(((y - moved @ weights) ** 2).sum(axis=(1, 2)).mean())

    what = "mean loss of moved rows, and ‖Y − X̄W‖² + the spread within orbits"
    claims: list[Claim] = [
        Identity(
            f"weights fitted to rows moved {len(action)} ways, less their mean over the group",
            Enclosure.equal(not_invariant),
            ZERO,
            atol=1e-8,
        ),
        Identity(
            "weights fitted to moved rows, less those fitted to the means of orbits",
            Enclosure.equal(apart),
            ZERO,
            atol=1e-8,
        ),
        Identity(what, Enclosure.equal(moved_loss(plain)), Enclosure.equal(split), rtol=1e-8),
    ]
    numbers = {
        "moved rows, least squares": moved_loss(plain),
        "moved rows, its invariant part": moved_loss(invariant),
    }
    return claims, numbers


def _tabulate_fits(X: np.ndarray, y: np.ndarray, w: np.ndarray, keep: float) -> Table:
    """Least squares, and what noise and dropout tend to; `w` is the fit with noise."""
    fits = {"least squares": noise_fit(X, y, 0.0), "noise": w, "dropout": dropout_fit(X, y, keep)}
    rows = [(name, float(np.mean((y - X @ v) ** 2)), float(v @ v)) for name, v in fits.items()]
    return Table("fits", ("fit", "mean squared error", "‖w‖²"), tuple(rows))


def _tabulate_costs(costs: np.ndarray) -> Table:
    """The features whose dropout costs most; `costs` has one number per feature."""
    top = np.argsort(costs)[::-1][:8]
    rows = tuple((int(j), float(costs[j])) for j in top)
    return Table("features that dropout penalises most", ("feature", "‖φ_j‖²‖W_j‖²/n"), rows)


# ---- worked examples ------------------------------------------------------------------------------------------------

# the row (1, 2), weights (1, 1), target 0; half of the entries dropped, or noise of spread 1/10
X_EXAMPLE = fractions(np.array([[1, 2]]))
W_EXAMPLE = fractions(np.array([1, 1]))
Y_EXAMPLE = fractions(np.array([0]))
HALF = Fraction(1, 2)
TENTH = Fraction(1, 10)


def _examples(rng: np.random.Generator) -> Examples:
    """The example against the formulas, ridge on all rotations of two rows on a ring of three, and generated rows."""
    dropped = dropout_loss_by_masks(X_EXAMPLE, Y_EXAMPLE, W_EXAMPLE, HALF)
    noisy = noise_loss_by_signs(X_EXAMPLE, Y_EXAMPLE, W_EXAMPLE, TENTH)
    off_dropout = abs(dropped - dropout_loss(X_EXAMPLE, Y_EXAMPLE, W_EXAMPLE, HALF))
    off_noise = abs(noisy - noise_loss(X_EXAMPLE, Y_EXAMPLE, W_EXAMPLE, TENTH**2))
    rows = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, -1.0]])
    targets = np.array([1.0, 4.0])
    copies = moved_rows(rows, translations((3,))).reshape(-1, 3)
    whole = exact_least_squares(copies, np.concatenate([targets] * 3), Fraction(3))
    assert whole is not None
    means = fractions(rows).sum(1) / 3  # of an orbit: three equal entries
    one = sum(m * Fraction(t) for m, t in zip(means, targets)) / (1 + 3 * sum(means**2))
    off_orbits = max(abs(w - one) for w in whole)
    zero = {
        "half of (1, 2) dropped: Σ over masks, less the formula": off_dropout,
        "noise ±1/10 on (1, 2): Σ over signs, less the formula": off_noise,
        "ridge on all rotations of two rows, less that on their means": off_orbits,
    }
    generated = show_generated_rows(rng)
    worked = [Identity(what, Enclosure.exact(off), ZERO) for what, off in zero.items()]
    return Examples(
        claims=(*worked, *generated.claims),
        charts=generated.charts,
        numbers={
            "dropout loss of the example": Enclosure.exact(dropped),
            "noise loss of the example": Enclosure.exact(noisy),
            **generated.numbers,
        },
    )
