"""Is a gradient right? `check_gradient(f, gradient, at)` says which coordinates are wrong, and by how much.

A function that JAX can trace is differentiated by forward mode on its graph, beside an enclosure of the derivative in
interval arithmetic where every primitive has a rule; any other function by finite differences with their doubt.
Coordinates in which the function has no derivative (relu at 0, a tie of max) are said to have none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ftheta.graph.differences import Function, slope
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.domains.tangents import forward_gradient
from ftheta.graph.errors import GraphError, NoRule, NotTraceable
from ftheta.graph.jaxprs import trace
from ftheta.graph.sources import definition, input_name
from ftheta.graph.tableaux import Tableau, tableau
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Float

MOST_PASSES = 2048
MOST_EVALUATIONS = 200_000
LARGEST_ENCLOSED = 3000
ROUNDING = 1e-12  # of the largest slope: what forward mode may be off by where it is not enclosed


@dataclass(frozen=True, eq=False)
class GradientCheck:
    """A gradient that was given beside the one that was found, coordinate by coordinate.

    `doubt` is how far `found` may be from the derivative; `none` marks the coordinates without one.
    """

    coordinates: tuple[str, ...]
    given: np.ndarray
    found: np.ndarray
    doubt: np.ndarray
    none: np.ndarray
    tolerance: np.ndarray
    method: str
    trouble: tuple[str, ...] = ()

    @property
    def wrong(self) -> tuple[str, ...]:
        """The coordinates with a derivative that the given one misses by more than tolerance and doubt."""
        return tuple(self.coordinates[k] for k in np.flatnonzero(self._misses))

    @property
    def undefined_coordinates(self) -> tuple[str, ...]:
        """The coordinates in which there is no derivative."""
        return tuple(self.coordinates[k] for k in np.flatnonzero(self.none))

    @property
    def holds(self) -> bool:
        return not self._misses.any() and not self.none.any()

    @property
    def _misses(self) -> np.ndarray:
        near = np.abs(self.given - self.found) <= self.tolerance + self.doubt  # NaN is never near
        return ~near & ~self.none

    def __str__(self) -> str:
        n = len(self.coordinates)
        wrong = np.flatnonzero(self._misses)
        undefined = np.flatnonzero(self.none)
        if self.holds:
            worst = float(np.max(np.abs(self.given - self.found), initial=0.0))
            return f"the gradient is right in all {n} coordinates (off by at most {worst:.3g}; {self.method})"
        lines = [f"{len(wrong)} of {n} coordinates are wrong ({self.method})"] if len(wrong) else []
        lines += [
            f"  {self.coordinates[k]}: given {self.given[k]:.10g}, it is {self.found[k]:.10g}"
            + (f" ± {self.doubt[k]:.2g}" if self.doubt[k] > 0 else "")
            for k in wrong[:10]
        ]
        lines += [f"  … and {len(wrong) - 10} more"] if len(wrong) > 10 else []
        lines += (
            [f"no derivative in {', '.join(self.coordinates[k] for k in undefined[:10])}"]
            if self.none.any()
            else []
        )
        return "\n".join([*lines, *(f"  {note}" for note in self.trouble[:3])])


def check_gradient(
    f: Callable[..., Any],
    gradient: Any,
    at: Any,
    *,
    rtol: float = 1e-6,
    atol: float | None = None,
    third: float | None = None,
) -> GradientCheck:
    """Compare `gradient` with the gradient of `f` at `at`, coordinate by coordinate.

    `at` is the argument of f, or the tuple of its arguments. `gradient` is a function of the same arguments or the
    value itself, with the structure of the arguments. A coordinate is wrong if it misses by more than
    rtol·|slope| + atol + doubt; `atol` defaults to 1e-9 of the largest slope. `third` bounds the third derivatives of a
    function that cannot be traced, which makes its doubt rigorous.
    """
    args = at if isinstance(at, tuple) else (at,)
    x, names, rebuild = _coordinates(f, args)
    given = _flat(
        gradient(*args) if callable(gradient) else gradient, args, isinstance(at, tuple), x.size
    )

    def black_box(point: np.ndarray) -> float:
        with jax.enable_x64(True):  # differences of float32 would be mostly noise
            return _one_number(f(*rebuild(point)), f)

    _demand_finite(black_box(x), f, args)
    traced = _trace_function(f, args)
    if traced is not None:
        found, doubt, method = _by_graph(traced, x.size)
        felt = bool(traced.trouble) and x.size <= MOST_PASSES
        none = np.array([felt and slope(black_box, x, k).bends for k in range(x.size)], bool)
        none |= ~np.isfinite(found)
        trouble = tuple(traced.trouble)
    else:
        found, doubt, none = _by_differences(black_box, x, third)
        method = "finite differences" + (" with a bound of the third derivative" if third else "")
        trouble = ()
    size = float(np.max(np.abs(found[np.isfinite(found)]), initial=0.0))
    tolerance = rtol * np.abs(found) + (1e-9 * size if atol is None else atol)
    return GradientCheck(tuple(names), given, found, doubt, none, tolerance, method, trouble)


def _trace_function(f: Callable[..., Any], args: tuple[Any, ...]) -> Tableau | None:
    try:
        return tableau(
            f, *(jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), a) for a in args)
        )
    except NotTraceable:
        return None


def _by_graph(traced: Tableau, size: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Forward mode (beyond a few thousand coordinates reverse mode), with the enclosure of the derivative if any."""
    try:
        if size > MOST_PASSES:
            raise NoRule("too many passes")
        found = forward_gradient(traced.graph, *traced.at)
        method = "forward mode"
    except NoRule:
        found = traced.gradient
        method = "reverse mode"
    enclosed = None if traced.trouble else gradient_enclosure(traced)
    if enclosed is None or not np.isfinite(enclosed).all():
        return found, np.full(size, ROUNDING * float(np.max(np.abs(found), initial=0.0))), method
    lo, hi = enclosed
    return found, np.maximum(np.maximum(hi - found, found - lo), 0.0), f"{method}, enclosed"


