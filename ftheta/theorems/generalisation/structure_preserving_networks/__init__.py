"""Structure by construction: symplectic, convex, monotone, and physics in the loss."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import (
    AtMost,
    Basis,
    Claim,
    Converges,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Status,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import random_mlp
from ftheta.pieces.normal_forms import normal_form
from ftheta.subjects import Network
from ftheta.subjects.layers import describes_this_function

from . import shears
from .certificates import Test
from .charts import draw_function, draw_pendulum, draw_solutions
from .hamiltonian import largest_power, measure_drifts
from .physics import Collocated, measure_residual, project, solution, train_informed, violation
from .signs import draw_input_convex, with_signs
from .structured import POINTS, Structured, enclose_excess

PROPERTIES = ("symplectic", "convex", "monotone", "physics", "any")
ZERO = Enclosure.exact(0)
TOLERANCE = 1e-9
EXCESS = {
    "convex": "largest f(a) + ⟨∇f(a), b − a⟩ − f(b)",
    "monotone": "largest fall of f in an input",
    "symplectic": "largest entry of |JᵀΩJ − Ω|",
}
Numbers = dict[str, Enclosure | float]


def build_network(
    rng: np.random.Generator,
    *,
    property: Annotated[str, Knob(says="which structure", choices=PROPERTIES)] = "symplectic",
    hidden: Annotated[
        str, Knob(says="activation", symbol="σ", choices=("relu", "softplus", "tanh"))
    ] = "relu",
    width: Annotated[int, Knob(1, 8, "neurons per layer", "m", most=32)] = 4,
) -> Network:
    if property == "symplectic":
        return Network(
            "SympNet", shears.SympNet(hidden), shears.draw_shears(rng, 1, width, 4), (2,)
        )
    if property == "physics":
        return Network.described(
            train_informed(rng, 4 * width, 20, 1500), "network trained on u′ = −u"
        )
    if property == "convex" and hidden == "relu":
        return Network("input-convex network", *draw_input_convex(rng, 2, width), (2,))
    layers = random_mlp(rng, (2, width, width, 1), hidden, bias=0.5)
    layers = layers if property == "any" else with_signs(layers, first=property == "monotone")
    return Network.described(layers, f"{property} network")


def make_euler_step(rng: np.random.Generator) -> Network:
    return Network.of(
        lambda z: jnp.array([z[0] + 0.1 * z[1], z[1] - 0.1 * jnp.maximum(z[0], 0)]),
        (2,),
        "Euler step",
    )


def subject_of(net: Network) -> Structured:
    """The network as a function of a flat input, with what may prove its structure."""
    d = int(np.prod(net.input_shape))
    f = lambda x: jnp.ravel(net.apply(net.params, x.reshape(net.input_shape)))
    rows = None if net.data is None else net.data.x.reshape(len(net.data), d)
    layers = net.description if describes_this_function.check(net).status is Status.PROVED else None
    sympnet = shears.exact_map(net.params) if net.apply == shears.SympNet("relu") else None
    return Structured(
        net.name,
        d,
        f,
        normal_form(net),
        layers,
        sympnet,
        rows,
        isinstance(net.apply, shears.SympNet),
    )


@hypothesis(
    "the network is built so: shears for symplectic, signs of weights for convex and monotone",
    remedy="ask for --property any to see what it has; non-negative weights and convex, monotone activations",
)
def built_so(net: Network, *, property: str, output: int) -> Finding:
    given = subject_of(net)
    if property == "physics":
        sizes = (given.dimension, int(np.prod(net.output_shape)))
        return Finding.decide(
            sizes == (1, 1), f"inputs and outputs: {sizes}", "counted", basis=Basis.EXACT
        )
    if property == "any":
        return Finding.proved("nothing is asked", "an empty statement")
    holds = given.by_construction(output)[property]
    note = f"{property} by construction" if holds else f"nothing in its layers makes it {property}"
    return Finding.decide(
        holds, note, "its signs", basis=Basis.EXACT if given.shears else normal_form(net).basis
    )


@theorem(
    title="Networks that preserve a structure",
    gist="Shears make a network symplectic, signs of the weights make it convex or monotone, on all inputs and before "
    "any training; a penalty in the loss promises nothing between the points where it was measured.",
    see_also=(
        "group-equivariant-linear-maps",
        "convex-cpa-and-dc",
        "flow-diffeomorphism",
        "extrapolation-ood",
    ),
    sources=("murari-slides", "jin2020", "amos2017", "greydanus2019", "raissi2019", "hairer1993"),
    assumes=(built_so,),
    on=build_network,
    breaks_on=make_euler_step,
    presets={
        "textbook": {},
        "long time": {"h": 0.5, "steps": 200},
        "input-convex": {"property": "convex"},
        "smooth and convex": {"property": "convex", "hidden": "softplus"},
        "monotone": {"property": "monotone", "hidden": "tanh"},
        "physics-informed": {"property": "physics"},
        "anything": {"property": "any"},
        "broken on purpose": {"property": "convex", "hidden": "tanh"},
    },
    audited=False,
)
def structure_preserving_networks(
    net: Network,
    rng: np.random.Generator,
    *,
    property: Annotated[str, Knob(says="which structure", choices=PROPERTIES)] = "symplectic",
    h: Annotated[float, Knob(0.01, 1, "step of leapfrog and Euler", "h", log=True, most=1.9)] = 0.1,
    steps: Annotated[int, Knob(1, 300, "steps of the oscillator", "k", most=1000)] = 100,
    degree: Annotated[int, Knob(1, 16, "degree of the collocation polynomial", "n", most=24)] = 8,
    output: Annotated[int, Knob(0, 9, "which output", "j", most=10_000)] = 0,
) -> Evidence:
    r"""Compositions of shears (leapfrog, SympNets) satisfy $J^\top\Omega J=\Omega$, Euler's step has $\det J=1+h^2$ and
    multiplies the energy of $q''=-q$ by $1+h^2$. Non-negative weights and monotone $\sigma$ give monotone networks;
    non-negative weights between hidden layers, free weights from the input and convex non-decreasing $\sigma$ convex
    ones. If $|u'+u|\le\varepsilon$ on $[0,1]$, then $|u(1)-e^{-1}|\le e^{-1}|u(0)-1|+(1-e^{-1})\varepsilon$: a loss
    that is zero at points does not say so between them."""
    given = subject_of(net)
    if property == "physics":
        return _solve_equation(given, degree)
    found = given.test(rng, output, property)
    built = given.by_construction(output)
    claims: list[Claim] = []
    for name, test in found.items():
        if property == "any" and not built[name] and not _holds(name, test):
            claims.append(_claim_failure(given, name, test, output))
        else:
            claims.append(_claim_property(given, name, test, output))
    numbers: Numbers = {f"worst, {name}": float(test.excess) for name, test in found.items()}
    if given.pieces is not None:
        numbers |= {"cells": Enclosure.exact(len(given.pieces[0]))}
    examples = None
    if property in ("symplectic", "any"):
        seed = rng.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
        examples = partial(_examples, seed, h, steps)
    summary = "; ".join(f"{name}: {_describe(name, test)}" for name, test in found.items())
    return Evidence(
        claims=tuple(claims),
        charts=() if property == "symplectic" else draw_function(given, output),
        numbers=numbers,
        tables=(_tabulate(found, built),),
        summary=f"{given.name}: {summary}",
        examples=examples,
    )


# ---- symplectic, convex, monotone -----------------------------------------------------------------------------------


def _claim_property(given: Structured, name: str, test: Test, output: int) -> Claim:
    """That the property holds: of all pieces, or of points with a witness for the contrary."""
    where = "on all cells" if test.everywhere else f"at {test.points} points"
    witness = None
    if float(test.excess) > TOLERANCE:
        again = enclose_excess(given, name, test, output)
        witness = Witness(
            _place(test), again, ZERO, "derivatives at this point, in intervals rounded outward"
        )
    kind = Identity if name == "symplectic" else AtMost
    return kind(
        f"{EXCESS[name]}, {where}", _enclose(given, test), ZERO, witness=witness, atol=TOLERANCE
    )


def _claim_failure(given: Structured, name: str, test: Test, output: int) -> Claim:
    """That the property fails somewhere, with the place."""
    excess = _enclose(given, test) if test.everywhere else enclose_excess(given, name, test, output)
    return Exists(
        f"a place where it is not {name}",
        _place(test),
        -excess,
        Enclosure.exact(-Fraction(1, 10**9)),
    )


def _enclose(given: Structured, test: Test) -> Enclosure:
    if not test.everywhere:
        return Enclosure.measured(float(test.excess), samples=test.points)
    is_exact = given.pieces is not None and given.pieces[1] is Basis.EXACT
    return Enclosure.exact(test.excess) if is_exact else Enclosure.equal(float(test.excess))


def _place(test: Test) -> dict[str, tuple[float, ...]]:
    return {"x": test.at} | ({"b": test.towards} if test.towards else {})


def _holds(name: str, test: Test) -> bool:
    excess = float(test.excess)
    return abs(excess) <= TOLERANCE if name == "symplectic" else excess <= TOLERANCE


def _describe(name: str, test: Test) -> str:
    if not _holds(name, test):
        return "fails"
    return "holds everywhere" if test.everywhere else f"nothing against it at {test.points} points"


def _tabulate(found: dict[str, Test], built: dict[str, bool]) -> Table:
    rows = []
    for name, test in found.items():
        where = (
            "(" + ", ".join(f"{v:.3g}" for v in test.at[:4]) + (", …)" if len(test.at) > 4 else ")")
        )
        made = "yes" if built[name] else "not shown"
        rows.append((name, made, _describe(name, test), float(test.excess), where))
    return Table(
        "certificate", ("property", "by construction", "tested", "worst", "where"), tuple(rows)
    )


# ---- physics in the loss --------------------------------------------------------------------------------------------


def _solve_equation(given: Structured, degree: int) -> Evidence:
    r"""The residual of the network on $u'=-u$, $u(0)=1$ bounds its error at 1."""
    u = measure_residual(given.f, given.layers)
    what = "|u(1) − e⁻¹| ≤ e⁻¹|u(0) − 1| + (1 − e⁻¹) sup|u′ + u|, network"
    numbers: Numbers = {
        "u(1) of the solution": solution(),
        "u(1) of the network": float(u.u[-1]),
        "largest residual of the network": u.residual,
    }
    return Evidence(
        claims=(AtMost(what, u.error, u.bound),),
        charts=draw_solutions(u, degree),
        numbers=numbers,
        summary=f"u(1) = {u.u[-1]:.6g} for e⁻¹ = 0.367879; the residual allows an error of {u.bound.hi:.3g}",
        examples=partial(_physics_examples, degree),
    )


