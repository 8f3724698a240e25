"""A code that may bend needs fewer numbers: autoencoders against every linear code."""

from typing import Annotated

import numpy as np

from ftheta.logic import Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.training.curved_codes import coordinates
from ftheta.training.curved_codes_study import DATA, RESOLVED, curved_evidence, first_rows, linear_share, moving_shapes


def moving(
    rng: np.random.Generator,
    *,
    data: Annotated[str, Knob(says="which data", symbol="X", choices=DATA)] = DATA[0],
    rows: Annotated[int, Knob(16, 200, "number of snapshots", "n", log=True, least=8, most=400)] = 64,
    columns: Annotated[int, Knob(16, 200, "points in space; circling ones have n", "d", log=True, least=4)] = 48,
) -> Dataset:
    return Dataset(data, moving_shapes(data, rows, columns))


@hypothesis(
    r"$\sum_{i>r}\sigma_i^2>0$: the rows about their mean do not lie in a plane of dimension $r$",
    remedy="take a smaller code: a linear one of r numbers already holds all of these rows",
)
def no_plane_holds_the_rows(data: Dataset, *, rank: int) -> Finding:
    share = linear_share(coordinates(first_rows(data.x)), rank)
    note = f"linear codes of {rank} lose {share:.3g} of the rows' square or more; resolved above {RESOLVED:g}"
    return Finding.decide(share > RESOLVED, note, "singular values in float64", Enclosure.equal(share))


@theorem(
    title="Codes that bend: non-linear autoencoders against the best linear one",
    sources=("seed 2", "eckart1936", "kramer1991", "champion2019", "greif2019", "lee2020"),
    assumes=(no_plane_holds_the_rows,),
    on=moving,
    breaks_on=lambda rng: moving(rng, data="standing wave", rows=16),
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
    rank: Annotated[int, Knob(1, 6, "numbers in the code", "r", most=32)] = 1,
    hidden: Annotated[int, Knob(8, 64, "neurons of each hidden layer", "h", log=True, least=1, most=256)] = 24,
    steps: Annotated[int, Knob(100, 5000, "training steps", "T", log=True, least=1, most=20_000)] = 600,
) -> Evidence:
    r"""Let the rows of $X\in\mathbb R^{n\times d}$ have mean 0 and singular values $\sigma_1\ge\dots$ A linear
    code of $r$ numbers loses at least $\sum_{i>r}\sigma_i^2$. Encoders and decoders with a hidden layer beside the
    linear map contain the linear ones, so that $$\inf_{E,D}\sum_i\|D(E(x_i))-x_i\|^2\le\sum_{i>r}\sigma_i^2,$$ and one
    number is enough for no loss at all on the rows themselves: $\langle w,x_i\rangle$ tells them apart, chords through
    them decode it (a hidden layer of ReLUs). A shape $u$ that moves around a ring of $n$ pixels has
    $\sigma^2=|\hat u_k|^2$, slowly falling where $u$ jumps, whatever the linear code; a trained code follows the ring
    with two numbers, and errs less on rows that it has not seen."""
    return curved_evidence(first_rows(data.x), rank, hidden, steps, rng)
