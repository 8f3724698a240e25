"""Primitives of JAX in odd forms, against the same program in rationals.

A program is a chain of operations on one array: contractions with axes in any order, padding that crops, windows with
strides and both dilations, choices that jump, clamps whose ends are in the wrong order, starts of slices that are
computed. Each has a second form for NumPy arrays of fractions, written apart from ftheta, so that its value at a
rational point of a box is exact: it must lie inside every bound, between the affine forms, and be the value of the
normal form where there is one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import ftheta as ft
from ftheta.graph.domains.linear import METHODS
from ftheta.logic import SubjectError

from . import Trial

POINTS = 10
LARGEST = 30  # entries of an array inside a program
Shape = tuple[int, ...]
Array = np.ndarray


@dataclass(frozen=True)
class Step:
    """One operation, in JAX and on an array of fractions."""

    text: str
    in_jax: Callable[[Any], Any]
    exactly: Callable[[Array], Any]


def _fractions(x: Any) -> Array:
    """An array of objects, whatever its shape."""
    flat = [
        value if isinstance(value, Fraction) else Fraction(float(value))
        for value in np.asarray(x).flat
    ]
    result: Any = np.empty(np.shape(x), object)
    result.flat = flat
    return result


def _number(rng: np.random.Generator) -> float:
    rare = [0.0, -0.0, 2.0**56, 5e-324, 1e-9]
    drawn = [rng.standard_normal(), rng.integers(-3, 4), rng.integers(-6, 7) / 2, rng.choice(rare)]
    return float(rng.choice(np.array(drawn, float)))


def _numbers(rng: np.random.Generator, shape: Sequence[int]) -> Array:
    return np.array([_number(rng) for _ in range(math.prod(shape))]).reshape(shape)


# ---- entries that are moved and summed -------------------------------------------------------------------------------


def _contraction(rng: np.random.Generator, shape: Shape) -> Step:
    """`dot_general` with contracted, batched and free axes of either operand in any order."""
    axes = [int(a) for a in rng.permutation(len(shape))]
    k = int(rng.integers(len(shape) + 1))
    contract, batch = axes[:k], axes[k : k + int(rng.integers(len(shape) - k + 1))]
    letters = "abcdef"[: len(shape)]
    free = "z" if rng.integers(2) else ""
    other = "".join(rng.permutation([*(letters[a] for a in (*contract, *batch)), *free]))
    W = _numbers(rng, [2 if c == "z" else shape[letters.index(c)] for c in other])
    numbers: Any = tuple([a, [other.index(letters[i]) for i in a]] for a in (contract, batch))
    kept = "".join(c for a, c in enumerate(letters) if a not in contract and a not in batch)
    result = "".join(letters[a] for a in batch) + kept + free
    exact = _fractions(W)
    return Step(
        f"dot_general {numbers}",
        lambda x: lax.dot_general(x, W, numbers),
        lambda x: np.einsum(f"{letters},{other}->{result}", x, exact),
    )


def _pad(x: Array, fill: Any, config: Sequence[tuple[int, int, int]]) -> Array:
    """`lax.pad`, axis by axis: which entry stands at each place, if any."""
    for axis, (low, high, inner) in enumerate(config):
        places: list[int | None] = []
        for k in range(x.shape[axis]):
            places += [k] + [None] * (inner if k + 1 < x.shape[axis] else 0)
        places = [None] * low + places + [None] * high
        places = places[max(-low, 0) : len(places) - max(-high, 0)]
        rows = np.moveaxis(x, axis, 0)
        result = np.full((len(places), *rows.shape[1:]), fill, object)
        for k, place in enumerate(places):
            if place is not None:
                result[k] = rows[place]
        x = np.moveaxis(result, 0, axis)
    return x


def _padding(rng: np.random.Generator, shape: Shape) -> Step:
    config = [
        (int(a), int(b), int(c))
        for a, b, c in rng.integers([-1, -1, 0], [3, 3, 2], (len(shape), 3))
    ]
    config = [
        (max(a, 0), max(b, 0), c) if n < 3 else (a, b, c) for n, (a, b, c) in zip(shape, config)
    ]
    fill = _number(rng)
    return Step(
        f"pad {config} {fill!r}",
        lambda x: lax.pad(x, np.float64(fill), config),
        lambda x: _pad(x, Fraction(fill), config),
    )


def _windows(rng: np.random.Generator, shape: Shape) -> Step:
    """`reduce_window` with padding that may crop, strides and both dilations."""
    sizes, strides, base, steps = (rng.integers(1, 3, len(shape)).tolist() for _ in range(4))
    padding = [(int(a) if n > 2 else 1, 1) for n, a in zip(shape, rng.integers(-1, 3, len(shape)))]
    kind = str(rng.choice(["add", "max", "min"]))
    start = {"add": 0.0, "max": -np.inf, "min": np.inf}[kind]
    join = {"add": sum, "max": max, "min": min}[kind]

    def exactly(x: Array) -> Array:
        wide = _pad(x, None, [(a, b, d - 1) for (a, b), d in zip(padding, base)])
        reach = [(w - 1) * d + 1 for w, d in zip(sizes, steps)]
        result = np.empty([(n - r) // s + 1 for n, r, s in zip(wide.shape, reach, strides)], object)
        for place in np.ndindex(*result.shape):
            first = [k * s for k, s in zip(place, strides)]
            cut = tuple(slice(a, a + r, d) for a, r, d in zip(first, reach, steps))
            result[place] = join([value for value in wide[cut].flat if value is not None])  # type: ignore[operator]
        return result

    return Step(
        f"reduce_window {kind} {sizes} {strides} {padding} {base} {steps}",
        lambda x: lax.reduce_window(
            x, start, getattr(lax, kind), sizes, strides, padding, base, steps
        ),
        exactly,
    )


def _entries(rng: np.random.Generator, shape: Shape) -> Step:
    """Entries taken by numbers beyond the ends, or from a place that is computed."""
    axis = int(rng.integers(len(shape)))
    n = shape[axis]
    if rng.integers(2):
        index = rng.integers(-2 * n, 2 * n, 3)
        mode: Any = str(rng.choice(["clip", "wrap"]))
        return Step(
            f"take {index} {mode} {axis}",
            lambda x: jnp.take(x, index, axis, mode=mode),
            lambda x: np.take(x, index, axis, mode=mode),
        )
    width = int(rng.integers(1, n + 1))
    shift = _number(rng)

    def start(x: Array) -> int:
        wanted = math.floor(x.flat[0] + Fraction(shift))
        return min(max(wanted + n if wanted < 0 else wanted, 0), n - width)

    return Step(
        f"dynamic_slice {axis} {width} {shift!r}",
        lambda x: lax.dynamic_slice_in_dim(
            x, jnp.floor(x.ravel()[0] + shift).astype(int), width, axis
        ),
        lambda x: np.take(x, range(start(x), start(x) + width), axis),
    )


def _along(rng: np.random.Generator, shape: Shape) -> Step:
    """Sorted, or accumulated from either end."""
    axis = int(rng.integers(len(shape)))
    kind = str(rng.choice(["sort", "cumsum", "cumprod", "cummax", "cummin"]))
    if kind == "sort":
        return Step(f"sort {axis}", lambda x: jnp.sort(x, axis), lambda x: np.sort(x, axis))
    backwards = bool(rng.integers(2))
    join = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}[
        kind
    ]
    turn = (lambda x: np.flip(x, axis)) if backwards else (lambda x: x)
    return Step(
        f"{kind} {axis} {backwards}",
        lambda x: getattr(lax, kind)(x, axis, backwards),
        lambda x: turn(join.accumulate(turn(x), axis)),
    )


# ---- entry by entry --------------------------------------------------------------------------------------------------

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    "!=": lambda x, y: x != y,
}


def _choice(rng: np.random.Generator, shape: Shape) -> Step:
    """Two affine cases that need not meet where the comparison changes."""
    sign = str(rng.choice(list(COMPARE)))
    holds = COMPARE[sign]
    at, a, b, c, d = (float(rng.choice([0.0, _number(rng)])) for _ in range(5))
    form = int(rng.integers(3))
    p, q, r, s, t = map(Fraction, (at, a, b, c, d))
    in_jax = [
        lambda x: jnp.where(holds(x, at), a * x + b, c * x + d),
        lambda x: holds(x, at) * (a * x + b) + c * x,
        lambda x: lax.cond(holds(x.sum(), at), lambda x: a * x + b, lambda x: c * x + d, x),
    ][form]
    exactly = [
        lambda x: [q * v + r if holds(v, p) else s * v + t for v in x.flat],
        lambda x: [(q * v + r if holds(v, p) else 0) + s * v for v in x.flat],
        lambda x: [q * v + r if holds(sum(x.flat), p) else s * v + t for v in x.flat],
    ][form]
    return Step(
        f"choice {form} {sign} {at, a, b, c, d}",
        in_jax,
        lambda x: np.reshape(_fractions(exactly(x)), x.shape),
    )


def _entrywise(rng: np.random.Generator, shape: Shape) -> Step:
    low, high = _number(rng), _number(rng)
    a, b, size = Fraction(low), Fraction(high), abs(high) + 0.5
    half = Fraction(1, 2)
    away = lambda v: Fraction(math.floor(abs(v) + half) * (1 if v > 0 else -1))
    exponent = int(rng.integers(2, 6))
    table: dict[str, tuple[Callable[[Any], Any], Callable[[Fraction], Any]]] = {
        "clamp": (lambda x: lax.clamp(low, x, high), lambda v: min(max(v, a), b)),
        "integer_pow": (lambda x: lax.integer_pow(x, exponent), lambda v: v**exponent),
        "round": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), away),
        "to even": (jnp.round, lambda v: Fraction(round(v))),
        "integers": (lambda x: (x.astype(int) * 2).astype(float), lambda v: Fraction(2 * int(v))),
        "rem": (
            lambda x: lax.rem(x, jnp.full(x.shape, size)),
            lambda v: v - Fraction(size) * int(v / Fraction(size)),
        ),
        "relu": (jax.nn.relu, lambda v: max(v, Fraction(0))),
        "sign": (jnp.sign, lambda v: Fraction((v > 0) - (v < 0))),
        "affine": (lambda x: low * x + high, lambda v: a * v + b),
    }
    name = str(rng.choice(list(table)))
    in_jax, exactly = table[name]
    return Step(
        f"{name} {low!r} {high!r} {exponent}",
        in_jax,
        lambda x: np.reshape(_fractions([exactly(v) for v in x.flat]), x.shape),
    )


STEPS = (_contraction, _padding, _windows, _entries, _along, _choice, _entrywise, _entrywise)


# ---- cases -----------------------------------------------------------------------------------------------------------


def _draw_program(rng: np.random.Generator) -> tuple[Shape, list[Step]]:
    first = tuple(rng.integers(1, 4, int(rng.integers(1, 3))).tolist())
    shape, steps = first, []
    for _ in range(int(rng.integers(1, 4))):
        if not shape:
            break
        step = STEPS[int(rng.integers(len(STEPS)))](rng, shape)
        with jax.enable_x64(True):
            after = jax.eval_shape(step.in_jax, jax.ShapeDtypeStruct(shape, np.float64))
        if 0 < after.size <= LARGEST:
            shape = after.shape
            steps.append(step)
    return first, steps


def _run(steps: Sequence[Step], x: Any) -> Any:
    for step in steps:
        x = step.in_jax(x)
    return x


def _run_exactly(steps: Sequence[Step], x: Array) -> Array | None:
    """The value in rationals; None where the program has none (the largest of an empty window)."""
    try:
        for step in steps:
            x = _fractions(step.exactly(x))
    except ValueError:
        return None
    return x


def _draw_points(rng: np.random.Generator, lo: Array, hi: Array) -> list[Array]:
    """Corners, inner points, and whole numbers where the box has them."""
    low, high = _fractions(lo), _fractions(hi)
    shares = [
        _fractions(rng.choice(np.array([0, 1, rng.integers(65) / 64]), lo.shape))
        for _ in range(POINTS)
    ]
    points = [low + share * (high - low) for share in shares]
    whole = _fractions(np.clip(np.rint(lo / 2 + hi / 2), lo, hi))
    return [whole, *points]


def _said_of(text: str, x: Array, value: Array, bound: Any) -> str:
    return f"{text} at {[str(v) for v in x.flat]} is {value.astype(float).tolist()}: {bound}"


def attempt_bounds(rng: np.random.Generator) -> str | None:
    """Values at rational points lie inside the bounds by all methods, and between their forms."""
    shape, steps = _draw_program(rng)
    text = f"{shape} {'; '.join(step.text for step in steps)}"
    middle = _numbers(rng, shape)
    radius = np.abs(rng.standard_normal(shape)) * float(rng.choice([0.0, 1e-9, 0.5, 2.0]))
    lo, hi = middle - radius, middle + radius
    known = [(x, _run_exactly(steps, x)) for x in _draw_points(rng, lo, hi)]
    for method in METHODS:
        try:
            found = ft.bounds(lambda x: _run(steps, x), (lo, hi), method=method, steps=5)
        except SubjectError:
            continue
        for x, value in known:
            if value is None:
                continue
            if not (np.all(value >= found.lower) and np.all(value <= found.upper)):
                return _said_of(text, x, value, f"{method} says {found}")
            for form, sign in ((found.lower_form, 1), (found.upper_form, -1)):
                if not _is_beside(form, sign, x, value):
                    return _said_of(
                        text,
                        x,
                        value,
                        f"beyond a form of {method}, box {lo.tolist()}, {hi.tolist()}",
                    )
    return None


def _is_beside(form: Any, sign: int, x: Array, value: Array) -> bool:
    """Whether no value is below the lower form (`sign` 1), or above the upper one."""
    finite = np.isfinite(form.offset) & np.isfinite(form.error)
    for place in np.ndindex(*value.shape):
        if not finite[place]:
            continue
        row = _fractions(form.matrix[place])
        at = sum((row * x).flat, Fraction(float(form.offset[place]))) - sign * Fraction(
            float(form.error[place])
        )
        if sign * (value[place] - at) < 0:
            return False
    return True


def attempt_normal_form(rng: np.random.Generator) -> str | None:
    """The normal form of a program, where it has one, has the value of the program in rationals."""
    shape, steps = _draw_program(rng)
    try:
        with jax.enable_x64(True):
            net = ft.relu_form(lambda x: _run(steps, x), np.zeros(shape)).in_rationals()
    except SubjectError:
        return None
    for x in _draw_points(rng, np.full(shape, -4.0), np.full(shape, 4.0)):
        value = _run_exactly(steps, x)
        if value is not None and list(net(list(x.flat))) != list(value.flat):
            return _said_of(
                f"{shape} {'; '.join(step.text for step in steps)}", x, value, "another normal form"
            )
    return None


TRIALS = (
    Trial("primitives: bounds", "a value beyond a bound", attempt_bounds, few=12),
    Trial(
        "primitives: normal forms", "another value than the program's", attempt_normal_form, few=20
    ),
)
