r"""How much measure a function needs: $f(x)=c+\int\mu\,\mathrm{ReLU}(\langle w,x\rangle+b)\,d\rho$.

**On the line** the least $\int|\mu||w|\,d\rho$ is $\max\{\int|f''|,\,|f'(-\infty)+f'(\infty)|\}$ (`savarese2019`).
For a piecewise-affine $f=c+s_0x+\sum_tj_t(x-t)_+$ it is attained: of the neuron at $t$ a part $\varphi_tj_t$ looks to
the left, $j_t(x-t)_+=(1-\varphi_t)j_t(x-t)_++\varphi_tj_t(t-x)_++\varphi_tj_t(x-t)$, so that the linear terms cancel.
All numbers are rational: the identity is proved by comparing two records of kinks and slopes.

**In several dimensions** neurons with the same crease add up: up to an affine function the least
$\sum_k|a_k|\|w_k\|$ is the sum over creases of $|\sum_ka_k\|w_k\||$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, pi

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Series
from ftheta.networks import Description
from ftheta.networks.description import Dense
from ftheta.relu.describe import plain_form
from ftheta.relu.elementary.hat import HAT, shallow
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, combination, realisation, relu
from ftheta.relu.symmetry.canonical import path_norm

from ..barron import Problem
from ..universality.fourier import Spectral, hat_norm, hat_norm_by_integral

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
        return combination([(a, relu(affine(sign, -sign * t))) for a, sign, t in self.neurons], self.constant)


def bending(f: PiecewiseAffine) -> Fraction:
    r"""$\int|f''|$: the sum of the changes of slope."""
    return sum(map(abs, f.jumps.values()), Fraction(0))


def least_mass(f: PiecewiseAffine) -> Fraction:
    r"""$\max\{\int|f''|,\,|f'(-\infty)+f'(\infty)|\}$."""
    return max(bending(f), abs(f.slopes[0] + f.slopes[-1]))


def lightest(f: PiecewiseAffine) -> Atoms:
    """A measure of least mass for f: neurons at its kinks, turned to the left where that cancels the linear term."""
    neurons, wanted = [], -f.slopes[0]  # what the neurons that look to the left have to add up to
    for t, jump in f.jumps.items():
        turned = Fraction(0)
        if wanted * jump > 0:
            turned = min(abs(wanted), abs(jump)) * (1 if jump > 0 else -1)
            wanted -= turned
        neurons += [(jump - turned, 1, t), (turned, -1, t)]
    at = f.kinks[0] if f.kinks else Fraction(0)
    neurons += [(-wanted, 1, at), (wanted, -1, at)]  # −wanted·(x − at), what is left of the linear term
    found = Atoms(Fraction(0), tuple(n for n in neurons if n[0]))
    return Atoms(f(at) - found.function()(at), found.neurons)


def line_claims(name: str, f: PiecewiseAffine) -> tuple[Claim, ...]:
    """The lightest measure is the function, and its mass is the formula; proved in rationals."""
    atoms, zero = lightest(f), Enclosure.exact(0)
    apart = (atoms.function() - f).largest[1]
    return (
        Identity(f"{name}: largest distance to its measure", Enclosure.exact(apart), zero),
        Identity(
            f"{name}: mass of it = max(∫|f″|, |f′(−∞) + f′(∞)|)", Enclosure.exact(atoms.mass), _exact(least_mass(f))
        ),
    )


def _exact(value: Fraction) -> Enclosure:
    return Enclosure.exact(value)


# -- networks ----------------------------------------------------------------------------------------


def unreadable(description: Description | None) -> str:
    """Why the measure of a network is not known here, or nothing: one hidden layer, or one input and few weights."""
    why = plain_form(description)
    if description is None or why:
        return why
    widths = description.widths
    if len(widths) == 3 and (widths[0] > 1 or widths[1] <= MOST_NEURONS):
        return ""
    if widths[0] > 1:
        return f"{len(widths) - 2} hidden layers on {widths[0]} inputs: no measure of neurons is known"
    many = sum(layer.weight.size for layer in description.layers[1:])
    return "" if many <= MOST_WEIGHTS else f"{many:,} weights, too many for rationals"


def first_output(description: Description) -> Description:
    last = description.layers[-1]
    return Description((*description.layers[:-1], Dense(last.weight[:1], last.bias[:1], last.activation)))


def creases(description: Description) -> tuple[float, float]:
    r"""$\sum|\sum a_k\|w_k\||$ over the distinct creases, and $\sum_k|a_k|(\|w_k\|+|b_k|)$, of one hidden layer."""
    hidden, last = description.layers
    size = np.linalg.norm(hidden.weight, axis=1)
    kept = size > 0
    normal = np.column_stack([hidden.weight, hidden.bias])[kept] / size[kept, None]
    lead = np.take_along_axis(normal, (np.abs(normal[:, :-1]) > 1e-9).argmax(1)[:, None], 1)
    keys = np.round(normal * np.sign(lead), 9) + 0.0  # a crease has two normals
    _, crease = np.unique(keys, axis=0, return_inverse=True)
    masses = np.bincount(crease.ravel(), last.weight[0][kept] * size[kept])
    return float(np.abs(masses).sum()), float(np.abs(last.weight[0]) @ (size + np.abs(hidden.bias)))


@dataclass(frozen=True, eq=False)
class Variation:
    """The least mass of a network, the mass of its neurons as they are, and what was shown on the way."""

    least: Enclosure
    given: Enclosure
    kinks: int
    claims: tuple[Claim, ...]
    function: PiecewiseAffine | None = None


def variation(description: Description) -> Variation:
    """Of the first output of a network that is not `unreadable`."""
    net = first_output(description)
    shallow_net = len(net.layers) == 2
    if net.widths[0] > 1:
        least = creases(net)[0]
        given = float(path_norm(exact(net), 2))
        small, large = Enclosure.equal(least), Enclosure.equal(given)
        return Variation(small, large, net.widths[1], (AtMost("mass of all creases ≤ Σ|a|‖w‖", small, large),))
    f = realisation(net)
    least, given = Enclosure.exact(least_mass(f)), Enclosure.exact(Fraction(path_norm(exact(net))))
    claims = line_claims("network", f)
    if shallow_net:
        claims = (*claims, AtMost("least mass ≤ Σ|a||w| of the neurons", least, given))
    return Variation(least, given, len(f.kinks), claims, f)


# -- the hat: three neurons, and no finite Barron norm ----------------------------------------------------


def hat_claims(cut: float) -> tuple[Claim, ...]:
    """The hat is three neurons of mass 4, bends by 4, has a kink, and its spectral norm passes every number."""
    ours, jump = realisation(shallow()), max(map(abs, HAT.jumps.values()))
    spectral, more = hat_norm(cut), hat_norm(10 * cut)
    return (
        Identity(
            "hat: largest distance to its three neurons", _exact(Fraction((ours - HAT).largest[1])), _exact(Fraction(0))
        ),
        Identity("hat: ∫|f″|", _exact(bending(HAT)), _exact(Fraction(4))),
        *line_claims("hat", HAT),
        AtMost("0 < jump of the slope: no extension is C¹", _exact(Fraction(1)), _exact(Fraction(jump))),
        Identity("hat up to Λ: closed form and integral", spectral, hat_norm_by_integral(cut)),
        Identity("hat: growth in the decade after Λ", more - spectral, Enclosure.equal(2 / pi * log(10)), atol=2 / cut),
    )


def hat_facts(cut: float) -> Evidence:
    """What is true of the hat whatever the subject is, and what a source prints instead."""
    spectral, bend = hat_norm(cut), _exact(bending(HAT))
    return Evidence(
        claims=hat_claims(cut),
        as_printed=(AtMost("hat: ∫|ω||f̂| up to 10⁶ ≤ ∫|f″|", hat_norm(1e6), bend),),
        charts=(measure_chart(HAT),),
        numbers={"hat up to Λ": spectral, "growth in a decade": 2 / pi * log(10), "∫|f″| of the hat": bend},
        summary=f"the hat weighs {bend.middle:g} and has {spectral.middle:.10g} up to Λ = {cut:g}, without end",
    )


def network_evidence(description: Description, fixed: Evidence) -> Evidence:
    """The variation norm of a network, beside the facts on the hat."""
    found = variation(description)
    weights = f"variation norm {found.least.middle:.6g}, its neurons weigh {found.given.middle:.6g}"
    return Evidence(
        claims=(*found.claims, *fixed.claims),
        as_printed=fixed.as_printed,
        charts=(*((measure_chart(found.function),) if found.function else ()), norms_chart(None, "")),
        numbers={
            "variation norm": found.least,
            "mass of the neurons": found.given,
            "kinks": found.kinks,
            **fixed.numbers,
        },
        summary=f"{weights}; {found.kinks} kinks, so that no extension has a finite C_f" if found.kinks else weights,
    )


def drawn(problem: Problem, rng: np.random.Generator, draws: int) -> Evidence:
    """A function of finite Barron norm as the mean of steps that are drawn from its spectrum."""
    ball, (ratio, worst), neurons = problem.ball, problem.growth(), problem.neurons(rng, draws)
    far = int(np.linalg.norm(ball.offsets, axis=1).argmax())
    values = neurons.on(ball.offsets[far : far + 1])[:, 0]
    largest = 2 * ball.radius * problem.moment  # of a coefficient
    mass = mean(np.abs(neurons.coefficients), within=(0.0, largest))
    most = Enclosure.equal(largest)
    drawn_value = mean(values, within=(-largest, largest))
    return Evidence(
        claims=(
            AtMost("largest |f − f(x₀)| / (C_f |x − x₀|)", ratio, Enclosure.exact(1), witness=worst),
            Identity("f − f(x₀) = mean of the neurons", drawn_value, Enclosure.equal(float(problem.wanted[far]))),
            AtMost("∫|μ| dρ ≤ 2rC_f", mass, most),
        ),
        numbers={"∫|μ| dρ": mass, "2rC_f": most},
        summary=f"∫|μ|dρ = {mass.middle:.5g}, at most {most.middle:.5g}",
    )


def norms_chart(found: Spectral | None, name: str) -> Curves:
    """The spectral norm up to a frequency: of the hat, without end, beside its variation norm; and of the subject."""
    cuts = np.geomspace(1, 1e5, 80)
    hat = [hat_norm(float(c)).middle for c in cuts]
    line = 2 / pi * (np.euler_gamma + np.log(cuts))
    series = [
        Series("hat: variation norm", cuts[[0, -1]], [4.0, 4.0], "bound"),
        Series("hat: spectral norm", cuts, hat, "measured"),
        Series("(2/π)(γ + ln Λ)", cuts, line, "reference"),
    ]
    if found is not None:
        reached = np.geomspace(min(1.0, found.cut / 10), found.cut, 60)
        series.append(Series(name, reached, [found.up_to(float(c)) for c in reached], "other"))
    return Curves("truncated spectral norm", Axis("frequency Λ", "log"), Axis("∫|ω||f̂| up to Λ"), tuple(series))


def measure_chart(f: PiecewiseAffine) -> Curves:
    """A function on the line with the neurons that make it: their masses stand at their kinks."""
    atoms = lightest(f)
    kinks = f.kinks or (Fraction(0),)
    room = max((kinks[-1] - kinks[0]) / 4, Fraction(1))
    drawn = Series("f", *f.corners(kinks[0] - room, kinks[-1] + room), "measured")
    bars: list[tuple[Sequence[float], Sequence[float]]] = [
        ([float(t)] * 2, [0.0, float(a)]) for a, _, t in atoms.neurons[:200]
    ]
    x, y = (np.concatenate([[*bar[i], np.inf] for bar in bars] or [np.full(1, np.inf)]) for i in (0, 1))
    return Curves(
        "the function and its neurons", Axis("x"), Axis("value, mass"), (drawn, Series("mass a", x, y, "other"))
    )
