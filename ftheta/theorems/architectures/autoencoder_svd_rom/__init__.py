"""The best code of r numbers is the top of the singular value decomposition, and a linear autoencoder finds it."""

from functools import partial
from typing import Annotated

import numpy as np

from ftheta.certify.low_rank import Decomposition, decompose
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Series,
    Witness,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.theorems.snapshots import SNAPSHOTS, snapshots

from .best_rank import competitors, dual_bound, exact_loss, loss, sine, weyl_excess
from .galerkin import show_reduced_dynamics
from .training import Trained, critical_gradient, train, way_down

ZERO = Enclosure.exact(0)
TIE = 1e-8  # gaps below this are not resolved from ties in float64
BLURRED = 1e-6  # below this resolution a subspace that has stopped turning may still be far from its limit


def moving_pulse(
    rng: np.random.Generator,
    *,
    data: Annotated[
        str, Knob(says="which data", symbol="X", choices=SNAPSHOTS)
    ] = "travelling pulse",
    rows: Annotated[
        int, Knob(4, 500, "number of snapshots", "n", log=True, least=2, most=1000)
    ] = 100,
    columns: Annotated[
        int, Knob(4, 500, "points in space", "d", log=True, least=2, most=1000)
    ] = 80,
) -> Dataset:
    return Dataset(data, snapshots(data, rows, columns))


def tied_singular_values(rng: np.random.Generator, *, rank: int = 3) -> Dataset:
    return Dataset(
        "diagonal with σ_r = σ_(r+1) = 2", np.diag([*np.arange(rank + 1.0, 2, -1), 2, 2, 1])
    )


def _matrix_of(data: Dataset, centre: bool) -> np.ndarray:
    X = data.x.reshape(len(data), -1).astype(np.float64)
    return X - X.mean(0) if centre else X


@hypothesis(r"$r<\min(n,d)$", remedy="take a smaller latent dimension, or more data")
def code_smaller_than_the_data(data: Dataset, *, rank: int) -> Finding:
    most = min(len(data), data.x[0].size)
    note = f"r = {rank}, min(n, d) = {most}"
    number = Enclosure.exact(rank)
    return Finding.decide(rank < most, note, "counted", number, basis=Basis.EXACT)


@hypothesis(
    r"$\sigma_r>\sigma_{r+1}$",
    remedy="choose r between two different singular values, not inside a tie",
)
def singular_values_apart(data: Dataset, *, rank: int, centre: bool) -> Finding:
    found = decompose(_matrix_of(data, centre))
    s = np.append(found.sigma, 0.0)
    r = min(rank, len(found.sigma))
    apart = found.resolution(r)
    note = f"σ_{r} = {s[r - 1]:.6g}, σ_{r + 1} = {s[r]:.6g}: apart by {apart:.3g} of σ_1, resolved above {TIE:g}"
    return Finding.decide(apart > TIE, note, "singular values in float64", Enclosure.equal(apart))


