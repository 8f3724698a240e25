r"""Parts of a box in a ball, in compiled code: what the ball adds to a lower bound over the box.

The mathematics is that of `ftheta.certify.ball_parts`. Over a part with centre $m$ and radii $\rho$ an input is
$c+d$, $d=s+\rho\varepsilon$, with the centre $c$ of the ball and $s=m-c$ (`offsets`). A function with the slopes
$\alpha$ along the inputs is least over the box at its corner `far`. For every $\lambda\ge0$ the ball raises that bound
by the least value over $d$ of $\sum_i\bigl(|\alpha_i||d_i-\text{far}_i|+\lambda p(d_i)\bigr)-\lambda p(r)$, with
$p(d)=d^2/2$ or $|d|$.
"""

import numpy as np

from .arrays import HUGE, TINY, U, compiled

ROUNDS = 12  # of the search for a multiplier
CLOSE = 1e-13


@compiled
def place_in_ball(lo, hi, ball):
    """Shrink a part of the box to that of it in the ball; returns whether nothing is left.

    `ball.used` says afterwards whether the ball cuts anything off."""
    norm = ball.norm[0]
    if norm == 0:
        return False
    inputs = len(lo)
    radius = ball.radius[0]
    room = radius if norm == 1 else radius * radius
    total = 0.0
    for i in range(inputs):
        total += _power(
            norm, _near(lo[i] - ball.centre[i], hi[i] - ball.centre[i]) * (1.0 - 4.0 * U)
        )
    slack = 4.0 * (inputs + 8) * U * (total + room) + TINY
    if total - room > slack:
        return True
    farthest = 0.0
    for i in range(inputs):
        own = _power(norm, _near(lo[i] - ball.centre[i], hi[i] - ball.centre[i]) * (1.0 - 4.0 * U))
        left = max(room - (total - own) + slack, 0.0)
        reach = (left if norm == 1 else np.sqrt(left)) * (1.0 + 8.0 * U) + TINY
        margin = 2.0 * U * (abs(ball.centre[i]) + reach) + TINY
        lo[i] = max(lo[i], ball.centre[i] - reach - margin)
        hi[i] = min(hi[i], ball.centre[i] + reach + margin)
        if lo[i] > hi[i]:
            return True
        farthest += _power(
            norm, max(ball.centre[i] - lo[i], hi[i] - ball.centre[i], 0.0) * (1.0 + 4.0 * U)
        )
    ball.used[0] = 1 if farthest * (1.0 + 4.0 * (inputs + 8) * U) > room else 0
    for i in range(inputs):
        middle = 0.5 * lo[i] + 0.5 * hi[i]
        ball.offsets[i] = middle - ball.centre[i]
        ball.radii[i] = max(hi[i] - middle, middle - lo[i]) * (1.0 + 4.0 * U) + TINY
    return False


@compiled
def gain_of_form(form, ball):
    """What the ball adds to the lower bound of an affine function of the generators over the whole box."""
    if ball.used[0] == 0:
        return 0.0
    for i in range(len(ball.slopes)):
        ball.slopes[i] = form[i] / ball.radii[i]
    return gain_of_slopes(ball)


@compiled
def gain_of_slopes(ball):
    """What the ball adds to the lower bound of a function with the slopes `ball.slopes` along the inputs, rounded down.

    `ball.at` is where it is least then, from the centre of the ball on."""
    norm = ball.norm[0]
    multiplier = _relax_lengths(ball) if norm == 1 else _relax_squares(ball)
    radius = ball.radius[0]
    terms = 0.0
    reach = 0.0
    for i in range(len(ball.slopes)):
        size = abs(ball.slopes[i])
        at = ball.at[i]
        terms += size * abs(at - _far(ball, i)) + multiplier * (
            abs(at) if norm == 1 else 0.5 * at * at
        )
        reach += 2.0 * size * (abs(ball.offsets[i]) + ball.radii[i])
    paid = multiplier * (radius if norm == 1 else 0.5 * radius * radius)
    entries = len(ball.slopes)
    loss = 2.0 * (entries + 32) * U * (terms + paid) + 32.0 * U * (reach + terms)
    gain = terms - paid - 1.01 * loss - TINY * (entries + multiplier)
    is_sound = terms + paid + reach < HUGE and multiplier < HUGE
    return gain if is_sound and gain > 0.0 else 0.0


