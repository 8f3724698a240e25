"""A deep residual network with step 1/T is Euler's method: it tends to a flow, at the rate 1/T."""

from typing import Annotated

import numpy as np

from ftheta.limits import depth as limits
from ftheta.limits.depth.contrasts import contrasts
from ftheta.limits.orders import observed_order
from ftheta.logic import AtMost, Evidence, Knob, theorem
from ftheta.logic.chart import Axis, Curves, Series
from ftheta.subjects import Family, Network
from ftheta.subjects.residual import euler_steps, family_of, lipschitz_field, lipschitz_weights


def residual_networks(
    rng: np.random.Generator,
    *,
    flow: Annotated[str, Knob(says="the vector field", symbol="v", choices=tuple(limits.FLOWS))] = "growth",
    rate: Annotated[float, Knob(0.1, 4, "growth rate, full turns, or weight norm", "λ", least=1e-3, most=8)] = 1.0,
    noise: Annotated[float, Knob(0, 1, "size of independent ± noise on each layer's weights", "η")] = 0.0,
    depth: Annotated[int, Knob(8, 4096, "layers of the deepest network", "T", log=True, most=32_768)] = 1024,
) -> Family:
    limit = limits.FLOWS[flow](rate)

    def member(T: int, rng: np.random.Generator) -> Network:
        W, b = limit.layers(T)
        W = W + noise * rng.choice([-1.0, 1.0], W.shape)
        return Network(f"{T} layers", limit.output, (W, b), limit.start.shape)

    scales = sorted({depth >> k for k in range(8) if depth >> k})
    return Family(f"residual networks, {flow}, λ = {rate:g}, noise {noise:g}", member, limit, scales)


@theorem(
    title="Residual networks tend to a flow",
    sources=("seed 0", "seed 4", "chen2018", "hairer1993"),
    assumes=(euler_steps, lipschitz_field, lipschitz_weights),
    on=residual_networks,
    breaks_on=lambda rng: residual_networks(rng, noise=1.0),
    presets={
        "textbook": {},
        "one full turn": {"flow": "rotation", "depth": 4096},
        "deep tanh": {"flow": "tanh", "rate": 2.0, "depth": 8192},
        "at the edge": {"rate": 0.25},
        "broken on purpose": {"noise": 1.0},
    },
)
def neural_ode_limit(subject: Family | Network, rng: np.random.Generator) -> Evidence:
    r"""$x_{k+1}=x_k+\frac1Tv_{\theta(k/T)}(x_k)$ is explicit Euler for $\dot x=v_{\theta(t)}(x)$. If $v_\theta$ is
    $\Lambda$-Lipschitz in $x$ and $t\mapsto\theta(t)$ is Lipschitz, then at every depth $T$
    $$|x_T-x(1)|\le\frac CT,\qquad C=\frac{e^\Lambda-1}{2\Lambda}\,\sup_{[0,1]}|\ddot x|,$$
    and in general no order better than $T^{-1}$; the classical Runge–Kutta method reaches $T^{-4}$. Independent noise
    on the weights leaves $T^{-1/2}$; plain layers with weights as small have no such limit."""
    family, flow = family_of(subject)
    T, C = np.array(family.scales, float), limits.euler_constant(flow)
    nets = [family.member(n, rng) for n in family.scales]
    outputs = [np.asarray(net(flow.start)) for net in nets]
    scaled = [limits.distance(flow, y, net.params) * n for y, net, n in zip(outputs, nets, T)]
    error, (steps, rk) = np.array([e.middle for e in scaled]) / T, limits.runge_kutta_errors(flow)
    needs, needed = contrasts()
    bound = AtMost("max over T of T·|x_T − x(1)|", limits.largest(scaled), C)
    # the weights of one network are joined by straight lines: their kinks cost the Runge-Kutta method its order
    given, fourth = isinstance(subject, Network), observed_order("error of the Runge–Kutta method", 4, steps, rk)
    order1 = observed_order("|x_T − x(1)|", 1, T[-4:], error[-4:], sharp=not given, slack=0.3 if given else 0.1)
    rates = (Series("bound C/T", T, C.hi / T, "bound"), Series("measured", T, error), Series("Runge–Kutta", steps, rk))
    return Evidence(
        claims=(bound, *order1, *(() if given else fourth), *needs),
        charts=(
            Curves("error against depth", Axis("depth T", "log"), Axis("|x_T − x(1)|", "log"), rates),
            limits.trajectories(
                flow, {f"T = {n:g}": net.params for n, net in list(zip(T, nets))[:: max(1, len(T) // 3)]}
            ),
            needed,
        ),
        numbers={"C": C, "T × error": scaled[-1], "T × error at T → ∞": 2 * scaled[-1].middle - scaled[-2].middle}
        | {"output": outputs[-1].flat[0], "norm of the output": float(np.linalg.norm(outputs[-1]))},
        summary=f"at T = {T[-1]:g} the error is {error[-1]:.4g}; the bound C/T is {C.hi / T[-1]:.4g}, C = {C.hi:.6g}",
    )
