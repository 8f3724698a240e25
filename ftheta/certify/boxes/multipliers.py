r"""Adding multiples of what is not positive to an affine function that is to be shown positive.

Where $c(\varepsilon)\le0$ on a part of a box, $f\ge f+\beta c$ there for every $\beta\ge0$, and with
$f=v+\sum_ga_g\varepsilon_g$, $c=w+\sum_gb_g\varepsilon_g$ the least value over the box is
$$v+\beta w-\sum_g|a_g+\beta b_g|,$$
concave and piecewise linear in $\beta$: its maximum is where the tangents from the left and from the right meet, after
a few steps.
"""

from .arrays import TINY, U, compiled
from .ball_kernels import gain_of_form

STEPS = 8  # of the search for the best multiplier


@compiled
def best_multiplier(form, constant, other, other_constant, generators):
    """The multiple of `other` that makes the lower bound of the sum largest, in float64."""
    left_value = constant
    left_slope = other_constant
    right_value = constant  # of the tangent at infinity, where it meets zero
    right_slope = other_constant
    for g in range(generators):
        a = form[g]
        b = other[g]
        left_value -= abs(a)
        right_slope -= abs(b)
        if b == 0.0:
            right_value -= abs(a)
        else:
            toward = 1.0 if b > 0.0 else -1.0
            right_value -= toward * a
            left_slope -= b * ((1.0 if a > 0.0 else -1.0) if a != 0.0 else toward)
    if (
        not left_slope > 0.0 or right_slope >= 0.0
    ):  # nothing is gained, or `other` is positive all over the box
        return 0.0
    left = 0.0
    right = 0.0
    best = 0.0
    best_value = left_value
    for _ in range(STEPS):
        beta = (right_value - left_value + left_slope * left - right_slope * right) / (
            left_slope - right_slope
        )
        if not beta > left:
            break
        value = constant + beta * other_constant
        slope = other_constant
        for g in range(generators):
            b = other[g]
            a = form[g] + beta * b
            value -= abs(a)
            slope -= b if a > 0.0 else -b
        if value > best_value:
            best_value = value
            best = beta
        if slope > 0.0:
            left = beta
            left_value = value
            left_slope = slope
        elif slope < 0.0 and slope > right_slope:
            right = beta
            right_value = value
            right_slope = slope
        else:
            break
    return best


@compiled
def add_multiple(form, constant, other, other_constant, beta, generators):
    """Add `beta` times `other` to `form`; returns the constant of the sum, with all rounding taken off."""
    size = abs(constant) + beta * abs(other_constant)
    for g in range(generators):
        size += abs(form[g]) + beta * abs(other[g])
        form[g] += beta * other[g]
    return constant + beta * other_constant - 8.0 * U * (generators + 8) * size - TINY


@compiled
def lower_bound(form, constant, generators):
    """The least value over the box, rounded down."""
    spread = 0.0
    for g in range(generators):
        spread += abs(form[g])
    return constant - spread - 4.0 * (generators + 8) * U * (spread + abs(constant)) - TINY


@compiled
def lower_bound_in(ball, form, constant, generators):
    """The least value over the part of the box in the ball, rounded down."""
    least = lower_bound(form, constant, generators)
    gain = gain_of_form(form, ball)
    return least + gain - 4.0 * U * (abs(least) + gain) if gain > 0.0 else least
