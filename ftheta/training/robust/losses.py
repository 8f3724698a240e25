r"""The worst loss near each row, or a bound of it, in place of the loss at the row.

With $B_\varepsilon(x)=\{x':\|x'-x\|\le\varepsilon\}$, the loss of step $k$ is
$$\kappa_k\,\ell(f_\theta(x),y)+(1-\kappa_k)\,\hat\ell_k,$$
where $\hat\ell_k$ stands for $\max_{x'\in B_{\varepsilon_k}(x)}\ell(f_\theta(x'),y)$:

- *adversarial* (`madry2018`): the loss at a point of the ball found by projected gradient ascent, from below;
- *ibp* (`gowal2018`): the loss of the worst outputs in a box by interval arithmetic, from above;
- *crown-ibp* (`zhang2020crown_ibp`): the same with a mix of interval and linear bounds, $\beta_k$ of the linear ones;
- *small-box* (`mueller2023`): intervals on the box of half-width $\tau\varepsilon_k$ around a point found by ascent,
  which bounds the worst loss neither from above nor from below and often trains better than either.

The share of the ramp that is over, $s_k=\min(1,\max(0,\frac{k-a}{b-a}))$, moves everything:
$\varepsilon_k=s_k\varepsilon$, $\kappa_k=1-s_k(1-\kappa)$, and $\beta_k$ from its first to its last value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Literal, TypeAlias, get_args

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.training.losses import Loss

from .attacks import climb
from .chains import Chain, chain_of
from .propagation import (
    Box,
    Terms,
    bound_by_intervals,
    bound_by_lines,
    box_between,
    boxes,
    ensure_relu,
    margins_by_intervals,
)

Method: TypeAlias = Literal["adversarial", "ibp", "crown-ibp", "small-box"]
METHODS: tuple[str, ...] = get_args(Method)
# (parameters, rows, targets, step) -> one loss per row
Losses: TypeAlias = Callable[[Any, Any, Any, Any], Any]
Bound: TypeAlias = Callable[[Terms], Any]  # rows Λ, a sum of terms -> lower bounds of Λ f on a box

SIGNED = ("logistic", "hinge")  # fall as target · prediction rises
# rise with the distance from the target, entry by entry
FROM_TARGET = ("squared", "half-squared", "absolute", "huber")
# up to which all pairs of classes are bounded for all rows at once, which is faster
FEW_CLASSES = 16
SUPPORTED = ("cross-entropy", *SIGNED, *FROM_TARGET)


@dataclass(frozen=True, slots=True)
class RobustLoss:
    r"""Train for inputs within `epsilon` of the rows.

    Parameters
    ----------
    method
        `adversarial`, `ibp`, `crown-ibp` or `small-box`.
    epsilon
        The radius $\varepsilon$ of the ball around each row, in the units of the data.
    norm
        $\infty$, or 2 for `adversarial`.
    clip
        The least and the largest number an input may have, such as (0, 1) for images.
    ramp
        Steps $(a,b)$ between which $\varepsilon_k$ grows from 0 to $\varepsilon$; at once if not said.
    clean
        The share $\kappa$ of the loss at the row itself, after the ramp.
    attack_steps
        Steps of the ascent, for `adversarial` and `small-box`.
    small
        The half-width $\tau$ of the boxes of `small-box`, in units of $\varepsilon$.
    linear
        The share $\beta$ of the linear bounds of `crown-ibp`, before and after the ramp.
    seed
        Of the random starts of the ascent.
    """

    method: Method
    epsilon: float
    norm: float = inf
    clip: tuple[float, float] | None = None
    ramp: tuple[int, int] = (0, 0)
    clean: float = 0.0
    attack_steps: int = 8
    small: float = 0.2
    linear: tuple[float, float] = (1.0, 0.0)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UsageError(
                "Unknown robust loss.",
                got=self.method,
                remedy=f"choose one of {', '.join(METHODS)}",
            )
        if not _is_number(self.epsilon) or self.epsilon <= 0:
            remedy = "a radius in the units of the data, such as 0.1; leave `robust` out to train plainly"
            raise UsageError(
                "The radius ε must be a positive number.", got=self.epsilon, remedy=remedy
            )
        if self.norm not in (2, inf):
            raise UsageError("Robust losses are for the norms 2 and ∞.", got=f"norm={self.norm}")
        if self.norm == 2 and self.method != "adversarial":
            remedy = 'take norm=inf, or the method "adversarial"'
            raise UsageError(
                "Boxes are balls of the norm ∞.", got=f"{self.method}, norm=2", remedy=remedy
            )
        if self.clip is not None and not (len(self.clip) == 2 and self.clip[0] < self.clip[1]):
            raise UsageError(
                "`clip` is a least and a largest number.", got=self.clip, remedy="clip=(0, 1)"
            )
        if (
            not all(isinstance(k, (int, np.integer)) for k in self.ramp)
            or not 0 <= self.ramp[0] <= self.ramp[1]
        ):
            raise UsageError(
                "`ramp` is two numbers of steps 0 ≤ a ≤ b.", got=self.ramp, remedy="ramp=(100, 500)"
            )
        shares = {
            "clean": self.clean,
            "small": self.small,
            "linear[0]": self.linear[0],
            "linear[1]": self.linear[1],
        }
        for name, share in shares.items():
            if not _is_number(share) or not 0 <= share <= 1 or (name == "small" and share == 0):
                raise UsageError(f"`{name}` is a share between 0 and 1.", got=share)
        if (
            isinstance(self.attack_steps, bool)
            or not isinstance(self.attack_steps, int)
            or self.attack_steps < 1
        ):
            raise UsageError(
                "`attack_steps` must be a whole number of at least 1.", got=self.attack_steps
            )

    @property
    def told(self) -> str:
        norm = "∞" if self.norm == inf else "2"
        return f"{self.method} within ε = {self.epsilon:g} (norm {norm})"

    def losses(
        self, net: Any, apply: Callable[[Any, Any], Any], loss: Loss, targets: np.ndarray
    ) -> Losses:
        """One loss per row as a function of the parameters, the rows, their targets and the number of the step.

        `apply` is the function of `net` for one input, `targets` are those of all rows.
        """
        chain = None if self.method == "adversarial" else self._chain(net, loss, targets)

        def of_rows(params: Any, x: Any, y: Any, step: Any) -> Any:
            keys = jax.random.split(jax.random.fold_in(jax.random.key(self.seed), step), len(x))
            share = self._share(step, x.dtype)
            one = lambda row, target, key: self._of_row(
                chain, apply, loss, params, row, target, share, key
            )
            return jax.vmap(one)(x, y, keys)

        return of_rows

    def _chain(self, net: Any, loss: Loss, targets: np.ndarray) -> Chain:
        chain = chain_of(net)
        if self.method == "crown-ibp":
            ensure_relu(chain)
        if loss.name not in SUPPORTED:
            remedy = f'choose one of {", ".join(SUPPORTED)}, or the method "adversarial", which takes any loss'
            raise UsageError(
                "The worst value of this loss on a box is not known.", got=loss.name, remedy=remedy
            )
        if loss.name == "cross-entropy" and not np.isin(targets, (0.0, 1.0)).all():
            remedy = 'give one class per row, or choose the method "adversarial"'
            raise SubjectError(
                "Margins are bounded for one class per row.", got="probabilities", remedy=remedy
            )
        return chain

    def _share(self, step: Any, dtype: Any) -> Any:
        """$s_k$."""
        first, last = self.ramp
        return jnp.where(
            step >= last, 1, jnp.clip((step - first) / max(last - first, 1), 0, 1)
        ).astype(dtype)

    def _of_row(
        self,
        chain: Chain | None,
        apply: Callable[[Any, Any], Any],
        loss: Loss,
        params: Any,
        x: Any,
        y: Any,
        share: Any,
        key: Any,
    ) -> Any:
        at = lambda point: loss.of(apply(params, point), y)
        radius = share * self.epsilon
        ascend = lambda radius: climb(
            at, x, radius, key, norm=self.norm, steps=self.attack_steps, clip=self.clip
        )
        if chain is None:
            worst = at(ascend(radius))
        elif self.method == "small-box":
            small = self.small * radius
            worst = self._of_box(
                chain, loss, params, self._box(ascend(radius - small), small), y, share
            )
        else:
            worst = self._of_box(chain, loss, params, self._box(x, radius), y, share)
        kept = 1 - share * (1 - self.clean)
        if self.clean == 0 and self.ramp[1] == 0:
            return worst
        return worst + _where_positive(kept, lambda: kept * (at(x) - worst))

    def _box(self, middle: Any, radius: Any) -> Box:
        if self.clip is None:
            return Box(middle, jnp.full_like(middle, radius))
        return box_between(
            *(jnp.clip(end, *self.clip) for end in (middle - radius, middle + radius))
        )

    def _of_box(self, chain: Chain, loss: Loss, params: Any, box: Box, y: Any, share: Any) -> Any:
        """The loss of the worst outputs that the bounds leave possible."""
        before = boxes(chain, params, box)
        by_intervals = lambda terms: bound_by_intervals(chain, params, before, terms)
        if loss.name == "cross-entropy" and y.size <= FEW_CLASSES:
            by_intervals = lambda terms: margins_by_intervals(chain, params, before, y)
        if self.method != "crown-ibp":
            return loss.of(worst_output(loss.name, by_intervals, y), y)
        mix = self.linear[0] + share * (self.linear[1] - self.linear[0])

        def mix_bounds(terms: Terms) -> Any:
            least = by_intervals(terms)
            linear = lambda: bound_by_lines(chain, params, before, terms)
            return least + _where_positive(mix, lambda: mix * (linear() - least))

        return loss.of(worst_output(loss.name, mix_bounds, y), y)


def worst_output(loss: str, bound: Bound, y: Any) -> Any:
    r"""An output at which the loss is at least as large as at every output that the `bound` allows.

    `bound` maps rows $\Lambda$ to lower bounds of $\Lambda f$.
    """
    identity = jnp.eye(y.size, dtype=y.dtype).reshape(y.size, *y.shape)
    if loss == "cross-entropy":  # the margins f_y - f_j at their least, as scores -margin
        return -bound((y[None], -identity))
    if loss in SIGNED:
        return y * bound((y * identity,)).reshape(y.shape)
    lo = bound((identity,)).reshape(y.shape)
    hi = -bound((-identity,)).reshape(y.shape)
    return jnp.where(y - lo > hi - y, lo, hi)


def _where_positive(share: Any, term: Callable[[], Any]) -> Any:
    """The term where its share, a number of the step, is positive, else zero without computing it."""
    zero = lambda: jnp.zeros(*_shape_and_dtype(term))
    return jax.lax.cond(share > 0, term, zero)


def _shape_and_dtype(term: Callable[[], Any]) -> tuple[Any, Any]:
    shaped = jax.eval_shape(term)
    return shaped.shape, shaped.dtype


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and isfinite(value)
    )
