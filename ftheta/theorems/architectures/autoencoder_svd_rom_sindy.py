"""The law of motion is read off states and their derivatives: exactly, where the states tell the monomials apart."""

from typing import Annotated

import numpy as np

from ftheta.learning.sindy import LORENZ, differences, library_rank, monomials
from ftheta.learning.sindy_study import sindy_evidence
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset

STARTS = ("on the attractor", "on the z axis")
ROWS = 400
RANKED = 60  # rows on which the rank is taken in rationals


def lorenz(
    rng: np.random.Generator,
    *,
    start: Annotated[str, Knob(says="where the trajectory starts", choices=STARTS)] = STARTS[0],
    rows: Annotated[int, Knob(40, 400, "states that are seen", "n", log=True, least=20, most=ROWS)] = 200,
) -> Dataset:
    first = (-8.0, 7.0, 27.0) if start == STARTS[0] else (0.0, 0.0, 27.0)
    x = LORENZ.trajectory(first, np.linspace(0, 8, rows))
    return Dataset(LORENZ.name, x, LORENZ.slopes(x), columns=("x", "y", "z"))


def axis(rng: np.random.Generator) -> Dataset:
    return lorenz(rng, start=STARTS[1])


def parts(data: Dataset, step: float) -> tuple[np.ndarray, np.ndarray]:
    """States and derivatives: the labels, or differences of rows that are `step` apart in time."""
    x = data.x[:ROWS].reshape(min(len(data), ROWS), -1).astype(float)
    if data.y is not None and data.y[0].size == x.shape[1]:
        return x, data.y[:ROWS].reshape(len(x), -1).astype(float)
    return x[2:-2], differences(x, step)


@hypothesis(
    "the monomials are linearly independent at the states, and there are few of them",
    remedy="see more of the state space, take a smaller degree, or reduce the state to a few numbers first",
)
def states_tell_monomials_apart(data: Dataset, *, degree: int) -> Finding:
    x = data.x[:ROWS].reshape(min(len(data), ROWS), -1)
    wanted = len(monomials(x.shape[1], degree)) if x.shape[1] <= 8 else 25
    if wanted > 24 or len(x) < 5:
        return Finding.failed(
            f"{x.shape[1]} coordinates and {len(x)} rows: more than 24 monomials, or fewer than 5 rows"
        )
    rank = library_rank(x[:: max(1, len(x) // RANKED)].astype(float), monomials(x.shape[1], degree))
    return Finding.decide(
        rank == wanted, f"rank {rank} of {wanted}", "in rationals", Enclosure.exact(rank), basis=Basis.EXACT
    )


@theorem(
    title="Sparse identification of dynamics in a code",
    sources=("seed 2", "brunton2016", "champion2019"),
    assumes=(states_tell_monomials_apart,),
    on=lorenz,
    breaks_on=axis,
    presets={
        "textbook": {},
        "few states": {"rows": 40},
        "at the edge": {"degree": 3, "rows": 60},
        "broken on purpose": {"start": STARTS[1]},
    },
)
def autoencoder_svd_rom_sindy(
    data: Dataset,
    rng: np.random.Generator,
    *,
    degree: Annotated[int, Knob(1, 3, "degree of the monomials", "q")] = 2,
    level: Annotated[float, Knob(0.001, 1.0, "coefficients below this are dropped", "λ", log=True, least=0)] = 0.1,
    step: Annotated[float, Knob(0.001, 1.0, "time between rows, of data without derivatives", "h", log=True)] = 0.01,
) -> Evidence:
    r"""Let $\dot x=\Theta(x)\,\Xi$ with the monomials $\Theta$ of degree at most $q$ and few coefficients not zero. If
    the columns of $\Theta(X)$ are independent at the states seen, $\Xi=\Theta(X)^+\dot X$ is recovered exactly, so for
    Lorenz' $$\dot x=10(y-x),\quad\dot y=x(28-z)-y,\quad\dot z=xy-\tfrac83z.$$ Pictures $x(t)^\top M$ have a code of
    as many numbers as $x$ has, and the law in the code has the same degree. A decoder that is a polynomial of the code
    errs at most as much as a linear one."""
    x, slopes = parts(data, step)
    known = x.shape[1] == 3 and data.y is not None and np.allclose(slopes, LORENZ.slopes(x), rtol=1e-9, atol=1e-9)
    law = LORENZ if known else None
    return sindy_evidence(x, slopes, law, degree, level)
