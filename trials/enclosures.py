"""Enclosures with outward rounding against high precision: intervals of programs, spectral norms, approximations."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx, fmpq  # type: ignore[import-untyped]

from ftheta.certify.norms import spectral_norm
from ftheta.graph import Interval
from ftheta.graph.enclosing import enclose

from . import Trial

BITS = 400
POINTS = 8  # of the box at which a program is evaluated in balls


@dataclass(frozen=True)
class Term:
    """One expression, as a JAX program and in ball arithmetic; both read the list of the inputs."""

    text: str
    program: Callable[[Any], Any]
    balls: Callable[[list[Any]], Any]


_UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (jnp.exp, lambda v: v.exp()),
    "tanh": (jnp.tanh, lambda v: v.tanh()),
    "sin": (jnp.sin, lambda v: v.sin()),
    "cos": (jnp.cos, lambda v: v.cos()),
    "atan": (jnp.arctan, lambda v: v.atan()),
    "erf": (jax.lax.erf, lambda v: v.erf()),
    "abs": (jnp.abs, lambda v: abs(v)),
    "square": (jnp.square, lambda v: v * v),
    "sqrt1p": (lambda v: jnp.sqrt(1 + v * v), lambda v: (1 + v * v).sqrt()),
    "log1p": (lambda v: jnp.log1p(v * v), lambda v: (v * v).log1p()),
    "logistic": (jax.nn.sigmoid, lambda v: 1 / (1 + (-v).exp())),
    "relu": (lambda v: jnp.maximum(v, 0.0), lambda v: v.max(arb(0))),
}
_BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "+": (lambda a, b: a + b, lambda a, b: a + b),
    "-": (lambda a, b: a - b, lambda a, b: a - b),
    "*": (lambda a, b: a * b, lambda a, b: a * b),
    "/": (lambda a, b: a / (1 + b * b), lambda a, b: a / (1 + b * b)),
    "max": (jnp.maximum, lambda a, b: a.max(b)),
    "min": (jnp.minimum, lambda a, b: a.min(b)),
}


def _draw_number(rng: np.random.Generator) -> float:
    """A float of any size: most of them near one, some huge, tiny or zero."""
    exponent = float(
        rng.choice(np.array([0, 0, 0, rng.integers(-30, 30), rng.integers(-300, 300)]))
    )
    return float(rng.choice([rng.standard_normal(), float(rng.integers(-3, 4))]) * 2.0**exponent)


def _draw_term(rng: np.random.Generator, depth: int) -> Term:
    if depth == 0 or rng.random() < 0.1:
        k = int(rng.integers(2))
        if rng.random() < 0.6:
            return Term(f"x{k}", lambda x: x[k], lambda v: v[k])
        number = _draw_number(rng)
        return Term(f"{number!r}", lambda x: jnp.asarray(number), lambda v: arb(number))
    if rng.random() < 0.5:
        name = str(rng.choice(list(_UNARY)))
        inner = _draw_term(rng, depth - 1)
        program, balls = _UNARY[name]
        return Term(
            f"{name}({inner.text})",
            lambda x: program(inner.program(x)),
            lambda v: balls(inner.balls(v)),
        )
    name = str(rng.choice(list(_BINARY)))
    left = _draw_term(rng, depth - 1)
    right = _draw_term(rng, depth - 1)
    join, join_balls = _BINARY[name]
    return Term(
        f"({left.text} {name} {right.text})",
        lambda x: join(left.program(x), right.program(x)),
        lambda v: join_balls(left.balls(v), right.balls(v)),
    )


def _draw_points(rng: np.random.Generator, lo: np.ndarray, hi: np.ndarray) -> list[list[Fraction]]:
    """Corners and inner points of the box, as rationals."""
    points = []
    for _ in range(POINTS):
        weights = [
            Fraction(int(rng.choice(np.array([0, 1000, rng.integers(1001)]))), 1000)
            for _ in range(2)
        ]
        ends = zip(map(Fraction, lo.tolist()), map(Fraction, hi.tolist()))
        points.append([a + t * (b - a) for (a, b), t in zip(ends, weights)])
    return points


def attempt_interval(rng: np.random.Generator) -> str | None:
    """The value of a random program at rational points of a box lies in the interval of the program over the box."""
    term = _draw_term(rng, int(rng.integers(2, 6)))
    middle = np.array([_draw_number(rng) for _ in range(2)])
    radius = np.abs([_draw_number(rng) for _ in range(2)]) * float(rng.choice([0.0, 1e-12, 1.0]))
    lo = middle - radius
    hi = middle + radius
    if not (np.isfinite(lo).all() and np.isfinite(hi).all()):
        return None
    with np.errstate(all="ignore"):
        box = enclose(term.program, Interval(lo, hi))
    if box is None:
        return None  # undefined on a part of the box: nothing is claimed
    with ctx.workprec(BITS):
        for point in _draw_points(rng, lo, hi):
            value = term.balls([arb(fmpq(q.numerator, q.denominator)) for q in point])
            if value < _ball(box.lo) or value > _ball(box.hi):
                return f"{term.text} at {[float(q) for q in point]} is {value}, outside [{box.lo!r}, {box.hi!r}]"
    return None


def _ball(end: Any) -> Any:
    value = float(np.asarray(end))
    if np.isinf(value):
        return arb("+inf") if value > 0 else arb("-inf")
    return arb(value)


def attempt_spectral_norm(rng: np.random.Generator) -> str | None:
    """Both ends of an enclosed spectral norm, by elimination in rationals: hi²·I − AᵀA ⪰ 0, and not lo²·I − AᵀA ≻ 0."""
    rows = int(rng.integers(1, 6))
    columns = int(rng.integers(1, 6))
    A = rng.standard_normal((rows, columns))
    kind = rng.integers(5)
    if kind == 1:
        A = np.outer(A[:, 0], A[0])  # rank one
    if kind == 2:
        # singular values that coincide
        A = np.linalg.qr(rng.standard_normal((5, 5)))[0][:rows, :columns]
    if kind == 3:
        A = A * 2.0 ** rng.integers(-200, 200, size=A.shape)
    if kind == 4:
        A = A * 2.0 ** float(rng.integers(-1000, 1000))
    if not np.isfinite(A).all():
        return None
    found = spectral_norm(A)
    exact = [[Fraction(float(v)) for v in row] for row in A]
    gram = [
        [sum((row[i] * row[j] for row in exact), Fraction(0)) for j in range(columns)]
        for i in range(columns)
    ]
    if np.isfinite(found.hi) and not _is_semidefinite(_shift(gram, Fraction(found.hi) ** 2)):
        return f"the norm of {A.tolist()} exceeds {found.hi!r}"
    if found.lo > 0 and _is_definite(_shift(gram, Fraction(found.lo) ** 2)):
        return f"the norm of {A.tolist()} is below {found.lo!r}"
    return None


def _shift(gram: list[list[Fraction]], square: Fraction) -> list[list[Fraction]]:
    """square·I − gram."""
    size = range(len(gram))
    return [[(square if i == j else Fraction(0)) - gram[i][j] for j in size] for i in size]


def _is_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """By symmetric elimination: a pivot is positive, or zero together with its row."""
    while matrix:
        pivot, *rest = matrix[0]
        if pivot < 0 or (pivot == 0 and any(rest)):
            return False
        matrix = _eliminate(matrix, pivot)
    return True


def _is_definite(matrix: list[list[Fraction]]) -> bool:
    while matrix:
        pivot = matrix[0][0]
        if pivot <= 0:
            return False
        matrix = _eliminate(matrix, pivot)
    return True


def _eliminate(matrix: list[list[Fraction]], pivot: Fraction) -> list[list[Fraction]]:
    first = matrix[0]
    smaller = []
    for row in matrix[1:]:
        factor = row[0] / pivot if pivot else Fraction(0)
        smaller.append([entry - factor * above for entry, above in zip(row[1:], first[1:])])
    return smaller


def attempt_approximation(rng: np.random.Generator) -> str | None:
    """A certified error of an approximation is nowhere exceeded."""
    from ftheta.approximation.approximate import approximate

    slope, bend, place, height = rng.standard_normal(4) * [3.0, 1.0, 0.5, 1.0]
    f = lambda x: (
        jnp.sin(slope * x) + bend * jnp.abs(x - place) + height * jnp.exp(-8 * (x - place) ** 2)
    )
    eps = float(10 ** rng.uniform(-3, -1))
    found = approximate(
        f, (-1.0, 1.0), eps, seed=int(rng.integers(1000)), neurons=256, cells=20_000, seconds=20
    )
    x = np.concatenate(
        [np.linspace(-1, 1, 20_001), np.clip(place + rng.standard_normal(2000) * 1e-3, -1, 1)]
    )
    values = np.sin(slope * x) + bend * np.abs(x - place) + height * np.exp(-8 * (x - place) ** 2)
    met = float(np.abs(values - np.ravel(found(x))).max())
    if met > found.error.hi + 1e-9:
        return f"sin({slope!r}x) + {bend!r}|x − {place!r}| + {height!r}·bump: met {met!r}, certified {found.error.hi!r}"
    return None


TRIALS = (
    Trial(
        "enclosures: random programs",
        "a value outside the interval called proved",
        attempt_interval,
        few=150,
    ),
    Trial(
        "enclosures: spectral norms",
        "an enclosure that misses the norm",
        attempt_spectral_norm,
        few=150,
    ),
    Trial(
        "enclosures: approximations",
        "an error above the certified one",
        attempt_approximation,
        few=2,
    ),
)
