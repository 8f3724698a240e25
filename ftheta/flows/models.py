"""`ft.flow`: a flow from noise to the rows of data, with samples, densities and the floor of its loss."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ftheta.estimates.means import mean
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError, suggest
from ftheta.shapes import Float

from .continuous import carry, carry_with_density, normal_log_density
from .coupling import CouplingFlow, fit_coupling
from .matching import conditional_variance, draw_pairs, velocity
from .mixtures import Mixture
from .traces import draw_probes, estimate_divergence
from .velocity_networks import VelocityNetwork, fit_velocity, measure_loss

KINDS = ("matching", "coupling", "exact")
STEPS = 60
MOST_EXACT_TRACE = 16  # coordinates up to which the trace is computed, and not estimated
MOST_ROWS = 5000
LARGEST = 1e100  # entry of a row whose squares and products are floats


@dataclass(frozen=True, eq=False)
class FlowModel:
    """A flow that was fitted to rows. `loss` is that of its training (in standardised coordinates), `floor` the least
    that any velocity can have on these rows; a coupling flow has the negative log-likelihood as its loss and no
    floor."""

    kind: str
    dimension: int
    loss: Enclosure
    floor: Enclosure | None
    _sample: Callable[[np.random.Generator, int], np.ndarray]
    _log_density: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

    def __repr__(self) -> str:
        floor = "" if self.floor is None else f", floor {self.floor.middle:.6g}"
        return f"FlowModel({self.kind}, dimension {self.dimension}; loss {self.loss.middle:.6g}{floor})"

    def sample(self, n: int, seed: int = 0) -> Float[np.ndarray, "n d"]:
        """`n` new rows."""
        return self._sample(np.random.default_rng(seed), n)

    def log_density(self, x: Any) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
        """The log-density at the rows of `x` in nats, and an estimate of its error: of the integration, where there is
        one, and of rounding."""
        rows = np.asarray(x, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dimension or not np.isfinite(rows).all():
            raise UsageError(
                "Rows of finite numbers are needed.",
                where="log_density",
                got=f"shape {rows.shape}",
                remedy=f"give {self.dimension} entries per row",
            )
        return self._log_density(rows)


def flow(
    data: Any,
    kind: str = "matching",
    *,
    spread: float | None = None,
    width: int = 64,
    steps: int = 2000,
    layers: int = 8,
    seed: int = 0,
) -> FlowModel:
    """A flow from standard normal noise to the rows of `data` (an array, a `Dataset`).

    Parameters
    ----------
    kind
        "matching": a velocity network of two tanh layers, trained by flow matching. "coupling": affine coupling layers,
        fitted one after another by maximum likelihood. "exact": the exact velocity to the rows blurred by `spread`,
        whose density is a kernel estimate.
    spread
        Of "exact": the standard deviation of the blur, in standard deviations of the data; by default Scott's rule.
    width, steps
        Of "matching": neurons in each hidden layer, and steps of training.
    layers
        Of "coupling".
    """
    rows = read_rows(data, "ft.flow")
    if kind not in KINDS:
        raise UsageError(
            "There is no such flow.",
            where="ft.flow",
            got=kind,
            remedy=suggest(kind, KINDS, f"one of {', '.join(KINDS)}"),
        )
    rng = np.random.default_rng(seed)
    centre, scale = rows.mean(0), rows.std(0)
    if not (scale > 0).all():
        raise UsageError(
            "A column is constant.",
            where=f"ft.flow, column {int(np.argmin(scale))}",
            got=float(rows[0, int(np.argmin(scale))]),
            remedy="leave constant columns out: on them no density exists",
        )
    if kind == "coupling":
        return _coupling_model(fit_coupling(rows, rng, layers=layers), rows)
    n, d = rows.shape
    blur = n ** (-1 / (d + 4)) if spread is None else spread
    if not 0 <= blur < np.inf:
        raise UsageError("The blur is a positive number.", where="ft.flow", got=f"spread={blur}")
    standard = (choose_rows(rows, rng) - centre) / scale
    law = Mixture(
        standard, np.full(len(standard), 1 / len(standard)), blur**2 if kind == "exact" else 0.0
    )
    floor = _estimate_floor(law, rng)
    if kind == "exact":
        if not blur > 0:
            raise UsageError("The blur is positive.", where="ft.flow", got=f"spread={blur}")
        return FlowModel(
            kind,
            d,
            floor,
            floor,
            _unscale(partial(_sample_exact, law), centre, scale),
            _exact_density(law, centre, scale),
        )
    network = fit_velocity(law, rng, width=width, steps=steps)
    loss = mean(measure_loss(network, law, rng))
    sample = _unscale(partial(_sample_network, network, d), centre, scale)
    return FlowModel(
        kind, d, loss, floor, sample, partial(_network_density, network, centre, scale)
    )


def read_rows(data: Any, where: str) -> np.ndarray:
    """Rows of finite numbers, flat, at least two of them."""
    rows = np.asarray(getattr(data, "x", data))
    if (
        rows.dtype.kind not in "fiub"
        or rows.ndim < 2
        or len(rows) < 2
        or not np.isfinite(rows).all()
    ):
        raise UsageError(
            "At least two rows of finite numbers are needed.",
            where=where,
            got=f"an array of shape {rows.shape} and type {rows.dtype}",
            remedy="give one row per point; of one number per row, x[:, None]; drop or impute NaN",
        )
    rows = rows.reshape(len(rows), -1).astype(np.float64)
    largest = float(np.abs(rows).max(initial=0.0))
    if largest > LARGEST:
        got = f"entries up to {largest:.2g}"
        raise UsageError(
            "Squares of these rows are no float64 numbers.",
            where=where,
            got=got,
            remedy="scale them",
        )
    return rows


def choose_rows(
    rows: Float[np.ndarray, "n d"], rng: np.random.Generator
) -> Float[np.ndarray, "k d"]:
    """All rows, or as many of them as are held in tables with all points, drawn: the first ones may be alike."""
    return (
        rows
        if len(rows) <= MOST_ROWS
        else rows[np.sort(rng.choice(len(rows), MOST_ROWS, replace=False))]
    )


def _estimate_floor(
    law: Mixture, rng: np.random.Generator, draws: int = 5000, times: int = 25
) -> Enclosure:
    """The mean of Var(x₁ − x₀ | x_t) over times and draws."""
    per_time = int(min(draws // times, max(20, 20_000_000 // (law.atoms.size * times))))
    values = []
    for k in range(times):
        t = float((k + rng.random()) / times)
        noise, data = draw_pairs(law, rng, per_time)
        values.append(conditional_variance(law, t, (1 - t) * noise + t * data))
    return mean(np.concatenate(values))


def _unscale(
    sample: Callable[[np.random.Generator, int], np.ndarray], centre: np.ndarray, scale: np.ndarray
) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: centre + scale * sample(rng, n)


def _sample_exact(law: Mixture, rng: np.random.Generator, n: int) -> np.ndarray:
    return carry(
        partial(velocity, law),
        rng.normal(size=(n, law.atoms.shape[1])),
        np.linspace(0, 1, STEPS + 1),
    )


def _exact_density(
    law: Mixture, centre: np.ndarray, scale: np.ndarray
) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    def log_density(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logs = law.log_density((x - centre) / scale) - np.log(scale).sum()
        return logs, 1e-13 * (1 + np.abs(logs))

    return log_density


def _sample_network(
    network: VelocityNetwork, d: int, rng: np.random.Generator, n: int
) -> np.ndarray:
    return carry(network, rng.normal(size=(n, d)), np.linspace(0, 1, STEPS + 1))


def _network_density(
    network: VelocityNetwork, centre: np.ndarray, scale: np.ndarray, x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Back to the noise, with the trace or probes of it; the error is the change with half as many steps."""
    rows = (x - centre) / scale
    rng = np.random.default_rng(0)

    def probe(t: float, at: np.ndarray) -> np.ndarray:
        return estimate_divergence(partial(network, t), at, draw_probes("signs", rng, *at.shape))

    trace = network.divergence if rows.shape[1] <= MOST_EXACT_TRACE else probe
    logs = []
    for steps in (STEPS // 2, STEPS):
        start, change = carry_with_density(network, trace, rows, np.linspace(1, 0, steps + 1))
        logs.append(normal_log_density(start) - change - np.log(scale).sum())
    return logs[1], np.abs(logs[1] - logs[0]) + 1e-12


def _coupling_model(fitted: CouplingFlow, rows: np.ndarray) -> FlowModel:
    def log_density(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logs = fitted.log_density(x)
        return logs, 1e-12 * (1 + np.abs(logs))

    loss = Enclosure.measured(float(-fitted.log_density(rows).mean()), samples=len(rows))
    return FlowModel("coupling", rows.shape[1], loss, None, fitted.sample, log_density)