def _physics_examples(degree: int) -> Examples:
    """A polynomial whose loss is zero at its points, and a constraint that a projection keeps."""
    polynomial = Collocated.of(degree)
    at_one = Enclosure.exact(polynomial(Fraction(1)))
    gap = at_one - solution()
    off = Enclosure.between(max(gap.lo, -gap.hi, 0.0), max(abs(gap.lo), abs(gap.hi)))
    bound = (Enclosure.exact(1) - solution()) * polynomial.largest_residual
    A = [[Fraction(1)] * 3, [Fraction(1), Fraction(2), Fraction(3)]]
    b = [Fraction(1), Fraction(2)]
    out = project(A, b, [Fraction(3, 7), Fraction(-2), Fraction(1, 3)])
    return Examples(
        claims=(
            Identity(
                f"loss of a polynomial of degree {degree} at its points",
                Enclosure.exact(polynomial.loss),
                ZERO,
            ),
            AtMost("its |u(1) − e⁻¹| ≤ (1 − e⁻¹) sup|u′ + u|", off, bound),
            Identity(
                "|Ax − b| for x = y − Aᵀ(AAᵀ)⁻¹(Ay − b)",
                Enclosure.exact(violation(A, b, out)),
                ZERO,
            ),
        ),
        numbers={"u(1) of the polynomial": at_one},
    )


