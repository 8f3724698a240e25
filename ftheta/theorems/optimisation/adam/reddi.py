r"""The online problem of Reddi, Kale and Kumar (2018), on which Adam goes the wrong way and AMSGrad does not."""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from flint import arb, ctx, fmpq

from ftheta.training.adaptive import Adam, Arithmetic, Moments

BITS = 128


@dataclass(frozen=True)
class Reddi:
    r"""$f_t(x)=Cx$ for $t\equiv1\pmod 3$, else $-x$, on $[-1,1]$: the sum over a cycle is $(C-2)x$, best at $-1$.

    The method is Adam without bias correction, $\beta_1=0$, $\beta_2=1/(1+C^2)$, steps $\alpha/\sqrt t$, projected.
    """

    C: Fraction = Fraction(4)
    alpha: Fraction = Fraction(1, 2)

    def rule(self, amsgrad: bool) -> Adam:
        """The method without its steps α/√t: Adam, or AMSGrad."""
        return Adam(1, 0, 1 / (1 + float(self.C) ** 2), 0, amsgrad, corrected=False)

    def play(self, steps: int, amsgrad: bool) -> tuple[np.ndarray, np.ndarray]:
        r"""The points $x_1,\dots,x_{T+1}$ from $x_1=1$ and the average regret against $-1$ after each step."""
        rule = self.rule(amsgrad)
        x = 1.0
        memory = Moments(0.0, 0.0, 0.0)
        C = float(self.C)
        alpha = float(self.alpha)
        how = Arithmetic(sqrt, max, lambda a, b: a / b)
        points = [1.0]
        regret = [0.0]
        for t in range(1, steps + 1):
            g = C if t % 3 == 1 else -1.0
            update, memory = rule.step(g, t, memory, how)
            regret.append(regret[-1] + g * (x + 1))
            x = min(1.0, max(-1.0, x + alpha / sqrt(t) * update))
            points.append(x)
        return np.array(points), np.array(regret[1:]) / np.arange(1, steps + 1)

    def cycles_away(self, cycles: int) -> int:
        """How many of the first cycles do not end with Adam at +1, in ball arithmetic (a doubtful one is counted)."""
        with ctx.workprec(BITS):
            C = arb(fmpq(self.C.numerator, self.C.denominator))
            one = arb(1)
            away = 0
            beta2 = 1 / (1 + C * C)
            x = one
            v = arb(0)
            alpha = arb(fmpq(self.alpha.numerator, self.alpha.denominator))
            for t in range(1, 3 * cycles + 1):
                g = C if t % 3 == 1 else -one
                v = (1 - beta2) * (g * g) + beta2 * v
                x = (x - alpha * g / (arb(t).sqrt() * v.sqrt())).min(one).max(-one)
                away += t % 3 == 0 and not (x - 1).is_zero()
        return away