@theorem(
    title="Best low rank and the linear autoencoder",
    gist="The best way to compress data linearly to a few numbers is given by the singular value decomposition (PCA), "
    "and training a linear autoencoder finds the same subspace because all other critical points are saddles.",
    see_also=(
        "autoencoder-svd-rom-deep",
        "autoencoder-svd-rom-sindy",
        "landscape-equivalent-minima",
    ),
    sources=("murari-slides", "eckart1936", "baldi1989", "kunisch2001", "champion2019"),
    assumes=(code_smaller_than_the_data, singular_values_apart),
    on=moving_pulse,
    breaks_on=tied_singular_values,
    presets={
        "textbook": {},
        "diagonal 3, 2, 1": {"data": "diagonal 3 2 1", "rank": 1},
        "large": {"rows": 400, "columns": 200, "rank": 10},
        "at the edge": {"data": "nearly tied", "rank": 3},
        "broken on purpose": {"data": "circling pulse", "rank": 2},
    },
    errata=r"""Murari's slides display $U,V\in\mathbb R^{d\times r}$, which is right for square data only: in
    general $U$ has as many rows as $X$. The code's subspace is unique only if $\sigma_r>\sigma_{r+1}$.""",
)
def autoencoder_svd_rom(
    data: Dataset,
    rng: np.random.Generator,
    *,
    rank: Annotated[int, Knob(1, 20, "latent dimension", "r", most=500)] = 3,
    centre: Annotated[
        bool, Knob(says="subtract the mean row first, as biases would", symbol="X − x̄")
    ] = False,
    sweeps: Annotated[
        int, Knob(10, 5000, "training sweeps at most", "K", log=True, least=1, most=20_000)
    ] = 3000,
    rivals: Annotated[
        int, Knob(1, 64, "other matrices of rank r to compare with", "m", log=True)
    ] = 16,
) -> Evidence:
    r"""Let $X\in\mathbb R^{n\times d}$ have singular values $\sigma_1\ge\sigma_2\ge\dots$ Then (Eckart–Young)
    $$\min_{\operatorname{rank}B\le r}\|X-B\|_F^2=\sum_{i>r}\sigma_i^2,\qquad
    \min_{\operatorname{rank}B\le r}\|X-B\|_2=\sigma_{r+1}.$$
    A linear autoencoder $\min_{E,D}\|X-XED\|_F^2$ with a code of size $r$ has the same least loss;
    when $\sigma_r>\sigma_{r+1}$ its code spans $v_1,\dots,v_r$, and all other critical points are saddles. Both codes
    serve as reduced models: with $QQ^\top u$ the part of a state that the code keeps, $\dot u=Lu$ becomes the Galerkin
    equation $\dot z=Q^\top LQz$, shown for the heat equation."""
    X = _matrix_of(data, centre)
    found = decompose(X)
    if rank >= len(found.sigma):
        return Evidence((), summary=f"a code of {rank} numbers holds all of the data")
    if not found.squares_fit:
        return Evidence(
            (),
            summary=f"squares of data of norm {found.sigma[0]:.3g} leave the range of float64: rescale",
        )
    trained = train(found.X, rank, rng, sweeps)
    excess, nearest = weyl_excess(found, rank, competitors(found, rank, rng, rivals))
    error = found.tail(rank) ** 0.5
    reached = loss(X, trained.basis) ** 0.5
    numbers = {
        "Frobenius error": error,
        "spectral error": found.sigma[rank],
        "error of the autoencoder": reached,
    }
    numbers |= {"best rival": nearest, "sine of the angle": sine(found.V[:, :rank], trained.basis)}
    training = f"after {len(trained.losses)} sweeps the autoencoder errs by {reached:.8g}"
    return Evidence(
        (
            *_eckart_young_claims(found, rank, excess, rivals),
            *autoencoder_claims(found, rank, trained),
        ),
        _draw(found, rank, trained, X @ trained.basis),
        numbers,
        examples=partial(show_reduced_dynamics, rank, rng.spawn(1)[0]),
        summary=f"{training}; the tail of the singular values is {error:.8g}",
    )


def _eckart_young_claims(
    found: Decomposition, r: int, excess: float, rivals: int
) -> tuple[Claim, ...]:
    """The truncation attains the tail of the singular values, and no matrix of rank `r` does better.

    `excess` is the Weyl excess that was measured over so many rivals.
    """
    equal = Enclosure.equal
    size = float((found.sigma**2).sum())
    spectral = float(np.linalg.norm(found.X - found.truncate(r), 2))
    reached = loss(found.X, found.V[:, :r])
    tail = found.tail(r)
    bound = dual_bound(found.X, r)
    over = f"largest σ_(i+r)(X) − σ_i(X − B) over {rivals} matrices B of rank r"
    return (
        Identity("‖X − X_r‖_F² and the tail Σσᵢ²", equal(reached), equal(tail), atol=1e-12 * size),
        Identity(
            "‖X − X_r‖₂ and σ_(r+1)",
            equal(spectral),
            equal(float(found.sigma[r])),
            atol=1e-13 * size**0.5,
        ),
        AtMost(
            "‖X − X_r‖_F², with a dual bound for all rank r",
            equal(reached),
            equal(bound),
            atol=1e-11 * size,
        ),
        AtMost(over, equal(excess), ZERO, atol=1e-13 * size**0.5),
    )


