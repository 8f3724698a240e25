"""Planted false hypotheses: subjects that violate what a theorem asks in a way that a simple look misses.

No hypothesis about such a subject may be *proved*, so that no verdict on it can be above *consistent*.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.approximation.suprema import bounds_of, supremum
from ftheta.catalogue import theorems
from ftheta.graph.certain import bounds_over, polynomial_degree
from ftheta.logic import Finding, Verdict
from ftheta.logic.knob import parse_knobs
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.subjects import Network, Target, Training
from ftheta.subjects.continuity import bounded_part

from . import Trial

Scalar = Callable[[Any], Any]


def findings(theorem: str, subject: Any) -> list[Finding]:
    """What the hypotheses of a theorem say of a subject, at the default knobs."""
    chosen = theorems()[theorem]
    with jax.enable_x64(True), np.errstate(all="ignore"):
        return [
            hypothesis(subject, parse_knobs(chosen.settings, {})) for hypothesis in chosen.assumes
        ]


def believed(theorem: str, subject: Any, case: str) -> str | None:
    """The fault, if the hypotheses allow a verdict above consistent."""
    found = findings(theorem, subject)
    cap = max((finding.cap for finding in found), key=lambda verdict: verdict.rank)
    if cap.rank >= Verdict.CONSISTENT.rank:
        return None
    return f"{theorem} on {case}: all proved, {'; '.join(finding.why for finding in found)}"


def asked(theorem: str, subject: Any, word: str) -> Finding:
    """What the one hypothesis that has the word in it says of the subject."""
    chosen = theorems()[theorem]
    (hypothesis,) = [h for h in chosen.assumes if word in h.says]
    with jax.enable_x64(True), np.errstate(all="ignore"):
        return hypothesis(subject, parse_knobs(chosen.settings, {}))


def pick(rng: np.random.Generator, options: list[Any]) -> Any:
    return options[int(rng.integers(len(options)))]


# ---- objectives ------------------------------------------------------------------------------------------------


def convex_matrix(rng: np.random.Generator, d: int) -> np.ndarray:
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    H = turn @ np.diag(rng.uniform(0.5, 5.0, d)) @ turn.T
    return (H + H.T) / 2


@jax.custom_jvp
def flat_slope(x: Any) -> Any:
    """x⁴, with a derivative that says 0."""
    return x**4


flat_slope.defjvp(lambda primals, tangents: (primals[0] ** 4, 0.0 * tangents[0]))


def extra_terms(rng: np.random.Generator) -> dict[str, Scalar]:
    """What no quadratic is, and a look at the start does not see."""
    size = 10.0 ** rng.uniform(-7, -1)
    far = float(rng.uniform(3, 200))
    return {
        f"{size:.2g} θ⁴": lambda t: size * jnp.sum(t**4),
        f"{size:.2g} θ³": lambda t: size * t[0] ** 3,
        f"{size:.2g} (1 − cos θ)": lambda t: size * jnp.sum(1 - jnp.cos(t)),
        f"a bend {far:.3g} away": lambda t: size * jnp.sum(jnp.maximum(jnp.abs(t) - far, 0.0) ** 2),
        "a hidden gradient": lambda t: size * jnp.sum(t * jax.lax.stop_gradient(t)),
        "a lying gradient": lambda t: size * jnp.sum(flat_slope(t)),
    }


QUADRATIC = ["gd-strongly-convex", "first-order-family", "function-classes", "gd-step-regimes"]


def no_quadratic(rng: np.random.Generator) -> str | None:
    """F is ½θᵀHθ and a little more, with the Hessian H that is stated."""
    d = int(rng.integers(1, 5))
    H = convex_matrix(rng, d)
    name, more = pick(rng, list(extra_terms(rng).items()))
    run = Training(
        "planted", lambda t: t @ (H @ t) / 2 + more(t), rng.normal(size=d), np.zeros(d), hessian=H
    )
    return believed(pick(rng, QUADRATIC), run, f"a quadratic of {d} and {name}")


def wrong_hessian(rng: np.random.Generator) -> str | None:
    """F is a quadratic, with another Hessian than the one that is stated."""
    d = int(rng.integers(1, 5))
    H = convex_matrix(rng, d)
    off = 10.0 ** rng.uniform(-7, -1)
    told = H.copy()
    told[0, 0] += off
    run = Training(
        "planted", lambda t: t @ (H @ t) / 2, rng.normal(size=d), np.zeros(d), hessian=told
    )
    return believed(pick(rng, QUADRATIC), run, f"a Hessian that is off by {off:.3g}")


def wrong_minimiser(rng: np.random.Generator) -> str | None:
    """F has its minimum elsewhere than where it is stated."""
    d = int(rng.integers(1, 5))
    H = convex_matrix(rng, d)
    centre = rng.normal(size=d)
    off = 10.0 ** rng.uniform(-6, 0)
    told = centre + off * np.eye(d)[0]
    bowl = lambda t: (t - centre) @ (H @ (t - centre)) / 2
    run = Training("planted", bowl, centre + rng.normal(size=d), told, hessian=H)
    return believed(pick(rng, QUADRATIC), run, f"a minimiser that is off by {off:.3g}")


def not_bounded_below(rng: np.random.Generator) -> str | None:
    """F falls for ever, or below the minimum that is stated."""
    slope = 10.0 ** rng.uniform(-6, 0)
    local = float(rng.uniform(2.0, 4.0))
    objectives: dict[str, tuple[Scalar, np.ndarray | None]] = {
        "slope": (lambda t: slope * t[0], None),
        "cosine and slope": (lambda t: jnp.sum(jnp.cos(t)) + slope * t[0], None),
        "−θ²": (lambda t: -slope * jnp.sum(t**2) / 2, np.zeros(2)),
        "a saddle": (lambda t: slope * t[0] * t[1], np.zeros(2)),
        "θ³": (lambda t: slope * t[0] ** 3, np.zeros(2)),
        "−softplus": (lambda t: -jnp.sum(jax.nn.softplus(t)), None),
        "a local minimum": (lambda t: jnp.sum(1 - jnp.cos(t)) + slope * t[0], None),
        "a cap": (lambda t: jnp.sum(jnp.cos(t)), np.zeros(2)),
        "θ tanh, upside down": (lambda t: -jnp.sum(t * jnp.tanh(t)), np.zeros(2)),
    }
    name, (F, optimum) = pick(rng, list(objectives.items()))
    run = Training("planted", F, np.full(2, local), optimum, smoothness=1e6)
    return believed("nonconvex-stationarity", run, f"{name} with slope {slope:.3g}")


def not_smooth(rng: np.random.Generator) -> str | None:
    """F bends more than is claimed: in a small place, far away, or at a kink."""
    place = float(rng.uniform(-30, 30))
    width = 10.0 ** rng.uniform(-4, 0)
    extra: dict[str, Scalar] = {
        "a kink": lambda t: width * jnp.sum(jnp.abs(t - place)),
        "a relu": lambda t: width * jnp.sum(jax.nn.relu(t - place)),
        "a narrow bump": lambda t: width**2 * jnp.sum(jnp.exp(-(((t - place) / width) ** 2))),
        "a far bowl": lambda t: jnp.sum(jnp.maximum(jnp.abs(t) - 50 - abs(place), 0.0) ** 2),
        "a quartic": lambda t: width * jnp.sum(t**4),
        "a hidden gradient": lambda t: jnp.sum(t * jax.lax.stop_gradient(t)),
    }
    name, more = pick(rng, list(extra.items()))
    run = Training(
        "planted", lambda t: jnp.sum(1 - jnp.cos(t)) + more(t), np.array([0.5]), smoothness=1.0
    )
    return believed("nonconvex-stationarity", run, f"{name} of width {width:.3g} at {place:.3g}")


# ---- functions of one variable -----------------------------------------------------------------------------------


def polynomial_programs(c: np.ndarray) -> dict[str, Scalar]:
    """One polynomial, computed in several ways."""
    roots = np.round(np.tanh(c) * 2, 3)

    def horner(x: Any) -> Any:
        value = 0.0 * x
        for a in c:
            value = value * x + a
        return value

    def product(x: Any) -> Any:
        value = 1.0 + 0.0 * x
        for root in roots:
            value = value * (x - root)
        return value

    powers = lambda x: sum(float(a) * x**k for k, a in enumerate(c))
    return {
        "Horner": horner,
        "roots": product,
        "powers": powers,
        "a dot product": lambda x: jnp.dot(
            jnp.asarray(c), jnp.stack([x**k for k in range(len(c))])
        ),
        "two equal branches": lambda x: jnp.where(x > 0.3, powers(x), powers(x)),
        "another value at a point": lambda x: jnp.where(x == 0.25, 7.0, powers(x)),
        "exponentials that cancel": lambda x: powers(x) * jnp.exp(x) * jnp.exp(-x),
        "a bounded part that cancels": lambda x: powers(x) + jnp.tanh(x) - jnp.tanh(x),
        "a constant in disguise": lambda x: jnp.sin(x) ** 2 + jnp.cos(x) ** 2,
        "a logarithm undone": lambda x: jnp.log(jnp.exp(x)),
    }


def is_a_polynomial(rng: np.random.Generator) -> str | None:
    """The activation is a polynomial of degree up to 15, whatever its program looks like."""
    c = rng.normal(size=int(rng.integers(2, 17)))
    name, f = pick(rng, list(polynomial_programs(c).items()))
    theorem = pick(rng, ["uat-nonpolynomial-iff", "activation-zoo"])
    found = asked(theorem, Target("planted", f, (-2.0,), (2.0,)), "polynomial")
    if found.cap.rank >= Verdict.CONSISTENT.rank:
        return None
    return f"{theorem}: degree {len(c) - 1} by {name} is said to be no polynomial: {found.why}"


def is_no_polynomial(rng: np.random.Generator) -> str | None:
    """A program that is no polynomial is not called one, and a bounded one is told from all polynomials."""
    a, b, shift = (float(v) for v in rng.uniform(0.2, 3.0, 3))
    programs: dict[str, tuple[Scalar, bool]] = {
        "tanh": (lambda x: a * jnp.tanh(b * x + shift), True),
        "sine": (lambda x: a * jnp.sin(b * x + shift), True),
        "bump": (lambda x: a * jnp.exp(-b * x * x), True),
        "exponential": (lambda x: a * jnp.exp(b * x), True),
        "absolute value": (lambda x: a * jnp.abs(x - shift), False),
        "relu of a square": (lambda x: jax.nn.relu(a * x * x - b), False),
        "quotient": (lambda x: a / (b + x * x), True),
    }
    name, (f, bounded) = pick(rng, list(programs.items()))
    with jax.enable_x64(True):
        degree = polynomial_degree(f, 0.0)
        part = bounded_part(f)
    if degree is not None:
        return (
            f"{name} with {a:.3g}, {b:.3g}, {shift:.3g} was called a polynomial of degree {degree}"
        )
    return (
        f"{name} with {a:.3g}, {b:.3g}, {shift:.3g} has no bounded part"
        if bounded and part is None
        else None
    )


@jax.custom_jvp
def relu(x: Any) -> Any:
    """A step that bears the name, and a derivative, of something else."""
    return jnp.where(x > 0.37, 1.0, 0.0)


relu.defjvp(lambda primals, tangents: (relu(primals[0]), 0.0 * tangents[0]))


def jumping(rng: np.random.Generator) -> dict[str, Scalar]:
    place = float(rng.uniform(-0.9, 0.9))
    return {
        "floor": lambda x: jnp.floor(x - place),
        "a whole number": lambda x: (x - place).astype(int).astype(float) + 0.0,
        "an index": lambda x: jnp.array([0.0, 1.0])[jnp.argmax(jnp.stack([place + 0.0 * x, x]))],
        "a false name": lambda x: relu(x),
        "an angle": lambda x: jnp.arctan2(x - place, -1.0 + 0.0 * x),
        "a pole": lambda x: 1 / (x - place),
        "a pole of the tangent": lambda x: jnp.tan(x - place + np.pi / 2),
        "a negative power": lambda x: (x - place) ** -2,
        "a quotient of sizes": lambda x: (x - place) / jnp.abs(x - place),
        "a sign": lambda x: jnp.sign(x - place),
        "a remainder": lambda x: jnp.mod(x - place, 0.5),
        "a logarithm": lambda x: jnp.log(jnp.abs(x - place)),
    }


def is_not_continuous(rng: np.random.Generator) -> str | None:
    """The function jumps, or has a pole, inside its interval."""
    name, f = pick(rng, list(jumping(rng).items()))
    theorem = pick(rng, ["stone-weierstrass", "uat-step1-ridge-exponentials"])
    found = asked(theorem, Target("planted", f, (-1.0,), (1.0,)), "continuous")
    if found.cap.rank >= Verdict.CONSISTENT.rank:
        return None
    return f"{theorem}: {name} was called continuous: {found.why}"


def largest_value(rng: np.random.Generator) -> str | None:
    """The largest |e| on an interval is enclosed, whatever derivative the program claims."""
    place = float(rng.uniform(-0.9, 0.9))
    size = float(rng.uniform(0.5, 20.0))

    @jax.custom_jvp
    def softplus(x: Any) -> Any:
        return size * jnp.exp(-(((x - place) / 1e-3) ** 2))

    softplus.defjvp(lambda primals, tangents: (softplus(primals[0]), 0.0 * tangents[0]))
    programs: dict[str, Scalar] = {
        "a false name": lambda x: softplus(x),
        "a hidden gradient": lambda x: (
            size * jax.lax.stop_gradient(jnp.exp(-(((x - place) / 1e-3) ** 2)))
        ),
        "an honest spike": lambda x: size * jnp.exp(-(((x - place) / 1e-3) ** 2)),
    }
    name, e = pick(rng, list(programs.items()))
    with jax.enable_x64(True):
        found = supremum(bounds_of(e, 1), (-1.0,), (1.0,), budget=20_000).value
    return (
        None
        if found.hi >= size * (1 - 1e-12)
        else f"{name} at {place:.6g}: at most {found.hi:.6g}, true {size:.6g}"
    )


def values_on_a_box(rng: np.random.Generator) -> str | None:
    """Bounds over the line or a half-line hold at far and near points."""
    a, b, c = (float(v) for v in rng.normal(size=3))
    programs: dict[str, Scalar] = {
        "rational": lambda x: (a * x + b) / (1 + x * x),
        "damped": lambda x: a * x * jnp.exp(-x * x) + b,
        "gate": lambda x: a * x * jax.nn.sigmoid(b * x) + c,
        "bowl": lambda x: x * x + a * x + b * jnp.sin(c * x),
        "log": lambda x: jnp.log(1 + jnp.exp(a * x)) - b * x,
    }
    name, f = pick(rng, list(programs.items()))
    lo, hi = pick(rng, [(-np.inf, np.inf), (-np.inf, 0.0), (0.0, np.inf)])
    x = np.concatenate([rng.normal(size=20), rng.normal(size=20) * 10.0 ** rng.uniform(-6, 2, 20)])
    x = x[(x >= lo) & (x <= hi)]
    with jax.enable_x64(True):
        box = bounds_over(f, lo, hi)
        seen = np.asarray(jax.vmap(f)(x))
    seen = seen[np.isfinite(seen)]
    if box is None or not len(seen):
        return None
    slack = 1e-9 * (1 + np.abs(seen).max())
    inside = float(box.lo) <= seen.min() + slack and seen.max() - slack <= float(box.hi)
    return (
        None
        if inside
        else f"{name} with {a:.3g}, {b:.3g}, {c:.3g}: {seen.min()} to {seen.max()} not in {box}"
    )


# ---- networks that are not their description -----------------------------------------------------------------------


class Other(Description):
    """A list of layers that computes something else."""

    def apply(self, params: Any, x: Any) -> Any:
        return super().apply(params, x) + 1e-3


def misdescribed(rng: np.random.Generator) -> tuple[str, Network]:
    """A network whose description is not what it computes, and what is wrong with it."""
    told = random_mlp(rng, (1, 4, 1), "relu", bias=0.5)
    far = float(rng.uniform(20, 500))
    off = 10.0 ** rng.uniform(-12, 0)
    changed = [(weight.copy(), bias.copy()) for weight, bias in told.params]
    changed[0][0][0, 0] += off
    other = Description(
        (Dense(told.layers[0].weight + off, told.layers[0].bias, "relu"), *told.layers[1:])
    )
    method = MethodType(
        lambda self, params, x: Description.apply(self, params, x) * (1 + off), told
    )
    false = Other(told.layers)
    beyond = lambda params, x: told.apply(params, x) + jax.nn.relu(jnp.sum(jnp.abs(x)) - far)
    networks = {
        "another method": Network("planted", method, told.params, (1,), told),
        "a subclass": Network("planted", false.apply, false.params, (1,), false),
        "one other weight": Network("planted", told.apply, changed, (1,), told),
        "another list": Network("planted", other.apply, other.params, (1,), told),
        f"a term beyond {far:.3g}": Network("planted", beyond, told.params, (1,), told),
    }
    return pick(rng, list(networks.items()))


READ_LAYERS = [
    *(
        "activation-zoo",
        "depth-conventions",
        "hat-function",
        "lipschitz-bounds",
        "max-network",
        "measure-representation",
    ),
    *(
        "mean-field-limit",
        "ntk-kernel",
        "pieces-1d",
        "relu-exact-arithmetic",
        "signal-propagation-init",
    ),
]


def another_function(rng: np.random.Generator) -> str | None:
    """The list of layers is not what the network computes."""
    case, net = misdescribed(rng)
    return believed(pick(rng, [id for id in READ_LAYERS if id in theorems()]), net, case)


TRIALS = (
    Trial(
        "hypotheses: quadratic",
        "what is not quite a quadratic proved to be one",
        no_quadratic,
        few=8,
    ),
    Trial("hypotheses: Hessian", "a wrong Hessian proved", wrong_hessian, few=6),
    Trial("hypotheses: minimiser", "a wrong minimiser proved", wrong_minimiser, few=6),
    Trial(
        "hypotheses: bounded below",
        "what falls for ever proved to be bounded",
        not_bounded_below,
        few=8,
    ),
    Trial(
        "hypotheses: smooth", "what bends more than claimed proved to be smooth", not_smooth, few=8
    ),
    Trial("hypotheses: polynomials", "a polynomial proved to be none", is_a_polynomial, few=5),
    Trial(
        "hypotheses: no polynomials", "what is no polynomial called one", is_no_polynomial, few=7
    ),
    Trial(
        "hypotheses: continuous", "what jumps proved to be continuous", is_not_continuous, few=12
    ),
    Trial("hypotheses: supremum", "a largest value outside its enclosure", largest_value, few=4),
    Trial(
        "hypotheses: everywhere",
        "a value outside bounds over all of space",
        values_on_a_box,
        few=10,
    ),
    Trial(
        "hypotheses: layers",
        "layers believed that compute something else",
        another_function,
        few=11,
    ),
)