# ---- leapfrog, Euler, and a Hamiltonian network ---------------------------------------------------------------------


def _oscillator_numbers(h: float, steps: int) -> Numbers:
    leap = shears.leapfrog_matrix(Fraction(h))
    euler = shears.euler_matrix(Fraction(h))
    return {
        "det of leapfrog": Enclosure.exact(shears.determinant(leap)),
        "det of Euler": Enclosure.exact(shears.determinant(euler)),
        "energy factor of Euler": Enclosure.exact(shears.energy_after(euler, steps)),
        "energy factor of leapfrog": Enclosure.exact(shears.energy_after(leap, steps)),
    }


def _examples(seed: np.random.SeedSequence, h: float, steps: int) -> Examples:
    r"""Leapfrog and Euler on $q'=p$, $p'=-q$, in rationals; a network as energy $H$, whose flow $\dot x=\Omega\nabla H$
    keeps it, and a Runge–Kutta method nearly does."""
    step = Fraction(h)
    leap = shears.leapfrog_matrix(step)
    euler = shears.euler_matrix(step)
    before, after = shears.energy_forms(step)
    zero = {
        "leapfrog: largest entry of |JᵀΩJ − Ω|": shears.exact_defect(leap),
        "leapfrog: change of p² + (1 − h²/4)q² in a step": max(
            abs(a - b) for one, two in zip(before, after) for a, b in zip(one, two)
        ),
        "Euler: det J − (1 + h²)": shears.determinant(euler) - 1 - step**2,
        f"Euler: energy after {steps} steps − (1 + h²)^{steps}": shears.energy_after(euler, steps)
        - (1 + step**2) ** steps,
    }
    rng = np.random.default_rng(seed)
    net = random_mlp(rng, (2, 16, 1), "tanh", bias=1.0)
    lengths = np.array([0.2, 0.1, 0.05, 0.025])
    power = Enclosure.measured(largest_power(net, rng.normal(size=(POINTS, 2))), samples=POINTS)
    drifts = tuple(map(Enclosure.equal, measure_drifts(net, lengths)))
    scales = tuple((1 / lengths).tolist())
    drift = "largest change of H up to time 8, Runge–Kutta steps of length 1/scale"
    claims = (
        *(Identity(what, Enclosure.exact(off), ZERO) for what, off in zero.items()),
        Identity(
            f"dH/dt = ⟨∇H, Ω∇H⟩ of a Hamiltonian network, at {POINTS} points",
            power,
            ZERO,
            atol=1e-12,
        ),
        Converges(drift, ZERO, drifts, scales, 1e-3),
    )
    return Examples(claims, draw_pendulum(h, steps), numbers=_oscillator_numbers(h, steps))
