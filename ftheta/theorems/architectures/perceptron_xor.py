"""The perceptron makes few mistakes on separable rows; XOR is not separable, and two ReLUs compute it."""

from typing import Annotated

import numpy as np

from ftheta.learning.linear_study import signs_of
from ftheta.learning.perceptron_study import perceptron_evidence
from ftheta.learning.separation import separation
from ftheta.learning.threshold_functions import MOST_BITS, cube
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.training.margins import EXACT_ENTRIES
from ftheta.training.study import first_rows

KINDS = ("two axes", "and", "majority of three bits", "two clouds", "narrow gap", "xor")


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "two axes",
    size: Annotated[int, Knob(4, 400, "rows of the clouds", "n", log=True, least=2, most=512)] = 60,
) -> Dataset:
    if kind == "two axes":  # through the origin: the second row is a mistake too, and the bound is attained
        return Dataset(kind, np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([1, -1]))
    if kind in ("and", "xor", "majority of three bits"):
        x = cube(3 if kind.startswith("majority") else 2)
        labels = {"and": x.sum(1) == 2, "xor": x.sum(1) == 1}.get(kind, x.sum(1) >= 2)
        return Dataset(kind, np.column_stack([x, np.ones(len(x))]), np.where(labels, 1, -1))
    labels, gap = np.where(np.arange(size) % 2, 1, -1), 0.02 if kind == "narrow gap" else 0.8
    across = labels * (gap / 2 + rng.exponential(0.5, size))
    x = np.column_stack([across, rng.normal(size=size)]) @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    return Dataset(kind, np.column_stack([x, np.ones(size)]), labels)


def xor(rng: np.random.Generator) -> Dataset:
    return rows(rng, kind="xor")


def numbers_of(data: Dataset, offset: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """The first rows, with a column of ones where an offset is asked for, and their labels ±1, if they are two."""
    x, y = first_rows(data, flat=True)
    labels = signs_of(y[:, 0]) if len(x) and y.shape[1] == 1 else None
    return np.column_stack([x, np.ones(len(x))]) if offset else x, labels


@hypothesis("every row has one of two labels, 0 and 1 or −1 and 1", remedy="give two classes, or one against the rest")
def two_classes(data: Dataset) -> Finding:
    found = 0 if data.y is None else len(np.unique(data.y))
    known = numbers_of(data, False)[1] is not None
    return Finding.decide(known, f"{found} different labels", "counted", basis=Basis.EXACT)


@hypothesis(
    r"some $w$ has $y_i\langle w,x_i\rangle>0$ for all $i$",
    remedy="allow an offset, lift the rows by features or hidden neurons, or drop the rows that overlap",
)
def separable(data: Dataset, *, offset: bool) -> Finding:
    x, labels = numbers_of(data, offset)
    if labels is None:
        return Finding.failed("unknown without two labels")
    kind = separation(labels[:, None] * x).kind
    basis = Basis.EXACT if x.size <= EXACT_ENTRIES else Basis.FLOAT
    return Finding.decide(kind == "separable", f"{len(x):,} rows: {kind}", "a separating w checked", basis=basis)


@theorem(
    title="The perceptron and XOR",
    sources=("seed 0", "seed 2", "seed 3", "rosenblatt1958", "novikoff1962", "minsky1969", "muroga1971"),
    assumes=(two_classes, separable),
    on=rows,
    breaks_on=xor,
    presets={
        "textbook": {},
        "and": {"kind": "and"},
        "majority": {"kind": "majority of three bits"},
        "two clouds": {"kind": "two clouds"},
        "at the edge": {"kind": "narrow gap", "size": 40},
        "broken on purpose": {"kind": "xor"},
    },
)
def perceptron_xor(
    data: Dataset,
    rng: np.random.Generator,
    *,
    offset: Annotated[bool, Knob(says="append a 1 to every row: planes off the origin", symbol="b")] = False,
    budget: Annotated[int, Knob(100, 100_000, "mistakes at most", "M", log=True, least=1, most=10**6)] = 20_000,
    bits: Annotated[int, Knob(1, MOST_BITS, "bits of the threshold functions counted", "n")] = MOST_BITS,
) -> Evidence:
    r"""The perceptron starts at $w=0$ and sets $w\leftarrow w+y_ix_i$ whenever $y_i\langle w,x_i\rangle\le0$. If some
    unit vector has $y_i\langle w,x_i\rangle\ge\gamma>0$ for all $i$, and $\|x_i\|\le R$, it makes at most
    $(R/\gamma)^2$ mistakes, then separates the rows. $\mathrm{XOR}$ is not separable by a line; an affine function
    misses it by a mean square of at least $\frac14$; and with $r(t)=\max\{0,t\}$
    $$\mathrm{XOR}(x_1,x_2)=r(x_1+x_2)-2\,r(x_1+x_2-1).$$
    Of the functions of 2, 3, 4 bits, 14 of 16, 104 of 256 and 1882 of 65536 are threshold functions."""
    x, labels = numbers_of(data, offset)
    return perceptron_evidence(x, np.ones(len(x)) if labels is None else labels, budget, bits)
