"""Expectations under Gaussian mixtures on the line, as balls: integrals that are enclosed, with their tails."""

from collections.abc import Callable
from dataclasses import dataclass

from flint import acb, arb, ctx

from .mixtures import Mixture

BITS = 96
FAR = 16  # standard deviations of a bump that are integrated over
TAIL = 1e-50  # above ∫ (1 + |z|)² φ(z) dz beyond that
MOST_ATOMS = 16


@dataclass(frozen=True, eq=False)
class LineMixture:
    r"""$\sum_iw_i\mathcal N(a_i,v)$ on the line with $v>0$, all numbers in balls and weights of sum 1."""

    weights: tuple[arb, ...]
    atoms: tuple[arb, ...]
    variance: arb

    @classmethod
    def of(cls, mixture: Mixture, noise: float = 0.0) -> "LineMixture":
        r"""The mixture with noise of this standard deviation added: its variance is $v+\sigma^2$ exactly."""
        with ctx.workprec(BITS):
            weights = [arb(w) for w in mixture.weights.tolist()]
            total = sum(weights, arb(0))
            atoms = tuple(arb(a) for a in mixture.atoms[:, 0].tolist())
            return cls(
                tuple(w / total for w in weights), atoms, arb(mixture.variance) + arb(noise) ** 2
            )

    def mean(self, f: Callable[[acb], acb], growth: arb | float) -> arb:
        r"""$\mathbb Ef(x)$ for `f` that is analytic on the line and takes complex balls, $|f(x)|\le c(1+|x|)^2$ there
        with $c$ = `growth`. The mean over each bump is an integral over 16 standard deviations on either side,
        enclosed, and a bound of the rest."""
        with ctx.workprec(BITS):
            deviation = self.variance.sqrt()
            normal = 1 / (2 * arb.pi()).sqrt()
            total = arb(0)
            for weight, atom in zip(self.weights, self.atoms):

                def integrand(z: acb, _: bool, atom: arb = atom) -> acb:
                    return f(acb(atom) + acb(deviation) * z) * (-(z**2) / 2).exp() * normal

                inner = acb.integral(integrand, -FAR, FAR).real
                rest = arb(growth) * (1 + abs(atom) + deviation) ** 2 * arb(TAIL)
                total += weight * (inner + arb(0, rest.upper()))
            return total

    def posterior_atom(self, x: acb) -> acb:
        r"""$\sum_ir_i(x)a_i$ at a complex ball."""
        shares = [
            w * (-((x - a) ** 2) / (2 * self.variance)).exp()
            for w, a in zip(self.weights, self.atoms)
        ]
        return sum((share * a for share, a in zip(shares, self.atoms)), acb(0)) / sum(
            shares, acb(0)
        )

    def density(self, x: acb) -> acb:
        r"""$p(x)$ at a complex ball."""
        scale = 1 / (2 * arb.pi() * self.variance).sqrt()
        return sum(
            (
                scale * w * (-((x - a) ** 2) / (2 * self.variance)).exp()
                for w, a in zip(self.weights, self.atoms)
            ),
            acb(0),
        )

    def score(self, x: acb) -> acb:
        r"""$(\log p)'(x)$ at a complex ball."""
        return (self.posterior_atom(x) - x) / self.variance
