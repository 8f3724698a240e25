"""Hypotheses on functions of one variable: continuous targets, activations that are no polynomials."""

from math import isfinite

from ftheta.limits.universality.suprema import Oscillation, without_jumps
from ftheta.logic import Basis, Finding, SubjectError, hypothesis
from ftheta.networks.sheets import sheet

from .kinds import Family, Target


def target_of(subject: Target | Family) -> Target:
    """The function itself, or the limit of the family."""
    goal = subject.limit if isinstance(subject, Family) else subject
    if isinstance(goal, Target):
        return goal
    raise SubjectError("There is no function to approximate.", got=type(goal).__name__, remedy="give a Target")


@hypothesis(r"$f$ is real and continuous on $[a,b]$", remedy="give a Target of one variable without jumps")
def continuous(subject: Target | Family) -> Finding:
    f = target_of(subject)
    if f.dimension != 1:
        return Finding.failed(f"a function of {f.dimension} variables")
    if not isfinite(Oscillation.of(f.f, f.lo[0], f.hi[0]).modulus(f.hi[0] - f.lo[0]).hi):
        return Finding.failed("it may be unbounded on the interval")
    sure = without_jumps(f.f, 1)
    return Finding.proved("no part of its program can jump") if sure else Finding.assumed("its program makes choices")


@hypothesis(r"$\varrho$ is not a polynomial", remedy="take ReLU, tanh or any function that is no polynomial")
def not_a_polynomial(rho: Target, *, degree: int) -> Finding:
    if rho.dimension != 1:
        return Finding.failed(f"a function of {rho.dimension} variables")
    found = sheet(rho.name, rho.f, rho.lo[0], rho.hi[0], degree, 0.0)
    return Finding.decide(not found.polynomial, found.density, basis=Basis.EXACT if found.known else Basis.FLOAT)
