r"""Double descent of trained networks: by width, by number of rows, and along training.

One hidden layer of $h$ units, trained with all rows at every step. Classes: cross-entropy and AdamW, a share `noise` of
the training labels replaced by another class. Other targets: squared loss and gradient descent, with Gaussian noise of
that standard deviation. The peak stands where the network just about fits the training labels (Nakkiran et al. 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ftheta.datasets import dataset
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Real

from .watching import (
    Recipe,
    Watched,
    WatchedRows,
    log_steps,
    room_for,
    run_side_by_side,
    start,
    watch,
)

FITTED = 0.01  # a training error up to this is called zero
TESTED = 2000  # rows at most
MOST_CLASSES = 100
LEAST_ROWS = 128  # fewer rows take as long


@dataclass(frozen=True)
class Setting:
    """What one network is trained on, and how: every field can be an axis of a sweep."""

    width: int = 64
    rows: int = 400
    noise: float = 0.2
    steps: int = 1500
    step: float = 0.01
    decay: float = 0.0
    activation: str = "relu"

    def __post_init__(self) -> None:
        if self.width < 1 or self.rows < 2 or self.steps < 1 or not 0 <= self.noise <= 1:
            remedy = "at least one unit, two rows, one step; noise between 0 and 1"
            raise UsageError("No network can be trained so.", got=repr(self), remedy=remedy)


def unit_targets(y: Real[np.ndarray, "n *k"]) -> Float[np.ndarray, "n columns"]:
    """Classes (whole numbers, at most 100 of them) as unit vectors; other targets with mean 0 and variance 1."""
    flat = np.asarray(y).reshape(len(y), -1)
    if (
        flat.shape[1] == 1
        and (flat == np.round(flat)).all()
        and len(names := np.unique(flat)) <= MOST_CLASSES
    ):
        return np.eye(len(names))[np.searchsorted(names, flat[:, 0])]
    return (flat - flat.mean(0)) / np.where(flat.std(0) > 0, flat.std(0), 1)


def split_rows(
    x: Real[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    setting: Setting,
    seed: int,
    held_out: int | None = None,
) -> tuple[
    tuple[Float[np.ndarray, "train d"], Float[np.ndarray, "train k"]],
    tuple[Float[np.ndarray, "test d"], Float[np.ndarray, "test k"]],
]:
    """Training rows with noise in their labels, and test rows without; inputs centred and scaled by the former.

    The last `held_out` rows of a random order test, whatever the number of rows that train.
    """
    n = setting.rows
    rng = np.random.default_rng([seed, 1])
    tested = min(TESTED, len(x) - n) if held_out is None else held_out
    if tested < 1 or n + tested > len(x):
        remedy = "train on fewer rows, or give more"
        raise UsageError(
            "There are too few rows.", got=f"{len(x)} rows, {n} to train on", remedy=remedy
        )
    order = rng.permutation(len(x))
    inside = order[:n]
    outside = order[len(x) - tested :]
    centre = x[inside].mean(0)
    scale = x[inside].std() or 1.0
    scaled = lambda rows: (x[rows] - centre) / scale
    return (scaled(inside), _noisy(rng, y[inside], setting.noise)), (scaled(outside), y[outside])


def _noisy(rng: np.random.Generator, y: np.ndarray, noise: float) -> np.ndarray:
    if y.shape[1] == 1:
        return y + noise * rng.normal(size=y.shape)
    wrong = rng.random(len(y)) < noise
    turn = rng.integers(1, y.shape[1], len(y))
    return np.where(wrong[:, None], np.eye(y.shape[1])[(y.argmax(1) + turn) % y.shape[1]], y)


def learn(
    x: Real[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    setting: Setting,
    seed: int = 0,
    *,
    at: Sequence[int] | None = None,
    held_out: int | None = None,
) -> Watched:
    """Train one network on targets (rows, K) and look at it after `at` steps: at the end, unless said."""
    train, test = split_rows(x, y, setting, seed, held_out)
    classes = y.shape[1] > 1
    recipe = Recipe(
        setting.step, setting.decay, setting.activation, *CLASSES if classes else NUMBERS
    )
    params = start(
        np.random.default_rng([seed, 2]),
        (x.shape[1], setting.width, y.shape[1]),
        gain=2 if classes else 1,
    )
    # one program for several numbers of rows
    room = room_for(setting.rows, LEAST_ROWS) if held_out is not None else 0
    return watch(
        params, WatchedRows.of(*train, room), WatchedRows.of(*test), recipe, at or (setting.steps,)
    )


CLASSES = ("cross-entropy", "adamw")
NUMBERS = ("squared", "gd")


@dataclass(frozen=True, eq=False)
class Curve:
    """Losses and errors (seeds, values) along one setting: `width`, `rows` or `steps`."""

    along: str
    at: np.ndarray
    setting: Setting
    train_loss: np.ndarray
    train_error: np.ndarray
    test_loss: np.ndarray
    test_error: np.ndarray
    parameters: np.ndarray

    @classmethod
    def of_table(cls, table: Any, along: str, setting: Setting | None = None) -> "Curve":
        """From the table of a sweep of `network_cell` over `along` and seeds (a selection, if it has more axes)."""
        names = (along, "seed", "parameters", *MEASURES)
        columns = {name: np.array(table[name]) for name in names}
        at = np.unique(columns[along])
        seeds = np.unique(columns["seed"])
        if len(columns["seed"]) != len(at) * len(seeds):
            remedy = "select one value of every other axis: sweep.table({...})"
            raise UsageError(
                "The table is not one cell per value and seed.",
                got=f"{len(columns['seed'])}",
                remedy=remedy,
            )
        order = np.lexsort((columns[along], columns["seed"]))
        grid = {
            name: columns[name][order].reshape(len(seeds), len(at))
            for name in ("parameters", *MEASURES)
        }
        return cls(along, at, setting or Setting(), **grid | {"parameters": grid["parameters"][0]})

    @property
    def seeds(self) -> int:
        return len(self.test_loss)

    @property
    def threshold(self) -> int | None:
        """Where the training labels are just about fitted: the first width, or the last number of rows; None if not
        in sight."""
        fitted = np.flatnonzero(self.train_error.mean(0) <= FITTED)
        inner = [i for i in fitted if 0 < i < len(self.at) - 1]
        return (
            None
            if not inner or self.along == "steps"
            else int(inner[0] if self.along == "width" else inner[-1])
        )


def by_width(
    x: Real[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    setting: Setting,
    widths: Sequence[int],
    seeds: Sequence[int],
) -> Curve:
    """Model-wise: networks of every width on the same rows, one set of rows per seed."""
    found = _side_by_side(
        [(seed, replace(setting, width=int(w))) for seed in seeds for w in widths], x, y, None
    )
    return _curve("width", widths, setting, found, len(seeds), y.shape[1], x.shape[1])


def by_rows(
    x: Real[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    setting: Setting,
    rows: Sequence[int],
    seeds: Sequence[int],
) -> Curve:
    """Sample-wise: one width on more and more rows, tested on the same others."""
    held_out = min(TESTED, len(x) - max(rows))
    found = _side_by_side(
        [(seed, replace(setting, rows=int(n))) for seed in seeds for n in rows], x, y, held_out
    )
    return _curve("rows", rows, setting, found, len(seeds), y.shape[1], x.shape[1])


def by_steps(
    x: Real[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    setting: Setting,
    seeds: Sequence[int],
    looks: int = 60,
) -> Curve:
    """Epoch-wise: one network along its training; a step sees all rows, so it is an epoch."""
    at = log_steps(setting.steps, looks)[1:]
    runs = [learn(x, y, setting, seed, at=at) for seed in seeds]
    columns = {name: np.array([getattr(run, name) for run in runs]) for name in MEASURES}
    sizes = _sizes([setting.width] * len(at), x.shape[1], y.shape[1])
    return Curve("steps", np.array(at), setting, parameters=sizes, **columns)


MEASURES = ("train_loss", "train_error", "test_loss", "test_error")


def _side_by_side(
    cells: list[tuple[int, Setting]], x: np.ndarray, y: np.ndarray, held_out: int | None
) -> list[dict[str, float]]:
    """The last losses and errors of every network."""
    return run_side_by_side(
        lambda cell: learn(x, y, cell[1], cell[0], held_out=held_out).last(), cells
    )


def _curve(
    along: str,
    at: Sequence[int],
    setting: Setting,
    found: list[dict[str, float]],
    seeds: int,
    outputs: int,
    inputs: int,
) -> Curve:
    columns = {
        name: np.array([one[name] for one in found]).reshape(seeds, len(at)) for name in MEASURES
    }
    widths = at if along == "width" else [setting.width] * len(at)
    return Curve(
        along, np.asarray(at), setting, parameters=_sizes(widths, inputs, outputs), **columns
    )


def _sizes(widths: Sequence[int], inputs: int, outputs: int) -> np.ndarray:
    return np.array([w * (inputs + 1 + outputs) + outputs for w in widths])


def linear_descent(
    train: tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n *k"]],
    test: tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "m *k"]],
    step: float,
    at: Sequence[int],
) -> Float[np.ndarray, "at"]:
    r"""The squared test error of gradient descent from 0 on least squares, in closed form: after $k$ steps on
    $\frac1n\|X\theta-y\|^2$ the solution's component of eigenvalue $s$ of $\frac1nX^\top X$ is reached to the share
    $1-(1-2\tau s)^k$."""
    (X, y) = train
    (X_test, y_test) = test
    s, V = np.linalg.eigh(X.T @ X / len(X))
    right = V.T @ (X.T @ y) / len(X)
    seen = s > 1e-12 * s[-1]
    losses = []
    for k in at:
        # s → 0: 2τk
        share = np.where(seen, (1 - (1 - 2 * step * s) ** k) / np.where(seen, s, 1), 2 * step * k)
        losses.append(((X_test @ (V @ (share[:, None] * right)) - y_test) ** 2).sum(1).mean())
    return np.array(losses)


def two_speeds(
    rng: np.random.Generator, rows: int = 400, fast: int = 70, slow: int = 10, ratio: float = 0.15
) -> tuple[Float[np.ndarray, "rows d"], Float[np.ndarray, "rows *k"]]:
    r"""Rows whose first entries have the scale 1 and the others `ratio`; the latter explain two thirds of the target.

    Descent learns the fast entries first and bends them to explain the rest too, then learns the slow ones: the test
    error falls, rises and falls again (Heckel & Yilmaz 2021).
    """
    scales = np.repeat([1.0, ratio], [fast, slow])
    beta = np.repeat([np.sqrt(0.5 / fast), np.sqrt(1 / slow) / ratio], [fast, slow])
    x = rng.normal(size=(rows, fast + slow)) * scales
    return x, x @ beta + np.sqrt(0.1) * rng.normal(size=rows)


def network_cell(
    seed: int,
    data: str = "digits",
    width: int = 64,
    rows: int = 1000,
    noise: float = 0.2,
    steps: int = 4000,
    step: float = 0.01,
    decay: float = 0.0,
    activation: str = "relu",
) -> dict[str, Any]:
    """One cell of a sweep: a network on a named data set; the last losses and errors, and those along the way."""
    found = dataset(data)
    y = unit_targets(found.y)
    setting = Setting(width, rows, noise, steps, step, decay, activation)
    seen = learn(found.x.reshape(len(found.x), -1), y, setting, seed, at=log_steps(steps))
    arrays = {name: getattr(seen, name) for name in ("test_error", "train_error", "test_loss")}
    size = int(_sizes([width], found.x[0].size, y.shape[1])[0])
    return (
        seen.last()
        | {"parameters": size, "at": seen.at}
        | {f"{name}s": values for name, values in arrays.items()}
    )


def widths_between(least: int, most: int, count: int) -> list[int]:
    """At most `count` whole numbers, evenly on a logarithmic scale: small ones one by one."""
    if not 1 <= least <= most or count < 1:
        raise UsageError(
            "Widths go from a least to a largest one.", got=f"{least} to {most}, {count} of them"
        )
    found = np.unique(np.geomspace(least, most, count).round().astype(int))
    while len(found) < count < most - least + 1:  # small numbers round together: spread the others
        gaps = [k for k in range(least, most + 1) if k not in found]
        found = np.sort(np.append(found, gaps[0]))
    return found.tolist()
