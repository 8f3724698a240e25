"""Perceptrons over a grid: what each cell is. How they are trained together is in `together.py`."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from inspect import signature
from math import inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ftheta.logic.errors import UsageError

from .grid import Cell, Grid
from .identity import array_digest, code_digest
from .store import Outcome

if TYPE_CHECKING:
    from .together import Member, Prepared

SETTINGS = (
    "widths", "activation", "loss", "optimiser", "step", "decay", "steps", "batch", "rows", "noise", "gain", "bias",
)  # fmt: skip
WHOLE = ("steps", "batch", "rows", "record")
NUMBERS = ("step", "decay", "noise", "gain", "bias")


@dataclass(frozen=True, eq=False)
class Networks:
    r"""Perceptrons to be trained as `ftheta.fit` trains them; every setting here can be an axis of the grid.

    Parameters
    ----------
    data
        A pair of arrays `(x, y)` or a `Dataset`; or a function `data(seed=…, **settings)` that returns `(x, y)` or
        `(x, y, x_test, y_test)`, whose other arguments are axes of the grid too.
    test
        Other data whose loss is reported.
    widths
        Of the hidden layers: a number, a list, or words such as "64-64"; an empty list is a linear model.
    activation, loss, optimiser, step, steps, batch
        As in `ftheta.fit`.
    decay
        $\lambda$ of the penalty $\frac\lambda2\|\theta\|_2^2$; for `adamw` its decoupled weight decay.
    rows
        Train on the first so many rows.
    noise
        In the training targets: the standard deviation of Gaussian noise, or for classes the share that is replaced by
        another class.
    gain, bias
        Of the start, $W_{ij}\sim\mathcal N(0,\text{gain}/d_{\ell-1})$ and $b_i\sim\mathcal N(0,\text{bias}^2)$.
    dtype
        The precision of the training.
    record
        Keep the loss of every so many steps as the array `losses`.
    keep
        Keep the trained weights, `W0`, `b0`, …, weights as (out, in).
    """

    data: Any
    test: Any = None
    widths: Any = (64, 64)
    activation: str = "relu"
    loss: str = "squared"
    optimiser: str = "adam"
    step: float | None = None
    decay: float | None = None
    steps: int = 1000
    batch: int | None = None
    rows: int | None = None
    noise: float = 0.0
    gain: float = 2.0
    bias: float = 0.0
    dtype: Literal["float32", "float64"] = "float32"
    record: int | None = None
    keep: bool = False

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float64"):
            raise UsageError("Networks are trained in float32 or float64.", got=self.dtype)
        if not isinstance(self.keep, bool):
            raise UsageError("`keep` is true or false.", where="Networks", got=f"{self.keep!r}")
        if callable(self.data) and self.test is not None:
            remedy = "let the function return (x, y, x_test, y_test)"
            raise UsageError("Data that are made bring their own test data.", remedy=remedy)
        for data in (self.data, self.test):
            pair = isinstance(data, (tuple, list)) and len(data) == 2
            if not (
                pair
                or (data is None and data is not self.data)
                or callable(data)
                or hasattr(data, "x")
            ):
                remedy = "give (x, y), a Dataset, or for the training a function data(seed=…) that makes them"
                raise UsageError(
                    "These are no data.", got=f"a {type(data).__name__}", remedy=remedy
                )
        for name in (*SETTINGS, "record"):
            check_setting(name, getattr(self, name), "Networks")

    @property
    def name(self) -> str:
        return "networks"

    @property
    def data_settings(self) -> tuple[str, ...]:
        """Settings that only the data depend on."""
        if not callable(self.data):
            return ()
        return tuple(
            name
            for name in signature(self.data).parameters
            if name != "seed" and name not in SETTINGS
        )

    def about(self) -> dict[str, Any]:
        """Versions included: the last bits depend on them."""
        told = {
            name: self._told(getattr(self, name)) for name in (*SETTINGS, "dtype", "record", "keep")
        }
        told |= {"data": self._told(self.data), "test": self._told(self.test)}
        return told | {
            package: version(package) for package in ("ftheta", "jax", "jaxlib", "optax", "numpy")
        }

    @staticmethod
    def _told(value: Any) -> Any:
        if value is None or isinstance(value, (str, int, float)):
            return value
        if hasattr(value, "x") and hasattr(value, "y"):
            value = (value.x, value.y)
        return code_digest(value) if callable(value) else array_digest(*value)

    def check(self, grid: Grid) -> None:
        known = (*SETTINGS, *self.data_settings)
        for name, values in grid.axes.items():
            if name not in known:
                remedy = f"choose of {', '.join(known)}"
                raise UsageError(
                    "Networks have no such setting.", where="grid", got=name, remedy=remedy
                )
            for value in values if name in SETTINGS else ():
                check_setting(name, value, f"grid[{name!r}]")
        if not callable(self.data):
            from .together import prepare_data

            for loss in grid.axes.get(
                "loss", [self.loss]
            ):  # data that do not fit would fail every cell
                prepare_data(self.data, self.test, (), loss, None, self.dtype)

    def setting(self, settings: Mapping[str, Any], name: str) -> Any:
        value = settings.get(name, getattr(self, name))
        return hidden(value) if name == "widths" else value

    def group(self, settings: Mapping[str, Any]) -> Hashable:
        """Cells that share a compiled program."""
        static = ("widths", "activation", "loss", "optimiser", "steps", "batch", "rows")
        told = [self.setting(settings, name) for name in static]
        decays = self.setting(settings, "decay") is None
        return (*told, decays, *[settings.get(name) for name in self.data_settings])

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[int, Outcome]]:
        from .together import train_together

        return train_together(cells, self.member)

    def member(self, cell: Cell) -> "Member":
        """The network of a cell before training, with its data."""
        from .together import make_member, prepare_data

        of = partial(self.setting, cell.settings)
        made = callable(self.data)
        wanted = (of("widths"), of("loss"), of("rows"), self.dtype)
        prepared = (
            prepare_data(*self.examples(cell), *wanted) if made else _prepare_once(self, *wanted)
        )
        return make_member(
            of,
            prepared,
            cell.seed,
            own_inputs=made,
            dtype=self.dtype,
            record=self.record,
            keep=self.keep,
        )

    def examples(self, cell: Cell) -> tuple[Any, Any]:
        """Training data and test data, or None, of a cell, before anything is done to them."""
        if not callable(self.data):
            return self.data, self.test
        takes = signature(self.data).parameters
        given = {name: value for name, value in cell.settings.items() if name in takes}
        made = self.data(seed=cell.seed, **given)
        return (made[:2], made[2:]) if isinstance(made, tuple) and len(made) == 4 else (made, None)


@lru_cache(maxsize=64)  # the same data serve all seeds
def _prepare_once(networks: Networks, *wanted: Any) -> "Prepared":
    from .together import prepare_data

    return prepare_data(networks.data, networks.test, *wanted)


def hidden(value: Any) -> tuple[int, ...]:
    """Widths of the hidden layers: 64, (64, 64), "64-64"."""
    if isinstance(value, str):
        parts = [
            part for part in value.replace(",", "-").replace("x", "-").split("-") if part.strip()
        ]
        value = tuple(int(part) if part.strip().isdecimal() else part for part in parts)
    widths = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not all(
        isinstance(w, (int, np.integer)) and not isinstance(w, bool) and w > 0 for w in widths
    ):
        raise UsageError(
            "The widths are whole numbers.", got=repr(value), remedy="write 64, (64, 64) or '64-64'"
        )
    return tuple(int(w) for w in widths)


def check_setting(name: str, value: Any, where: str) -> None:
    """Refuse a value that cannot be that setting."""
    if value is None and name in ("batch", "rows", "step", "decay", "record"):
        return
    if name == "widths":
        hidden(value)
    elif name in WHOLE:
        least = 0 if name == "steps" else 1
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise UsageError(
                f"`{name}` is a whole number of at least {least}.", where=where, got=value
            )
    elif name in NUMBERS:
        least = np.nextafter(0, 1) if name == "step" else 0.0
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not least <= value < inf
        ):
            raise UsageError(
                f"`{name}` is a finite number that is {'positive' if least else 'not negative'}.",
                where=where,
                got=value,
            )
    else:
        _find_named(name, value, where)


def _find_named(name: str, value: Any, where: str) -> None:
    """An activation, loss or optimiser that there is."""
    from ftheta.networks.activations import activation
    from ftheta.training.losses import LOSSES
    from ftheta.training.optimisers import OPTIMISERS

    if not isinstance(value, str):
        raise UsageError(f"The {name} is given by its name.", where=where, got=repr(value))
    if name == "activation":
        activation(value)
        return
    known = LOSSES if name == "loss" else OPTIMISERS
    if value not in known:
        raise UsageError(
            f"Unknown {name}.", where=where, got=value, remedy=f"choose one of {', '.join(known)}"
        )