def gradient_enclosure(
    traced: Tableau,
) -> tuple[Float[np.ndarray, "coordinates"], Float[np.ndarray, "coordinates"]] | None:
    """Lower and upper ends of the gradient at the point, rounded outward; None without rules or for large programs.

    Meant is the gradient that JAX defines, which at a kink is a convention.
    """
    if len(traced.graph.nodes) > LARGEST_ENCLOSED:
        return None
    try:
        with jax.enable_x64(True):
            graph = trace(
                jax.grad(traced.f, argnums=tuple(range(len(traced.at)))),
                *traced.at,
                fold_rounded=False,
            )
        ends = jax.tree.leaves(
            intervals(graph, *traced.at).outputs, is_leaf=lambda leaf: isinstance(leaf, Interval)
        )
    except (GraphError, TypeError):
        return None
    return np.concatenate([np.ravel(e.lo) for e in ends]), np.concatenate(
        [np.ravel(e.hi) for e in ends]
    )


def _by_differences(
    f: Function, x: np.ndarray, third: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if 20 * x.size > MOST_EVALUATIONS:
        raise UsageError(
            "There are too many coordinates for finite differences.",
            got=f"{x.size} coordinates, about 20 evaluations each",
            remedy="write the function in jax.numpy, or check a slice of the coordinates",
        )
    slopes = [slope(f, x, k, third) for k in range(x.size)]
    none = np.array([s.bends or not np.isfinite(s.value) for s in slopes], bool)
    return np.array([s.value for s in slopes]), np.array([s.doubt for s in slopes]), none


# ---- arguments as one row of coordinates ------------------------------------------------------------------------


def _coordinates(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[np.ndarray, list[str], Callable[[np.ndarray], Any]]:
    paths, tree = jax.tree_util.tree_flatten_with_path(args)
    leaves = [np.asarray(leaf) for _, leaf in paths]
    if not leaves or any(leaf.dtype.kind not in "fiu" for leaf in leaves):
        raise UsageError(
            "A gradient is checked at real numbers.",
            got=str(args)[:80],
            remedy="pass arrays of floats",
        )
    sizes = np.cumsum([0, *(leaf.size for leaf in leaves)])
    names = [
        input_name(f, path) + "".join(f"[{i}]" for i in place)
        for (path, _), leaf in zip(paths, leaves)
        for place in np.ndindex(leaf.shape)
    ]

    def rebuild(point: np.ndarray) -> Any:
        parts = [
            point[a:b].reshape(leaf.shape) if leaf.shape else point[a].item()
            for leaf, a, b in zip(leaves, sizes, sizes[1:])
        ]
        return jax.tree.unflatten(tree, parts)

    return np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in leaves]), names, rebuild


def _flat(gradient: Any, args: tuple[Any, ...], several: bool, size: int) -> np.ndarray:
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(args)]
    found: Sequence[Any] = jax.tree.leaves(gradient)
    if [np.shape(leaf) for leaf in found] != shapes:
        raise UsageError(
            "The gradient has another structure than the arguments.",
            got=f"shapes {[np.shape(leaf) for leaf in found]}, the arguments have {shapes}",
            remedy="return one array for each argument" + (", as a tuple" if several else ""),
        )
    return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in found])


def _one_number(result: Any, f: Callable[..., Any]) -> float:
    if np.shape(result) != ():
        raise UsageError(
            "Only one number has a gradient.",
            where=definition(f),
            got=f"a result of shape {np.shape(result)}",
            remedy="return a scalar: a loss, a sum, or one entry",
        )
    return float(result)


def _demand_finite(value: float, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    if not np.isfinite(value):
        traced = _trace_function(f, args)
        raise SubjectError(
            "The function has no finite value at this point.",
            where="; ".join(traced.trouble[:1]) if traced and traced.trouble else definition(f),
            got=value,
            remedy="check the gradient at a point where the function is finite",
        )
