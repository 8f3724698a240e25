r"""The part of a box that lies in a ball: lower bounds of linear functions over it, and points of it.

With $d=x-c$, the box is $u\le d\le o$ (entry by entry) and the ball $\|d\|_p\le r$. For every $\lambda\ge0$, and
$e(d)=\frac12(\|d\|_2^2-r^2)$ or $e(d)=\|d\|_1-r$, which is not positive in the ball,
$$\min_{\text{both}}\langle a,d\rangle\ge\min_{u\le d\le o}\bigl(\langle a,d\rangle+\lambda e(d)\bigr).$$
On the right every entry is on its own, and the best $\lambda$ makes it an equality. In ℓ2 the entry is
$-a_i/\lambda$, moved into its range; in ℓ1 it is the end of the range where $a_id_i$ is least if $|a_i|>\lambda$, else
the number next to 0. What this adds to the least value over the box alone is the *gain* of the ball; any $\lambda$
proves it.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.shapes import Bool, Float

from .questions import RationalBall, nearest, round_up

Array = np.ndarray
U = 2.0**-53
TINY = 1e-290  # more than underflow takes off one sum, while magnitudes stay below HUGE
HUGE = 1e100
ROUNDS = 10  # of the search for the multiplier in ℓ2; after about five it seldom moves
CLOSE = 256.0  # units of rounding by which it may move and stay
HALVINGS = 40  # of the search for the nearest point of both


@dataclass(frozen=True, eq=False)
class FloatBall:
    r"""All $x$ with $\|x-c\|_p\le r$, in floats: the `centre` $c$, the `radius` $r$ and the `norm` $p\in\{1,2\}$."""

    centre: Float[np.ndarray, "n"]
    radius: float
    norm: int

    @classmethod
    def around(cls, ball: RationalBall) -> "FloatBall":
        """A ball of floats that holds a rational one."""
        centre = np.array([nearest(v) for v in ball.centre])
        moved = [abs(v - Fraction(float(c))) for v, c in zip(ball.centre, centre)]
        off = sum(moved, Fraction(0))  # not shorter than in ℓ2
        return cls(centre, round_up(ball.radius + off), ball.norm)

    def gain(
        self,
        a: Float[np.ndarray, "*batch n"],
        low: Float[np.ndarray, "*#batch n"],
        high: Float[np.ndarray, "*#batch n"],
    ) -> Float[np.ndarray, "*batch"]:
        r"""By how much $\min\langle a,x\rangle$ over the part of the box in the ball is above that over the box,
        rounded down; 0 where numbers are beyond range."""
        with np.errstate(all="ignore"):
            under = low - self.centre
            over = high - self.centre
            far = np.where(a > 0, under, over)
            multiplier, at = self._relax(a, under, over, far)
            size = np.abs(a)
            if self.norm == 1:
                price = np.abs(at)
                paid = multiplier * self.radius
            else:
                price = 0.5 * at * at
                paid = 0.5 * multiplier * self.radius * self.radius
            terms = (size * np.abs(at - far) + multiplier[..., None] * price).sum(-1)
            # one unit of it for each end of a range
            reach = (size * (np.abs(under) + np.abs(over))).sum(-1)
            entries = a.shape[-1]
            loss = 2.0 * (entries + 32) * U * (terms + paid) + 16.0 * U * (reach + 2.0 * terms)
            loss = 1.01 * loss + TINY * (entries + multiplier)
            gain = terms - paid - loss
            sound = (terms + paid + reach < HUGE) & (multiplier < HUGE) & (gain > 0)
        return np.where(sound, gain, 0.0)

    def find_lowest(
        self,
        a: Float[np.ndarray, "*batch n"],
        low: Float[np.ndarray, "*#batch n"],
        high: Float[np.ndarray, "*#batch n"],
    ) -> Float[np.ndarray, "*batch n"]:
        r"""Where $\langle a,x\rangle$ is least over the part of the box in the ball, as far as floats say."""
        under = low - self.centre
        over = high - self.centre
        with np.errstate(all="ignore"):
            far = np.where(a > 0, under, over)
            return self.centre + self._relax(a, under, over, far)[1]

    def _relax(self, a: Array, under: Array, over: Array, far: Array) -> tuple[Array, Array]:
        """The multiplier, and the entries at which the right side is least."""
        return (
            self._relax_lengths(a, under, over, far)
            if self.norm == 1
            else self._relax_squares(a, under, over, far)
        )

    def _relax_squares(
        self, a: Array, under: Array, over: Array, far: Array
    ) -> tuple[Array, Array]:
        """The inverse multiplier grows until the entries, each moved into its range, have the length of the radius."""
        square = self.radius * self.radius
        inside = (far * far).sum(-1) <= square
        squares = a * a
        least = np.zeros(a.shape[:-1], a.dtype)
        most = np.full(a.shape[:-1], np.inf, a.dtype)
        close = CLOSE * np.finfo(a.dtype).eps
        step = self.radius / np.sqrt(squares.sum(-1))
        for _ in range(ROUNDS):
            free = -a * step[..., None]
            at = np.clip(free, under, over)
            is_free = at == free
            fixed = np.where(is_free, 0.0, at * at).sum(-1)
            moving = np.where(is_free, squares, 0.0).sum(-1)
            is_short = fixed + step * step * moving < square
            least = np.where(is_short, step, least)
            most = np.where(is_short, most, step)
            fitting = np.sqrt(np.maximum(square - fixed, 0.0) / moving)
            is_found = np.abs(fitting - step) <= close * step
            if np.all(is_found | inside):
                break
            is_good = is_found | ((fitting > least) & (fitting < most))
            between = np.where(
                np.isinf(most), 4.0 * step, np.where(least > 0, np.sqrt(least * most), most / 16.0)
            )
            step = np.where(is_good, fitting, between)
        multiplier = np.where(inside, 0.0, 1.0 / step)
        free = -a * step[..., None]
        return multiplier, np.where(inside[..., None], far, np.clip(free, under, over))

    def _relax_lengths(
        self, a: Array, under: Array, over: Array, far: Array
    ) -> tuple[Array, Array]:
        """Entries with the largest coefficients go to their ends, one after the other, until the radius is used up."""
        near = np.clip(0.0, under, over)
        size = np.abs(a)
        extra = np.broadcast_to(np.abs(far) - np.abs(near), a.shape)
        order = np.argsort(-size, axis=-1)
        used = np.cumsum(np.take_along_axis(extra, order, -1), -1) + np.abs(near).sum(-1)[..., None]
        is_full = used >= self.radius
        last = np.where(is_full.any(-1), is_full.argmax(-1), a.shape[-1] - 1)[..., None]
        place = np.take_along_axis(order, last, -1)
        multiplier = np.take_along_axis(size, place, -1)[..., 0]
        inside = used[..., -1] <= self.radius
        is_empty = np.abs(near).sum(-1) > self.radius
        multiplier = np.where(inside, 0.0, np.where(is_empty, 2.0 * size.max(-1) + 1.0, multiplier))
        at = np.broadcast_to(np.where(size > multiplier[..., None], far, near), a.shape).copy()
        # the entry whose coefficient is the multiplier costs nothing on its way: it takes what is left of the radius
        left = np.maximum(self.radius - np.abs(at).sum(-1), 0.0)[..., None]
        start, end = (
            np.take_along_axis(np.broadcast_to(part, a.shape), place, -1) for part in (near, far)
        )
        np.put_along_axis(
            at, place, start + np.sign(end - start) * np.minimum(left, np.abs(end - start)), -1
        )
        return multiplier, np.where(
            (inside | is_empty)[..., None], np.where(inside[..., None], far, near), at
        )

    def shrink(
        self, low: Float[np.ndarray, "boxes n"], high: Float[np.ndarray, "boxes n"]
    ) -> tuple[
        Float[np.ndarray, "boxes n"], Float[np.ndarray, "boxes n"], Bool[np.ndarray, "boxes"]
    ]:
        """The smallest boxes around the parts of boxes in the ball, rounded outward, and which parts are empty."""
        with np.errstate(all="ignore"):
            under = low - self.centre
            over = high - self.centre
            near = np.abs(np.clip(0.0, under, over)) * (1.0 - 4.0 * U)
            entries = low.shape[-1]
            used = near if self.norm == 1 else near * near
            room = self.radius if self.norm == 1 else self.radius * self.radius
            total = used.sum(-1, keepdims=True)
            slack = 4.0 * (entries + 8) * U * (total + room) + TINY
            left = room - (total - used) + slack
            is_empty = (left < 0).any(-1) | ((total - room)[..., 0] > slack[..., 0])
            reach = np.maximum(left, 0.0) if self.norm == 1 else np.sqrt(np.maximum(left, 0.0))
            far = reach * (1.0 + 8.0 * U) + TINY
            margin = 2.0 * U * (np.abs(self.centre) + far) + TINY
            shrunk_low = np.fmax(low, self.centre - far - margin)
            shrunk_high = np.fmin(high, self.centre + far + margin)
        return shrunk_low, shrunk_high, is_empty

    def project(
        self,
        x: Float[np.ndarray, "rows n"],
        low: Float[np.ndarray, "n"],
        high: Float[np.ndarray, "n"],
    ) -> Float[np.ndarray, "rows n"]:
        """The nearest points that lie in the ball and in the box, as far as floats say."""
        offset = x - self.centre
        there = np.clip(x, low, high)
        is_out = self._measure(there - self.centre) > self.radius
        if not is_out.any():
            return there
        offset = offset[is_out]
        least = np.zeros((len(offset), 1))  # what is taken off keeps the point out, or brings it in
        most = np.abs(offset).max(1, keepdims=True) if self.norm == 1 else np.ones((len(offset), 1))
        for _ in range(HALVINGS):
            middle = 0.5 * least + 0.5 * most
            moved = np.clip(self._pull(offset, middle) + self.centre, low, high)
            still = (self._measure(moved - self.centre) > self.radius)[:, None]
            least = np.where(still, middle, least)
            most = np.where(still, most, middle)
        there[is_out] = np.clip(self._pull(offset, most) + self.centre, low, high)
        return there

    def _pull(self, offset: Array, amount: Array) -> Array:
        """Towards the centre: in ℓ1 every entry by the amount, in ℓ2 all by that share."""
        if self.norm == 1:
            return np.sign(offset) * np.maximum(np.abs(offset) - amount, 0.0)
        return (1.0 - amount) * offset

    def _measure(self, offset: Array) -> Array:
        return np.abs(offset).sum(-1) if self.norm == 1 else np.sqrt((offset * offset).sum(-1))
