r"""The two ways back from noise to one Gaussian with a score that is off by a constant, in balls.

Data $\mathcal N(a,s^2)$ in one coordinate; at time $t$ of the forward process the variance is $v_t=1+(s^2-1)e^{-2t}$
and the mean $e^{-t}a$. Started from $\mathcal N(0,1)$ at time $T$ with the score plus $\delta$, both end in a Gaussian:

- the SDE multiplies errors made at time $t$ by $e^{-t}s^2/v_t$, so its mean is off by
  $2\delta\int_0^Te^{-t}s^2/v_t\,dt-a\,e^{-2T}s^2/v_T$, its variance by $(1-v_T)(e^{-T}s^2/v_T)^2$;
- the flow multiplies them by $s/\sqrt{v_t}$: $\delta\int_0^Ts/\sqrt{v_t}\,dt-a\,e^{-T}s/\sqrt{v_T}$, and $s^2/v_T-s^2$.
"""

from dataclasses import dataclass

from flint import acb, arb, ctx

BITS = 128


@dataclass(frozen=True)
class Coordinate:
    """One coordinate of the data: mean `a`, standard deviation `s` > 0, and the error `delta` of the score in it."""

    a: float
    s: float
    delta: float

    def variance_at(self, t: arb) -> arb:
        return 1 + (arb(self.s) ** 2 - 1) * (-2 * t).exp()

    def end_of_sde(self, horizon: float) -> tuple[arb, arb]:
        """The error of the mean, and the variance, with which the reverse SDE ends."""
        T = arb(horizon)
        s2 = arb(self.s) ** 2

        def rate(t: acb, _: bool) -> acb:
            return (-t).exp() * s2 / (1 + (s2 - 1) * (-2 * t).exp())

        v = self.variance_at(T)
        off = (
            2 * arb(self.delta) * acb.integral(rate, 0, T).real
            - arb(self.a) * (-2 * T).exp() * s2 / v
        )
        return off, s2 + (1 - v) * ((-T).exp() * s2 / v) ** 2

    def end_of_flow(self, horizon: float) -> tuple[arb, arb]:
        """The error of the mean, and the variance, with which the probability flow ends."""
        T = arb(horizon)
        s2 = arb(self.s) ** 2

        def rate(t: acb, analytic: bool) -> acb:
            return (s2 / (1 + (s2 - 1) * (-2 * t).exp())).sqrt(analytic=analytic)

        v = self.variance_at(T)
        off = (
            arb(self.delta) * acb.integral(rate, 0, T).real
            - arb(self.a) * (-T).exp() * (s2 / v).sqrt()
        )
        return off, s2 / v

    def divergence(self, horizon: float, process: str) -> arb:
        r"""$\mathrm{KL}(p_0\|\hat p)$ of this coordinate, for the process "reverse SDE" or "probability flow"."""
        with ctx.workprec(BITS):
            off, v = (
                self.end_of_sde(horizon) if process == "reverse SDE" else self.end_of_flow(horizon)
            )
            ratio = arb(self.s) ** 2 / v
            return (ratio - 1 - ratio.log() + off**2 / v) / 2

    def start_term(self, horizon: float) -> arb:
        r"""$\mathrm{KL}(p_T\|\mathcal N(0,1))$ of this coordinate."""
        with ctx.workprec(BITS):
            T = arb(horizon)
            v = self.variance_at(T)
            return ((arb(self.a) * (-T).exp()) ** 2 + v - 1 - v.log()) / 2
