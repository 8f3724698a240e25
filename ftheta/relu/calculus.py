r"""Networks are closed under composition, sums, stacking and padding, with counts known in advance.

Everything here works on any network whose steps carry a matrix, an offset and a mask of rectified coordinates:
float64 (`ReluNetwork`) or rational (`ExactNetwork`). With $L$ affine maps, $N$ rectified coordinates, $W$ non-zero
weights, $m$ outputs of the inner network, and $\alpha_f,\omega_f$ non-zero weights in the first and last map of $f$:

| operation | $L$ | $N$ | $W$ |
|---|---|---|---|
| `compose(f, g)` | $L_f+L_g-1$ | $N_f+N_g$ | of the merged middle matrix |
| `compose_sparse(f, g)` | $L_f+L_g$ | $N_f+N_g+2m$ | $W_f+W_g+\alpha_f+\omega_g\le2W_f+2W_g$ |
| `pad(f, k)`, $k>L$ | $k$ | $N+2m(k-L)$ | $W+\omega_f+2m(k-L)$ |
| `parallel`, `stack` (equal depths) | $L$ | $\sum N_i$ | $\sum W_i$ |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from ftheta.logic.errors import SubjectError

from .matrices import Algebra, Number


class Steps(Protocol):
    """A network of any kind of numbers."""

    @property
    def steps(self) -> Sequence[Any]: ...
    @property
    def algebra(self) -> Algebra: ...
    @property
    def widths(self) -> tuple[int, ...]: ...
    def rebuilt(self, parts: Sequence[tuple[Any, Any, np.ndarray]], *others: Any) -> Any: ...


N = TypeVar("N", bound=Steps)
Part = tuple[Any, Any, np.ndarray]
F = TypeVar("F", bound=Callable[..., Any])
MOST_RATIONALS = 50_000  # weights of networks that are combined in rationals
ROUNDED = "products of weights rounded to float64"

_rounding_is_allowed: ContextVar[bool] = ContextVar("rounding of merged weights", default=False)


class _WouldRound(ArithmeticError):
    """float64 does not hold a weight of the result."""


def _without_rounding(operation: F) -> F:
    """In float64 where that holds all weights, else in rationals; large networks are rounded and say so."""

    @wraps(operation)
    def settle(*args: Any, **options: Any) -> Any:
        nets = _networks(args)
        if not any(getattr(net, "is_long", False) for net in nets):
            try:
                return operation(*args, **options)
            except _WouldRound:
                pass
        if sum(net.algebra.nnz(step.matrix) for net in nets for step in net.steps) > MOST_RATIONALS:
            return _with_rounding(operation, *args, **options)
        in_rationals = [_replace_networks(arg, lambda net: net.in_rationals()) for arg in args]
        return operation(*in_rationals, **options).in_floats()

    return cast(F, settle)


def _with_rounding(operation: Callable[..., Any], *args: Any, **options: Any) -> Any:
    token = _rounding_is_allowed.set(True)
    try:
        found = operation(*args, **options)
    finally:
        _rounding_is_allowed.reset(token)
    notes = dict.fromkeys(note for note in (found.rounded, ROUNDED) if note)
    return replace(found, rounded="; ".join(notes))


def _networks(args: Sequence[Any]) -> list[Any]:
    listed = [arg if isinstance(arg, (list, tuple)) else [arg] for arg in args]
    return [net for several in listed for net in several if hasattr(net, "steps")]


def _replace_networks(arg: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(arg, (list, tuple)):
        return [_replace_networks(part, change) for part in arg]
    return change(arg) if hasattr(arg, "steps") else arg


def _merge(algebra: Algebra, M: Any, A: Any, b: Any, shift: Any) -> tuple[Any, Any]:
    """MA and Mb + shift: two affine maps in one."""
    product = algebra.product(M, A)
    image = algebra.add(algebra.image(M, b), shift)
    if not (_rounding_is_allowed.get() or algebra.is_exact(M, A, b, shift, product, image)):
        raise _WouldRound
    return product, image


def _number(algebra: Algebra, c: Number) -> Number:
    if not (_rounding_is_allowed.get() or algebra.has(c)):
        raise _WouldRound
    return c


def parts(net: Steps) -> list[Part]:
    """The steps as triples (matrix, offset, mask)."""
    return [(step.matrix, step.offset, step.rectified) for step in net.steps]


@_without_rounding
def compose(outer: N, inner: N) -> N:
    r"""$f\circ g$, the two middle affine maps merged into one: $L_f+L_g-1$ affine maps."""
    algebra = alike((outer, inner))
    _chain(outer, inner)
    (A, b, _) = parts(inner)[-1]
    (B, c, mask) = parts(outer)[0]
    middle = (*_merge(algebra, B, A, b, c), mask)
    return inner.rebuilt([*parts(inner)[:-1], middle, *parts(outer)[1:]], outer)


@_without_rounding
def compose_sparse(outer: N, inner: N) -> N:
    r"""$f\circ g$ through $y=r(y)-r(-y)$: $L_f+L_g$ affine maps and at most $2W_f+2W_g$ non-zero weights."""
    algebra = alike((outer, inner))
    _chain(outer, inner)
    B, c, mask = parts(outer)[0]
    return inner.rebuilt(
        [
            *parts(inner)[:-1],
            _double(algebra, parts(inner)[-1]),
            (algebra.beside([B, algebra.scale(-1, B)]), c, mask),
            *parts(outer)[1:],
        ],
        outer,
    )


@_without_rounding
def pad(net: N, depth: int) -> N:
    r"""The same function with `depth` affine maps: $y=r(y)-r(-y)$, two neurons per output in each layer added."""
    algebra = net.algebra
    given = parts(net)
    more = depth - len(given)
    if more < 0:
        raise SubjectError(
            "Padding cannot make a network shallower.",
            got=f"{len(given)} affine maps, wanted {depth}",
        )
    if more == 0:
        return net
    m = net.widths[-1]
    one = algebra.eye(m)
    zero = algebra.vector([0] * m)
    carry = (algebra.eye(2 * m), algebra.vector([0] * (2 * m)), np.ones(2 * m, bool))
    last = (algebra.beside([one, algebra.scale(-1, one)]), zero, np.zeros(m, bool))
    return net.rebuilt([*given[:-1], _double(algebra, given[-1]), *[carry] * (more - 1), last])


def level(nets: Sequence[N]) -> list[N]:
    """The networks, padded to the depth of the deepest."""
    depth = max(len(net.steps) for net in nets)
    return [pad(net, depth) for net in nets]


@_without_rounding
def parallel(*nets: N) -> N:
    r"""$(x_1,\dots,x_n)\mapsto(f_1(x_1),\dots,f_n(x_n))$ with block-diagonal weights; shallower ones are padded."""
    algebra = alike(nets)
    layers = zip(*map(parts, level(nets)))
    return nets[0].rebuilt(
        [_side_by_side(algebra, layer, shared=False) for layer in layers], *nets[1:]
    )


@_without_rounding
def stack(*nets: N) -> N:
    r"""$x\mapsto(f_1(x),\dots,f_n(x))$: one input for all; shallower ones are padded."""
    algebra = alike(nets)
    if len({net.widths[0] for net in nets}) > 1:
        raise SubjectError(
            "Networks stacked on one input need equal input sizes.", got=[n.widths[0] for n in nets]
        )
    first, *others = zip(*map(parts, level(nets)))
    top = _side_by_side(algebra, first, shared=True)
    return nets[0].rebuilt(
        [top, *(_side_by_side(algebra, layer, shared=False) for layer in others)], *nets[1:]
    )


@_without_rounding
def combination(coefficients: Sequence[Number], nets: Sequence[N]) -> N:
    r"""$x\mapsto\sum_ic_if_i(x)$."""
    algebra = alike(nets)
    sizes = {net.widths[-1] for net in nets}
    if len(sizes) > 1 or len(coefficients) != len(nets):
        raise SubjectError(
            "A sum needs networks of one output size, one coefficient each.", got=sorted(sizes)
        )
    one = algebra.eye(sizes.pop())
    total = algebra.beside([algebra.scale(_number(algebra, c), one) for c in coefficients])
    return postcompose(stack(*nets), total)


@_without_rounding
def scale(net: N, c: Number) -> N:
    r"""$x\mapsto c\,f(x)$."""
    algebra = net.algebra
    factor = algebra.scale(_number(algebra, c), algebra.eye(net.widths[-1]))
    return postcompose(net, factor)


@_without_rounding
def precompose(net: N, A: Any, b: Any = None) -> N:
    r"""$x\mapsto f(Ax+b)$, merged into the first affine map."""
    algebra = net.algebra
    M = algebra.matrix(A)
    (B, c, mask) = parts(net)[0]
    if M.shape[0] != B.shape[1]:
        raise SubjectError(
            "The affine map does not fit the input.", got=f"{M.shape} before {B.shape}"
        )
    shift = algebra.vector([0] * M.shape[0] if b is None else b)
    return net.rebuilt([(*_merge(algebra, B, M, shift, c), mask), *parts(net)[1:]])


@_without_rounding
def postcompose(net: N, A: Any, b: Any = None) -> N:
    r"""$x\mapsto A\,f(x)+b$, merged into the last affine map."""
    algebra = net.algebra
    M = algebra.matrix(A)
    (B, c, _) = parts(net)[-1]
    if M.shape[1] != B.shape[0]:
        raise SubjectError(
            "The affine map does not fit the output.", got=f"{M.shape} after {B.shape}"
        )
    shift = algebra.vector([0] * M.shape[0] if b is None else b)
    last = (*_merge(algebra, M, B, c, shift), np.zeros(M.shape[0], bool))
    return net.rebuilt([*parts(net)[:-1], last])


class Operators:
    r"""`f @ g` composes, `f + g`, `f - g`, `c * f` and `-f` combine, `f | g` is $x\mapsto(f(x),g(x))$.

    The result is the composition or combination itself: where float64 does not hold a weight it is kept as a rational
    (`Step.long_rows`). Large networks are rounded instead, and say so (`ReluNetwork.rounded`).
    """

    def __repr__(self: Any) -> str:
        neurons = sum(int(step.rectified.sum()) for step in self.steps)
        return f"{type(self).__name__}({' → '.join(map(str, self.widths))}, {neurons:,} neurons)"

    def __matmul__(self: N, other: N) -> N:
        return compose(self, other)

    def __add__(self: N, other: N) -> N:
        return combination((1, 1), (self, other))

    def __sub__(self: N, other: N) -> N:
        return combination((1, -1), (self, other))

    def __mul__(self: N, c: Number) -> N:
        return scale(self, c)

    def __rmul__(self: N, c: Number) -> N:
        return scale(self, c)

    def __neg__(self: N) -> N:
        return scale(self, -1)

    def __or__(self: N, other: N) -> N:
        return stack(self, other)


def alike(nets: Sequence[Steps]) -> Algebra:
    """The algebra that all the networks share."""
    if not nets:
        raise SubjectError("An operation on networks needs at least one.", got="none")
    kinds = {type(net) for net in nets}
    if len(kinds) > 1:
        raise SubjectError(
            "Networks in one operation need one kind of numbers.",
            got=", ".join(sorted(kind.__name__ for kind in kinds)),
            remedy="convert with exact(net) or rounded(net).network",
        )
    return nets[0].algebra


def _chain(outer: Steps, inner: Steps) -> None:
    if outer.widths[0] != inner.widths[-1]:
        raise SubjectError(
            "The networks do not chain.",
            got=f"{inner.widths[-1]} outputs into {outer.widths[0]} inputs",
            remedy="f @ g applies g first",
        )


def _double(algebra: Algebra, part: Part) -> Part:
    """$(y,-y)$, rectified."""
    A, b, _ = part
    doubled = algebra.stack([A, algebra.scale(-1, A)])
    return doubled, algebra.join([b, algebra.multiple(-1, b)]), np.ones(doubled.shape[0], bool)


def _side_by_side(algebra: Algebra, layer: Sequence[Part], shared: bool) -> Part:
    matrices, offsets, masks = zip(*layer)
    joined = algebra.stack(matrices) if shared else algebra.block(matrices)
    return joined, algebra.join(offsets), np.concatenate(masks)
