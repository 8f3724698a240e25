r"""The ladder of a chain: every upper bound that applies, from the cheapest on.

All bounds are of the chain with its matrices scaled to norm about 1 by powers of two. In the norm 1 they are those of
the transposed chain in the norm $\infty$.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nextafter
from time import process_time
from typing import Any

import numpy as np

from ftheta.networks.activations import activation
from ftheta.shapes import Float

from ..norms import sum_norm
from ..semidefinite import LOST, bound_slope, scale_back, scale_chain, verify_certificate
from .chains import Chain, Ranges
from .jacobians import corner_bound, interval_bound, linear_bound
from .products import (
    absolute_product,
    pairwise_product,
    product_of_norms,
    rescaled_product,
    steepest_slopes,
    verify_scales,
)
from .result import Rung
from .sectors import System, bound_sectors, compress_inputs, reduce_chain, verify_sectors
from .semidefinite_rates import steps_of_chain, steps_of_system
from .sequential import sequential_multipliers

LARGE = 4096  # a matrix with a longer side is not factorised
MOST_INPUTS = 1024  # that have weights of their own in a semidefinite program
FEWEST_STEPS = 5  # of a semidefinite program that is worth its while
PART_STEPS = 60  # of the semidefinite program of a part
OUTPUTS = 64  # for each of which a program of its own is solved, in the norms 1 and ∞


@dataclass(frozen=True, eq=False)
class Setting:
    """The scaled matrices of a chain, the ranges of slopes between them, and the power of two of the scaling."""

    chain: Chain
    weights: tuple[Float[np.ndarray, "_m _n"], ...]
    ranges: Ranges
    exponent: int
    norm: float
    is_local: bool

    def paid(self, bound: float) -> float:
        """A bound of the scaled chain as one of the network."""
        value = inf
        if np.isfinite(bound):
            value = scale_back(nextafter(bound + LOST * self._steepest, inf), self.exponent)
        if not self.chain.first_error or not np.isfinite(value):
            return value
        spread = 1.0 if self.norm == 2 else max(self.chain.weights[0].shape) ** 0.5
        rest = product_of_norms(self.chain.weights[1:], self.chain.global_ranges[1:], self.norm)
        steepest = max(float(np.abs(end).max(initial=0.0)) for end in self.chain.global_ranges[0])
        wrong = self.chain.first_error * spread * rest * steepest
        return nextafter(value + wrong * (1 + 1e-12), inf)

    @property
    def _steepest(self) -> float:
        """What scaling has lost of an entry counts at most as often as slopes steeper than 1 say."""
        total = 1.0
        for c in steepest_slopes(self.ranges):
            total = nextafter(total * max(1.0, float(c.max(initial=0.0))), inf)
        return total

    @property
    def has_unit_slopes(self) -> bool:
        """Whether all slopes are in [0, 1], each of them in all of it."""
        return all(bool(np.all(low == 0) and np.all(high == 1)) for low, high in self.ranges)

    @property
    def common_slopes(self) -> float | None:
        """The product of the constants of increasing activations, whose slopes are those times [0, 1]."""
        words = self.chain.words
        if self.is_local or not all(activation(word).monotone for word in words):
            return None
        total = 1.0
        for steepest in (activation(word).lipschitz.hi for word in words):
            total = total if steepest == 1 else nextafter(total * steepest, inf)
        return total


def prepare_setting(chain: Chain, ranges: Ranges, norm: float, *, is_local: bool) -> Setting:
    """The setting of a chain, without neurons whose slopes are 0, and turned round for the norm 1."""
    weights = list(chain.weights)
    kept = []
    for k, (low, high) in enumerate(ranges):
        alive = (low != 0) | (high != 0)
        weights[k] = weights[k][alive]
        weights[k + 1] = weights[k + 1][:, alive]
        kept.append((low[alive], high[alive]))
    if norm == 1:
        weights = [np.ascontiguousarray(W.T) for W in reversed(weights)]
        kept.reverse()
    if not all(W.size and W.any() for W in weights):
        return Setting(chain, (np.zeros((1, 1)),), (), 0, norm, is_local)
    scaled, exponent = scale_chain(weights)
    return Setting(chain, tuple(scaled), tuple(kept), exponent, norm, is_local)


def climb_ladder(setting: Setting, work: float) -> Iterator[Rung]:
    """Upper bounds, one after the other; the costly ones with so many seconds of work among them."""
    weights, ranges = setting.weights, setting.ranges
    if len(weights) == 1:
        yield from _affine(setting)
        return
    across = inf if setting.norm == 1 else setting.norm
    is_large = max(max(W.shape) for W in weights) > LARGE
    if is_large and across == 2:
        yield _rung(
            setting,
            "product of norms",
            "Frobenius norms",
            lambda: _frobenius_product(weights, ranges),
        )
        return
    says = (
        "spectral norms with error terms" if across == 2 else "sums of absolute values, rounded up"
    )
    yield _rung(
        setting, "product of norms", says, lambda: product_of_norms(weights, ranges, across)
    )
    if is_large:
        yield _perron_rung(setting)
        return
    yield from _euclidean(setting, work) if across == 2 else _of_sums(setting, work)
    corners = _rung(
        setting,
        "all sign patterns",
        "the norm of every corner of the slopes",
        lambda: corner_bound(weights, ranges, across),
    )
    if np.isfinite(corners.value):
        yield corners


def bound_part(setting: Setting) -> float:
    """The best quick bound of one of many parts: of all sign patterns where these are few, in the 2-norm else the
    semidefinite program, in the others bounds of the Jacobian."""
    weights, ranges = setting.weights, setting.ranges
    if len(weights) == 1:
        return next(_affine(setting)).value
    across = inf if setting.norm == 1 else setting.norm
    corners = corner_bound(weights, ranges, across)
    if corners is not None:
        return setting.paid(corners)
    if across == 2:
        return setting.paid(
            bound_sectors(compress_inputs(reduce_chain(weights, ranges)), steps=PART_STEPS).bound
        )
    return setting.paid(min(linear_bound(weights, ranges), interval_bound(weights, ranges, inf)))


def _affine(setting: Setting) -> Iterator[Rung]:
    W = setting.weights[0]

    def bound() -> float:
        if not W.any():
            return 0.0
        from ..norms import spectral_norm

        return spectral_norm(W).hi if setting.norm == 2 else sum_norm(W, inf)

    rung = _rung(setting, "norm of the matrix", "the network is affine here", bound)
    # a folded entry that is 0 may have underflowed
    is_constant = not W.any() and not setting.chain.first_error
    yield Rung(rung.method, "upper", 0.0, rung.seconds, rung.rests_on) if is_constant else rung


def _euclidean(setting: Setting, work: float) -> Iterator[Rung]:
    weights, ranges = setting.weights, setting.ranges
    neurons = sum(len(W) for W in weights[:-1])
    if neurons <= 2048:
        steps = int(
            np.clip(
                400_000_000 * max(work, 0.2) / sum(W.size * min(W.shape) for W in weights), 5, 100
            )
        )
        yield _scaled_rung(setting, steps)
    if setting.is_local:
        yield _rung(
            setting,
            "interval Jacobian",
            "an enclosure of every partial derivative",
            lambda: interval_bound(weights, ranges, 2),
        )
    common = setting.common_slopes
    if common is not None:
        yield from _of_unit_slopes(setting, common, work)
    if common is None or not setting.has_unit_slopes:
        yield from _of_sectors(setting, work)


def _scaled_rung(setting: Setting, steps: int) -> Rung:
    weights, ranges = setting.weights, setting.ranges
    start = process_time()
    bound, scales = rescaled_product(weights, ranges, steps)
    return Rung(
        "product with rescaled neurons",
        "upper",
        setting.paid(bound),
        process_time() - start,
        "spectral norms with error terms",
        {"scales": scales},
        lambda: setting.paid(verify_scales(weights, ranges, scales)),
    )


def _of_unit_slopes(setting: Setting, common: float, work: float) -> Iterator[Rung]:
    weights = setting.weights
    slopes = lambda bound: setting.paid(nextafter(bound * common, inf))
    if len(weights) > 2 and max(len(W) for W in weights) <= 512:
        pairs = [[W, V] for W, V in pairwise(weights)]
        steps = min(steps_of_chain(pair, 0.1 * work / len(pairs)) for pair in pairs)
        yield _rung(
            setting,
            "pairs of layers (SeqLip)",
            "a semidefinite program for each pair, by Cholesky with error terms",
            lambda: pairwise_product(weights, common, max(2, steps)),
        )
    start = process_time()
    multipliers = sequential_multipliers(weights)
    value = slopes(verify_certificate(weights, multipliers))
    yield Rung(
        "layer by layer (ECLipsE-style)",
        "upper",
        value,
        process_time() - start,
        "multipliers in closed form, by Cholesky with error terms",
        {"multipliers": multipliers},
        lambda: slopes(verify_certificate(weights, multipliers)),
    )
    start = process_time()
    found = bound_slope(weights, steps=steps_of_chain(weights, 0.8 * work))
    yield Rung(
        "semidefinite program (LipSDP)",
        "upper",
        slopes(found.bound),
        process_time() - start,
        "multipliers of every neuron, by Cholesky with error terms",
        {"multipliers": found.multipliers},
        lambda: slopes(verify_certificate(weights, found.multipliers)),
    )


def _of_sectors(setting: Setting, work: float) -> Iterator[Rung]:
    start = process_time()
    system = compress_inputs(reduce_chain(setting.weights, setting.ranges))
    found = bound_sectors(system, steps=max(FEWEST_STEPS, steps_of_system(system, 0.8 * work)))
    again = lambda: setting.paid(verify_sectors(system, found.multipliers))
    yield Rung(
        "semidefinite program with ranges of slopes",
        "upper",
        setting.paid(found.bound),
        process_time() - start,
        f"multipliers of {sum(system.sizes)} neurons that are not linear here, by Cholesky with error terms",
        {"multipliers": found.multipliers, "slopes": setting.ranges},
        again if found.multipliers else None,
    )


def _perron_rung(setting: Setting) -> Rung:
    return _rung(
        setting,
        "product with rescaled neurons",
        "absolute values (Perron), rounded up",
        lambda: float(absolute_product(setting.weights, setting.ranges)[-1].max()),
    )


def _of_sums(setting: Setting, work: float) -> Iterator[Rung]:
    weights, ranges = setting.weights, setting.ranges
    yield _perron_rung(setting)
    yield _rung(
        setting,
        "interval Jacobian",
        "an enclosure of every partial derivative",
        lambda: interval_bound(weights, ranges, inf),
    )
    yield _rung(
        setting,
        "linear bounds of the Jacobian",
        "back-substitution, rounded up",
        lambda: linear_bound(weights, ranges),
    )
    systems = _systems_of_outputs(setting)
    if systems and steps_of_system(systems[0], work / len(systems)) >= FEWEST_STEPS:
        yield _sum_program(setting, systems, work / len(systems))


def _systems_of_outputs(setting: Setting) -> list[System]:
    *inner, last = setting.weights
    if len(last) > OUTPUTS or inner[0].shape[1] > MOST_INPUTS:
        return []
    return [reduce_chain([*inner, row[None]], setting.ranges) for row in last]


def _sum_program(setting: Setting, systems: Sequence[System], work: float) -> Rung:
    """One semidefinite program for each output, with a weight for each input."""
    start = process_time()
    found = [
        bound_sectors(system, steps=steps_of_system(system, work), norm=inf) for system in systems
    ]
    value = setting.paid(max(part.bound for part in found))

    def again() -> float:
        parts = zip(systems, found)
        return setting.paid(
            max(
                verify_sectors(s, c.multipliers, c.weights) if c.multipliers else c.bound
                for s, c in parts
            )
        )

    certificate = {
        "multipliers": [part.multipliers for part in found],
        "weights": [part.weights for part in found],
    }
    says = "multipliers and weights of the inputs for every output, by Cholesky with error terms"
    return Rung(
        "semidefinite program", "upper", value, process_time() - start, says, certificate, again
    )


def _frobenius_product(weights: tuple[np.ndarray, ...], ranges: Ranges) -> float:
    """A bound in the 2-norm alone: a row of n ones has the norm n in ∞, and √n by Frobenius."""
    from ..norms import frobenius_norm

    total = 1.0
    for W, c in zip(weights, [*steepest_slopes(ranges), np.ones(1)]):
        spread = nextafter(frobenius_norm(W).hi * float(c.max(initial=0.0)), inf)
        total = nextafter(total * spread, inf)
    return total


def _rung(
    setting: Setting, method: str, rests_on: str, compute: Callable[[], float | None]
) -> Rung:
    start = process_time()
    found = compute()
    value = inf if found is None else setting.paid(found)
    certificate: Mapping[str, Any] = {}
    again = lambda: inf if (bound := compute()) is None else setting.paid(bound)
    return Rung(method, "upper", value, process_time() - start, rests_on, certificate, again)
