r"""Functions on which a rate is attained, with the methods run on them in rational arithmetic.

Each function returns what the method reaches, computed step by step, and what the theorem allows: two fractions.
"""

from fractions import Fraction
from math import sqrt
from typing import Any

from ftheta.logic.enclosure import Enclosure

from .adaptive import rational_root

Rational = Fraction | int | float


def huber_width(radius: Any, steps: int, step: Any = 1) -> Any:
    r"""$w=R/(2kh+1)$. On the Huber function $\frac L2x^2$ for $|x|\le w$, $Lw|x|-\frac L2w^2$ beyond, $k$ steps
    $h/L$ of gradient descent do worst (Drori and Teboulle)."""
    return radius / (2 * steps * step + 1)


def slowest_descent(
    smoothness: Rational, radius: Rational, steps: int, step: Rational = 1
) -> tuple[Fraction, Fraction]:
    r"""$F(\theta_k)-F^*$ of gradient descent, $\tau=\frac hL$, on that function from $R$, beside
    $\frac{LR^2}{4kh+2}$; `step` is $h$."""
    L = Fraction(smoothness)
    R = Fraction(radius)
    h = Fraction(step)
    w = huber_width(R, steps, h)
    x = R
    for _ in range(steps):
        x -= (h / L) * (L * x if abs(x) <= w else L * w * (1 if x > 0 else -1))
    value = L * x * x / 2 if abs(x) <= w else L * w * (abs(x) - w / 2)
    return value, L * R * R / (4 * steps * h + 2)


def flattest_gradient(steps: int) -> tuple[Fraction, Fraction]:
    r"""$\min_{k<K}|F'(\theta_k)|^2$ of gradient descent, $\tau=\frac1L$, $L=1$, on the Huber function of width 1 from
    $K+1$, beside $\frac{L(F_0-F^*)}{K+1/2}$: half of $\frac{2L(F_0-F^*)}K$, so that its order cannot be improved."""
    x = Fraction(steps + 1)
    slopes = []
    room = x - Fraction(1, 2)
    for _ in range(steps):
        slopes.append(min(x, Fraction(1)) ** 2)
        x -= min(x, Fraction(1))
    return min(slopes), room / (steps + Fraction(1, 2))


def slowest_line_search(kappa: Rational, steps: int = 5) -> tuple[Fraction, Fraction]:
    r"""$F(\theta_k)/F(\theta_0)$ of the exact line search on $\frac12\theta^\top\mathrm{diag}(1,\kappa)\theta$ from
    $(\kappa,1)$, beside Kantorovich's $(\frac{\kappa-1}{\kappa+1})^{2k}$."""
    H = (Fraction(1), Fraction(kappa))
    theta = (Fraction(kappa), Fraction(1))
    value = lambda point: sum((h * t * t for h, t in zip(H, point)), Fraction(0)) / 2
    first = value(theta)
    for _ in range(steps):
        g = tuple(h * t for h, t in zip(H, theta))
        if not any(g):
            break
        tau = sum(a * a for a in g) / sum(h * a * a for h, a in zip(H, g))
        theta = tuple(t - tau * a for t, a in zip(theta, g))
    return value(theta) / first, ((H[1] - 1) / (H[1] + 1)) ** (2 * steps)


def heavy_ball_radius(kappa: Rational) -> Enclosure:
    r"""The largest modulus of an eigenvalue of the tuned heavy ball on a quadratic with spectrum in $[1,\kappa]$.

    On the mode $\lambda$ the errors obey $e_{k+1}=(1+\beta-\tau\lambda)e_k-\beta e_{k-1}$. While
    $(1+\beta-\tau\lambda)^2\le4\beta$ both roots have modulus $\sqrt\beta$; the left side is convex in
    $\lambda$, so the two ends decide. Exact where $\sqrt\kappa$ is rational.
    """
    try:
        s: Any = rational_root(Fraction(kappa))
    except ValueError:
        s = sqrt(kappa)
    q = (s - 1) / (s + 1)
    tau = 4 / (s + 1) ** 2
    excess = max((1 + q * q - tau * mode) ** 2 - 4 * q * q for mode in (s * 0 + 1, s * s))
    if isinstance(s, Fraction):
        return Enclosure.exact(q) if excess <= 0 else Enclosure.at_least(float(q))
    return Enclosure.equal(q + sqrt(max(0.0, excess)) / 2 if excess > 1e-14 else q)


def slowest_proximal(
    smoothness: Rational, radius: Rational, steps: int
) -> tuple[Fraction, Fraction]:
    r"""$F(\theta_k)-F^*$ of forward–backward, $\tau=\frac1L$, on $f=0$, $g(x)=cx$ for $x\ge0$ (else $\infty$),
    $c=\frac{LR}{2k}$, from $R$, beside $\frac{LR^2}{4k}$: half the textbook bound, and no bound below it holds."""
    L = Fraction(smoothness)
    R = Fraction(radius)
    c = L * R / (2 * steps)
    x = R
    for _ in range(steps):
        x = max(x - c / L, Fraction(0))
    return c * x, L * R * R / (4 * steps)


def slowest_subgradient(
    root: int, radius: Rational = 1, lipschitz: Rational = 1
) -> tuple[Fraction, Fraction]:
    r"""$\min_{k<n}F(\theta_k)-F^*$, $n=\text{root}^2$, on
    $F(x)=G\max\big(\max_{i\le n}x_i,\ \|x\|-R(1+\frac1{\sqrt n})\big)$ from 0 with $\tau=\frac R{G\sqrt n}$, beside
    $\frac{R^2+G^2\sum\tau^2}{2\sum\tau}=\frac{GR}{\sqrt n}$; the minimiser is $-\frac R{\sqrt n}(1,\dots,1)$.

    The oracle answers with the first largest coordinate.
    """
    R = Fraction(radius)
    G = Fraction(lipschitz)
    n = root * root
    tau = R / (G * root)
    far = R * (1 + Fraction(1, root))
    x = [Fraction(0)] * n
    best = None
    for _ in range(n):
        top = max(x)
        if (
            sum(t * t for t in x) > (top + far) ** 2
        ):  # then the norm is the larger part, and this is another problem
            raise ArithmeticError("The iterates left the ball on which the maximum decides.")
        best = G * top if best is None else min(best, G * top)
        x[x.index(top)] -= tau * G
    assert best is not None
    return best + G * R / root, (R * R + n * (G * tau) ** 2) / (2 * n * tau)
