"""The best code of r numbers is the top of the singular value decomposition, and a linear autoencoder finds it."""

from typing import Annotated

import numpy as np

from ftheta.certify.linear_autoencoder import SNAPSHOTS, linear_autoencoder, pictures, snapshots, train
from ftheta.certify.low_rank import TIE, competitors, decompose, eckart_young, loss, sine, weyl_excess
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset


def pulse(
    rng: np.random.Generator,
    *,
    data: Annotated[str, Knob(says="which data", symbol="X", choices=SNAPSHOTS)] = "travelling pulse",
    rows: Annotated[int, Knob(4, 500, "number of snapshots", "n", log=True, least=2, most=1000)] = 100,
    columns: Annotated[int, Knob(4, 500, "points in space", "d", log=True, least=2, most=1000)] = 80,
) -> Dataset:
    return Dataset(data, snapshots(data, rows, columns))


def tied(rng: np.random.Generator, *, rank: int = 3) -> Dataset:
    return Dataset("diagonal with σ_r = σ_(r+1) = 2", np.diag([*np.arange(rank + 1.0, 2, -1), 2, 2, 1]))


def matrix(data: Dataset, centre: bool) -> np.ndarray:
    X = data.x.reshape(len(data), -1).astype(np.float64)
    return X - X.mean(0) if centre else X


@hypothesis(r"$r<\min(n,d)$", remedy="take a smaller code, or more data")
def code_smaller_than_the_data(data: Dataset, *, rank: int) -> Finding:
    most = min(len(data), data.x[0].size)
    note, number = f"r = {rank}, min(n, d) = {most}", Enclosure.exact(rank)
    return Finding.decide(rank < most, note, "counted", number, basis=Basis.EXACT)


@hypothesis(r"$\sigma_r>\sigma_{r+1}$", remedy="choose r between two different singular values, not inside a tie")
def singular_values_apart(data: Dataset, *, rank: int, centre: bool) -> Finding:
    found = decompose(matrix(data, centre))
    s, r = np.append(found.sigma, 0.0), min(rank, len(found.sigma))
    apart = found.resolution(r)
    note = f"σ_{r} = {s[r - 1]:.6g}, σ_{r + 1} = {s[r]:.6g}: apart by {apart:.3g} of σ_1, resolved above {TIE:g}"
    return Finding.decide(apart > TIE, note, "singular values in float64", Enclosure.equal(apart))


@theorem(
    title="Best low rank and the linear autoencoder",
    sources=("seed 2", "eckart1936", "baldi1989", "champion2019"),
    assumes=(code_smaller_than_the_data, singular_values_apart),
    on=pulse,
    breaks_on=tied,
    presets={
        "textbook": {},
        "diagonal 3, 2, 1": {"data": "diagonal 3 2 1", "rank": 1},
        "large": {"rows": 400, "columns": 200, "rank": 10},
        "at the edge": {"data": "nearly tied", "rank": 3},
        "broken on purpose": {"data": "circling pulse", "rank": 2},
    },
    errata=r"""Seed 2 displays $U,V\in\mathbb R^{d\times r}$, which is right for square data only: in general $U$ has as
    many rows as $X$. The code's subspace is unique only if $\sigma_r>\sigma_{r+1}$.""",
)
def autoencoder_svd_rom(
    data: Dataset,
    rng: np.random.Generator,
    *,
    rank: Annotated[int, Knob(1, 20, "numbers in the code", "r", most=500)] = 3,
    centre: Annotated[bool, Knob(says="subtract the mean row first, as biases would", symbol="X − x̄")] = False,
    sweeps: Annotated[int, Knob(10, 5000, "training sweeps at most", "K", log=True, least=1, most=20_000)] = 3000,
    rivals: Annotated[int, Knob(1, 64, "other matrices of rank r to compare with", "m", log=True)] = 16,
) -> Evidence:
    r"""Let $X\in\mathbb R^{n\times d}$ have singular values $\sigma_1\ge\sigma_2\ge\dots$ Then (Eckart–Young)
    $$\min_{\operatorname{rank}B\le r}\|X-B\|_F^2=\sum_{i>r}\sigma_i^2,\qquad
    \min_{\operatorname{rank}B\le r}\|X-B\|_2=\sigma_{r+1}.$$
    A linear autoencoder $\min_{E,D}\|X-XED\|_F^2$ with a code of size $r$ has the same least loss;
    when $\sigma_r>\sigma_{r+1}$ its code spans $v_1,\dots,v_r$, and all other critical points are saddles."""
    X = matrix(data, centre)
    found = decompose(X)
    if rank >= len(found.sigma):
        return Evidence((), summary=f"a code of {rank} numbers holds all of the data")
    if not found.squares_fit:
        return Evidence((), summary=f"squares of data of norm {found.sigma[0]:.3g} leave the range of float64: rescale")
    trained = train(found.X, rank, rng, sweeps)
    excess, nearest = weyl_excess(found, rank, competitors(found, rank, rng, rivals))
    error, reached = found.tail(rank) ** 0.5, loss(X, trained.basis) ** 0.5
    numbers = {"Frobenius error": error, "spectral error": found.sigma[rank], "error of the autoencoder": reached}
    numbers |= {"best rival": nearest, "sine of the angle": sine(found.V[:, :rank], trained.basis)}
    told = f"after {len(trained.losses)} sweeps the autoencoder errs by {reached:.8g}"
    return Evidence(
        (*eckart_young(found, rank, excess, rivals), *linear_autoencoder(found, rank, trained)),
        pictures(found, rank, trained, X @ trained.basis),
        numbers,
        summary=f"{told}; the tail of the singular values is {error:.8g}",
    )