@compiled
def bring_inside(x, lo, hi, ball):
    """Move a point of the box into the ball, towards the point of the box next to its centre, as far as floats say."""
    norm = ball.norm[0]
    if norm == 0 or ball.used[0] == 0:
        return
    radius = ball.radius[0]
    least = 0.0
    most = 1.0
    for turn in range(40):
        share = 1.0 if turn == 0 else 0.5 * least + 0.5 * most
        total = 0.0
        for i in range(len(x)):
            home = min(max(ball.centre[i], lo[i]), hi[i])
            total += _power(norm, abs(home + share * (x[i] - home) - ball.centre[i]))
        if total <= (radius if norm == 1 else radius * radius):
            least = share
            if turn == 0:
                return
        else:
            most = share
    for i in range(len(x)):
        home = min(max(ball.centre[i], lo[i]), hi[i])
        x[i] = home + least * (x[i] - home)


@compiled
def _near(under, over):
    """How far a range is from zero."""
    return max(under, -over, 0.0)


@compiled
def _power(norm, length):
    return length if norm == 1 else length * length


@compiled
def _far(ball, i):
    """The end of the range of input `i` where the function is least."""
    return (
        ball.offsets[i] - ball.radii[i] if ball.slopes[i] > 0.0 else ball.offsets[i] + ball.radii[i]
    )


@compiled
def _relax_squares(ball):
    """The multiplier in ℓ2 with which the entries `ball.at`, each moved into its range, are as long as the radius."""
    square = ball.radius[0] * ball.radius[0]
    size = 0.0
    for i in range(len(ball.slopes)):
        size += ball.slopes[i] * ball.slopes[i]
    step = 1.0 if size == 0.0 else ball.radius[0] / np.sqrt(size)
    least = 0.0
    most = np.inf
    for _ in range(ROUNDS):
        fixed = 0.0
        moving = 0.0
        for i in range(len(ball.slopes)):
            a = ball.slopes[i]
            free = -a * step
            at = min(max(free, ball.offsets[i] - ball.radii[i]), ball.offsets[i] + ball.radii[i])
            if at == free:
                moving += a * a
            else:
                fixed += at * at
        if fixed + step * step * moving < square:
            least = step
        else:
            most = step
        fitting = np.sqrt(max(square - fixed, 0.0) / moving) if moving > 0.0 else np.inf
        if abs(fitting - step) <= CLOSE * step:
            break
        if least < fitting < most:
            step = fitting
        elif most == np.inf:
            step *= 4.0
        else:
            step = np.sqrt(least * most) if least > 0.0 else most / 16.0
    for i in range(len(ball.slopes)):
        low = ball.offsets[i] - ball.radii[i]
        ball.at[i] = min(max(-ball.slopes[i] * step, low), ball.offsets[i] + ball.radii[i])
    return 1.0 / step


@compiled
def _relax_lengths(ball):
    """The multiplier in ℓ1: the size of the slope at which the radius is used up, the largest ones first."""
    least = 0.0  # with it, entries are longer than the radius
    most = np.inf
    multiplier = 0.0
    for _ in range(4 * ROUNDS):
        total = 0.0
        for i in range(len(ball.slopes)):
            low = ball.offsets[i] - ball.radii[i]
            high = ball.offsets[i] + ball.radii[i]
            ball.at[i] = (
                _far(ball, i) if abs(ball.slopes[i]) > multiplier else min(max(0.0, low), high)
            )
            total += abs(ball.at[i])
        if total > ball.radius[0]:
            least = multiplier
        else:
            most = multiplier
        below = most  # the slopes between, as far from one another as they are
        above = -1.0
        for i in range(len(ball.slopes)):
            a = abs(ball.slopes[i])
            if least < a < most:
                below = min(below, a)
                above = max(above, a)
        if above < 0.0:
            break
        middle = 0.5 * below + 0.5 * above
        multiplier = above
        for i in range(len(ball.slopes)):
            a = abs(ball.slopes[i])
            if least < a < most and abs(a - middle) < abs(multiplier - middle):
                multiplier = a
    multiplier = most if most < np.inf else 2.0 * least
    left = ball.radius[0]
    for i in range(len(ball.slopes)):
        low = ball.offsets[i] - ball.radii[i]
        near = min(max(0.0, low), ball.offsets[i] + ball.radii[i])
        ball.at[i] = _far(ball, i) if abs(ball.slopes[i]) > multiplier else near
        left -= abs(ball.at[i])
    for i in range(
        len(ball.slopes)
    ):  # with the slope of the multiplier, all of the way to the end costs the same
        if left > 0.0 and abs(ball.slopes[i]) == multiplier:
            way = _far(ball, i) - ball.at[i]
            taken = min(left, abs(way))
            ball.at[i] += taken if way > 0.0 else -taken
            left -= taken
    return multiplier
