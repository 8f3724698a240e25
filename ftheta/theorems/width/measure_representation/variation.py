r"""How much measure a function needs: $f(x)=c+\int\mu\,\mathrm{ReLU}(\langle w,x\rangle+b)\,d\rho$.

**On the line** the least $\int|\mu||w|\,d\rho$ is $\max\{\int|f''|,\,|f'(-\infty)+f'(\infty)|\}$ (`savarese2019`).
For a piecewise-affine $f=c+s_0x+\sum_tj_t(x-t)_+$ it is attained: of the neuron at $t$ a part $\varphi_tj_t$ looks to
the left, $j_t(x-t)_+=(1-\varphi_t)j_t(x-t)_++\varphi_tj_t(t-x)_++\varphi_tj_t(x-t)$, so that the linear terms cancel.
All numbers are rational: the identity is proved by comparing two records of kinks and slopes.

**In several dimensions** neurons with the same crease add up: up to an affine function the least
$\sum_k|a_k|\|w_k\|$ is the sum over creases of $|\sum_ka_k\|w_k\||$.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.logic import Enclosure
from ftheta.networks import Description
from ftheta.networks.description import Dense
from ftheta.relu.describe import plain_form
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, combination, realisation, relu
from ftheta.relu.symmetry.canonical import path_norm

MOST_WEIGHTS = 2000  # behind the first layer, of a network that is read in rationals
MOST_NEURONS = 1000  # on the line


# -- functions of one variable -----------------------------------------------------------------------


@dataclass(frozen=True)
class Atoms:
    r"""A discrete measure, $c+\sum_ka_k\,\mathrm{ReLU}(\epsilon_k(x-t_k))$, of `neurons` $(a,\epsilon,t)$."""

    constant: Fraction
    neurons: tuple[tuple[Fraction, int, Fraction], ...]

    @property
    def mass(self) -> Fraction:
        r"""$\int|\mu||w|\,d\rho=\sum_k|a_k|$."""
        return sum((abs(a) for a, _, _ in self.neurons), Fraction(0))

    @property
    def moment(self) -> Fraction:
        r"""$\int|\mu|(|w|+|b|)\,d\rho=\sum_k|a_k|(1+|t_k|)$."""
        return sum((abs(a) * (1 + abs(t)) for a, _, t in self.neurons), Fraction(0))

    def function(self) -> PiecewiseAffine:
        """The sum of its neurons."""
        return combination(
            [(a, relu(affine(sign, -sign * t))) for a, sign, t in self.neurons], self.constant
        )


def bending(f: PiecewiseAffine) -> Fraction:
    r"""$\int|f''|$: the sum of the changes of slope."""
    return sum(map(abs, f.jumps.values()), Fraction(0))


def least_mass(f: PiecewiseAffine) -> Fraction:
    r"""$\max\{\int|f''|,\,|f'(-\infty)+f'(\infty)|\}$."""
    return max(bending(f), abs(f.slopes[0] + f.slopes[-1]))


def lightest(f: PiecewiseAffine) -> Atoms:
    """A measure of least mass for f: neurons at its kinks, turned to the left where that cancels the linear term."""
    # what the neurons that look to the left have to add up to
    neurons = []
    wanted = -f.slopes[0]
    for t, jump in f.jumps.items():
        turned = Fraction(0)
        if wanted * jump > 0:
            turned = min(abs(wanted), abs(jump)) * (1 if jump > 0 else -1)
            wanted -= turned
        neurons += [(jump - turned, 1, t), (turned, -1, t)]
    at = f.kinks[0] if f.kinks else Fraction(0)
    # −wanted·(x − at), what is left of the linear term
    neurons += [(-wanted, 1, at), (wanted, -1, at)]
    found = Atoms(Fraction(0), tuple(n for n in neurons if n[0]))
    return Atoms(f(at) - found.function()(at), found.neurons)


# -- networks ----------------------------------------------------------------------------------------


def unreadable(description: Description | None) -> str:
    """Why the measure of a network is not known here, or nothing: one hidden layer, or one input and few weights."""
    why = plain_form(description)
    if description is None or why:
        return why
    widths = description.widths
    if len(widths) == 2:
        return "no hidden layer: it is affine, and has no neurons to weigh"
    if len(widths) == 3 and (widths[0] > 1 or widths[1] <= MOST_NEURONS):
        return ""
    if widths[0] > 1:
        return (
            f"{len(widths) - 2} hidden layers on {widths[0]} inputs: no measure of neurons is known"
        )
    many = sum(layer.weight.size for layer in description.layers[1:])
    return "" if many <= MOST_WEIGHTS else f"{many:,} weights, too many for rationals"


def first_output(description: Description) -> Description:
    """The network with its first output alone."""
    last = description.layers[-1]
    return Description(
        (*description.layers[:-1], Dense(last.weight[:1], last.bias[:1], last.activation))
    )


def creases(description: Description) -> np.ndarray:
    r"""$|\sum a_k\|w_k\||$ of every distinct crease of one hidden layer."""
    hidden, last = description.layers
    kept = hidden.weight.any(1) & (last.weight[0] != 0)
    largest = np.abs(hidden.weight[kept]).max(1, initial=0.0)
    size = largest * np.linalg.norm(hidden.weight[kept] / largest[:, None], axis=1)
    rows = np.column_stack([hidden.weight, hidden.bias])[kept]
    _, crease = np.unique(_number_creases(rows), return_inverse=True)
    return np.abs(np.bincount(crease.ravel(), last.weight[0][kept] * size))


def _number_creases(rows: np.ndarray) -> np.ndarray:
    r"""Equal numbers where $\langle w,x\rangle+b=0$ is the same crease, in rationals; a crease whose projection is like
    no other in float64 is no other's."""
    first = (rows[:, :-1] != 0).argmax(1)
    lead = rows[np.arange(len(rows)), first][:, None]
    plain = rows / lead
    ray = np.cos(np.arange(rows.shape[1]) + 1.0)
    place = plain @ ray
    order = np.argsort(place)
    doubt = 1e-9 * (np.abs(plain) @ np.abs(ray))[order]
    alike = ~(np.diff(place[order]) > doubt[1:] + doubt[:-1])  # so is what overflows
    beside = np.zeros(len(rows) + 1, bool)
    beside[1:-1] = alike if len(rows) else beside[1:-1]
    shared = order[beside[1:] | beside[:-1]]
    numbers = np.arange(len(rows))
    seen: dict[tuple[Fraction, ...], int] = {}
    for k in shared.tolist():
        key = tuple(Fraction(v) / Fraction(float(lead[k, 0])) for v in rows[k].tolist())
        numbers[k] = seen.setdefault(key, k)
    return numbers


@dataclass(frozen=True, eq=False)
class Variation:
    """The least mass of a network and the mass of its neurons as they are.

    Of a network of one input also its `function`, and how much heavier than necessary it is, exactly: the `surplus`.
    """

    least: Enclosure
    given: Enclosure
    kinks: int
    function: PiecewiseAffine | None = None
    surplus: Fraction = Fraction(0)


def measure_variation(description: Description) -> Variation:
    """Of the first output of a network that is not `unreadable`."""
    net = first_output(description)
    if net.widths[0] > 1:
        masses = creases(net)
        least = Enclosure.equal(float(masses.sum()))
        given = Enclosure.equal(float(path_norm(exact(net), 2)))
        return Variation(least, given, int(np.count_nonzero(masses)))
    f = realisation(net)
    least = least_mass(f)
    given = Fraction(path_norm(exact(net)))
    return Variation(Enclosure.exact(least), Enclosure.exact(given), len(f.kinks), f, given - least)
