r"""Bounds of a chain on a box that can be differentiated in its parameters: intervals, and linear bounds backwards.

These bounds are for training alone. They are computed in floating point without outward rounding, so they certify
nothing: what a trained network keeps is asked of `ft.bounds` and `ft.verify`.
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from ftheta.logic.errors import SubjectError

from .chains import AffineMap, Chain, Increasing, Params

# rows (m, *outputs) or (1, *outputs) that are added to one another
Terms: TypeAlias = tuple[Any, ...]


class Box(NamedTuple):
    """All $z$ with $|z-c|\\le r$, entry by entry."""

    middle: Any
    radius: Any

    @property
    def lo(self) -> Any:
        return self.middle - self.radius

    @property
    def hi(self) -> Any:
        return self.middle + self.radius


def box_between(lo: Any, hi: Any) -> Box:
    """The box from `lo` to `hi`, by its middle and radius."""
    return Box((lo + hi) / 2, (hi - lo) / 2)


def boxes(chain: Chain, params: Params, inputs: Box) -> list[Box]:
    """The box before every step of the chain, by interval arithmetic, and the one after the last."""
    found = [inputs]
    for step in chain:
        box = found[-1]
        if isinstance(step, AffineMap):
            found.append(Box(step.apply(params, box.middle), step.spread(params, box.radius)))
        else:
            found.append(box_between(step.function(box.lo), step.function(box.hi)))
    return found


def bound_by_intervals(chain: Chain, params: Params, before: list[Box], terms: Terms) -> Any:
    r"""Lower bounds of $\Lambda f$ on the box, one for each row of $\Lambda$, the sum of the `terms`.

    The affine maps at the end of the chain are joined with $\Lambda$, so that a difference of two outputs is bounded as
    one affine function of the last hidden layer.
    """
    rows, _, left = _join_last(chain, params, before, terms)
    # the middle of a box goes to the middle of its image under an affine map
    return _times(sum(terms), before[-1].middle) - _times(jnp.abs(rows), before[left].radius)


def margins_by_intervals(chain: Chain, params: Params, before: list[Box], label: Any) -> Any:
    r"""Lower bounds of $f_y-f_j$ for all $j$, `label` the unit vector $e_y$: those of `bound_by_intervals`.

    The half-widths of all pairs of classes are computed and those with $y$ are chosen. Under `vmap` that is one product
    of matrices, where differences chosen first would be another matrix for each row.
    """
    unit = jnp.eye(label.size, dtype=label.dtype)
    pairs = (unit[:, None] - unit).reshape(-1, *label.shape)
    rows, _, left = _join_last(chain, params, before, (pairs,))
    widths = jnp.abs(rows).reshape(len(rows), -1) @ before[left].radius.ravel()
    middle = before[-1].middle
    return label @ middle - middle - label @ widths.reshape(label.size, label.size)


def bound_by_lines(chain: Chain, params: Params, before: list[Box], terms: Terms) -> Any:
    r"""Lower bounds of $\Lambda f$ by linear functions of the input, carried backwards from the last layer to the first
    (`zhang2018`), with the boxes of interval arithmetic before every ReLU (`zhang2020crown_ibp`)."""
    rows, rest, left = _join_last(chain, params, before, terms)
    for step, box in zip(reversed(chain[:left]), reversed(before[:left])):
        rows, added = (
            _through_affine(step, params, box, rows)
            if isinstance(step, AffineMap)
            else _through_relu(box, rows)
        )
        rest = rest + added
    inputs = before[0]
    return _times(rows, inputs.middle) - _times(jnp.abs(rows), inputs.radius) + rest


def ensure_relu(chain: Chain) -> None:
    """Linear bounds are known of the ReLU alone."""
    for step in chain:
        if isinstance(step, Increasing) and not step.is_relu:
            remedy = (
                'train a ReLU network, or choose the method "ibp", "small-box" or "adversarial"'
            )
            raise SubjectError(
                "Linear bounds are for chains of affine maps and ReLU.",
                got=step.name,
                remedy=remedy,
            )


def _join_last(
    chain: Chain, params: Params, before: list[Box], terms: Terms
) -> tuple[Any, Any, int]:
    r"""$\Lambda f=\Lambda'g+c$ with $g$ the chain without the affine maps at its end: $\Lambda'$, $c$, and how many
    steps $g$ has. Each term is carried back alone: under `vmap` one that is the same for all inputs is carried back
    once."""
    pulled = list(terms)
    constants = [jnp.zeros(len(rows), rows.dtype) for rows in terms]
    left = len(chain)
    while left and isinstance(step := chain[left - 1], AffineMap):
        left = left - 1
        for i, rows in enumerate(pulled):
            pulled[i], added = _through_affine(step, params, before[left], rows)
            constants[i] = constants[i] + added
    return sum(pulled), sum(constants), left


def _times(rows: Any, vector: Any) -> Any:
    """Each row times the vector, entry by entry and summed: under `vmap` a product of many small matrices with a vector
    each would not be fused with what made the matrices."""
    return jnp.sum(rows * vector, axis=tuple(range(1, rows.ndim)))


def _through_affine(step: AffineMap, params: Params, box: Box, rows: Any) -> tuple[Any, Any]:
    """$\\Lambda(Ax+b)$ as rows $\\Lambda A$ and numbers $\\Lambda b$."""
    shift, back = jax.vjp(lambda x: step.apply(params, x), jnp.zeros_like(box.middle))
    return jax.vmap(lambda row: back(row)[0])(rows), _times(rows, shift)


def _through_relu(box: Box, rows: Any) -> tuple[Any, Any]:
    r"""A lower bound of $\Lambda\max(z,0)$ that is affine in $z\in[l,u]$: where the sign of $z$ is not known,
    $\alpha z\le\max(z,0)\le\frac u{u-l}(z-l)$ with $\alpha=1$ where $u>-l$, else 0."""
    lo, hi = box.lo, box.hi
    unknown = (lo < 0) & (hi > 0)
    steepness = jnp.where(unknown, hi / jnp.where(unknown, hi - lo, 1), hi > 0)
    below = jnp.where(unknown, hi > -lo, hi > 0).astype(rows.dtype)
    negative = jnp.minimum(rows, 0)
    added = jnp.where(unknown, -lo * steepness, 0)
    return jnp.maximum(rows, 0) * below + negative * steepness, _times(negative, added)