def autoencoder_claims(found: Decomposition, r: int, trained: Trained) -> tuple[Claim, ...]:
    """It has the least loss, its code is the top subspace, and the next critical point is a saddle with a way down."""
    equal = Enclosure.equal
    size = float((found.sigma**2).sum())
    reached = loss(found.X, trained.basis)
    tail = found.tail(r)
    angle = sine(found.V[:, :r], trained.basis)
    drop, formula = way_down(found, r)
    what = "sine of the largest angle of the trained code with v_1 … v_r"
    pull = critical_gradient(found.X, np.delete(found.V[:, : r + 1], r - 1, axis=1))
    scales = (float(len(trained.losses)),)
    learnt: tuple[Claim, ...] = (
        Identity(
            "loss of the trained autoencoder and the tail Σσᵢ²",
            equal(reached),
            equal(tail),
            atol=1e-11 * size,
        ),
        Identity(what, equal(angle), ZERO, atol=1e-6, witness=second_minimiser(found, r)),
    )
    if not trained.settled or TIE < found.resolution(r) < BLURRED:  # nothing is known of the limit
        learnt = (
            AtMost(
                "least loss, loss of the trained autoencoder",
                equal(tail),
                equal(reached),
                atol=1e-11 * size,
            ),
            Converges(what, ZERO, (equal(angle),), scales, within=1e-6),
        )
    return (
        *learnt,
        Identity("gradient at v_1 … v_(r−1), v_(r+1)", equal(pull), ZERO, atol=1e-11 * size),
        Identity(
            "drop of the loss on the way down from there",
            equal(drop),
            equal(formula),
            atol=1e-12 * size,
        ),
    )


def second_minimiser(found: Decomposition, r: int) -> Witness | None:
    r"""Where $\sigma_r=\sigma_{r+1}$: $v_1,\dots,v_{r-1},v_{r+1}$ loses as little as $v_1,\dots,v_r$, at a right angle.

    The losses and the angle are evaluated from the two bases; integer data with unit vectors make that exact.
    """
    if found.resolution(r) > TIE:
        return None
    first = found.V[:, :r]
    second = np.delete(found.V[:, : r + 1], r - 1, axis=1)
    first_loss = loss(found.X, first)
    second_loss = loss(found.X, second)
    whole = all(np.array_equal(A, np.round(A)) for A in (found.X, first, second))
    if whole and exact_loss(found.X, first) != exact_loss(found.X, second):
        return None  # apart after all, by less than float64 resolves
    apart = sine(first, second)
    angle = Enclosure.between(apart, apart, Basis.EXACT if whole else Basis.FLOAT)
    how = f"two subspaces of loss {first_loss:.12g} and {second_loss:.12g}, " + (
        "in integers" if whole else "in float64"
    )
    return Witness(
        {"first": f"v_1 … v_{r}", "second": f"v_{r} replaced by v_{r + 1}"}, angle, ZERO, how
    )


def _draw(found: Decomposition, r: int, trained: Trained, code: np.ndarray) -> tuple[Curves, ...]:
    """Singular values; error against rank; loss against sweeps; the code (one row per datum) along the data."""
    ranks = np.arange(1, min(len(found.sigma), 50) + 1)
    floor = 1e-16 * float(found.sigma[0])
    tails = np.maximum(np.sqrt([found.tail(int(k)) for k in ranks]), floor)
    errors = np.maximum([np.linalg.norm(found.X - found.truncate(int(k))) for k in ranks], floor)
    values = np.maximum(found.sigma[: len(ranks)], floor)
    sweeps = np.arange(1, len(trained.losses) + 1)
    least = np.full(len(sweeps), found.tail(r))
    codes = {f"code {k + 1}": code[:, k] for k in range(min(3, code.shape[1]))}
    return (
        Curves(
            "singular values",
            Axis("i"),
            Axis("σᵢ", "log"),
            (Series("σᵢ", ranks, values, mark="points"),),
        ),
        Curves(
            "error against rank",
            Axis("rank r"),
            Axis("‖X − X_r‖", "log"),
            (
                Series("tail of the singular values", ranks, tails, "bound"),
                Series("measured", ranks, errors, mark="points"),
            ),
        ),
        draw_curves(
            "training of the autoencoder",
            sweeps,
            x="sweep",
            y="loss",
            measured={"measured": trained.losses},
            bound={"least loss": least},
        ),
        draw_curves("code along the data", np.arange(len(code)), x="row", y="code", measured=codes),
    )
