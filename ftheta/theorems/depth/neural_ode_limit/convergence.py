r"""How fast residual networks tend to a flow: the Euler and Runge–Kutta methods, their errors, and the constant $C$.

A residual network is the explicit Euler method, so everything here is a one-step method driven by stacked
weights. Networks whose blocks are $\varphi(Wx+b)$ are also evaluated in ball arithmetic, which proves.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.flows.fields import Flow
from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import Enclosure

BITS = 128  # a ball widens by at most a factor e^Λ over the depth, so few of these bits are lost
REFERENCE_STEPS = 2048


# -- one-step methods, as scans over stacked weights ---------------------------------------------


def euler(field: Callable[[Any, Any], Any], theta: Any, start: Any) -> jax.Array:
    r"""The states $x_1,\dots,x_T$ of $x_{k+1}=x_k+\frac1Tv_{\theta_k}(x_k)$; `theta` holds $T$ stacked weights."""
    depth = len(jax.tree.leaves(theta)[0])

    def block(x, layer):
        new = x + field(layer, x) / depth
        return new, new

    return jax.lax.scan(block, jnp.asarray(start), theta)[1]


def runge_kutta(flow: Flow, steps: int) -> jax.Array:
    r"""The states $x(h),x(2h),\dots,x(1)$ by the classical method of order four with $h=1/$`steps`."""
    times = np.arange(2 * steps + 1) / (2 * steps)
    every = flow.weights(times)
    first, middle, last = (
        jax.tree.map(lambda w, s=s: w[s], every) for s in (np.s_[:-1:2], np.s_[1::2], np.s_[2::2])
    )

    def step(x, layers):
        new = runge_kutta_step(flow.field, layers, x, 1 / steps)
        return new, new

    return jax.lax.scan(step, jnp.asarray(flow.start), (first, middle, last))[1]


def ball_euler(flow: Flow, theta: Any) -> list[arb]:
    """The output of the residual network with these float64 weights, enclosed coordinate by coordinate."""
    if flow.balls is None:
        raise ValueError("Ball arithmetic needs a field φ(Wx + b) with φ given on balls.")
    W, b = (np.asarray(part).tolist() for part in theta)
    with ctx.workprec(BITS):
        x = [arb(float(value)) for value in flow.start]
        for weight, bias in zip(W, b):
            before = [sum((w * z for w, z in zip(row, x)), arb(c)) for row, c in zip(weight, bias)]
            x = [z + flow.balls(u) / len(W) for z, u in zip(x, before)]
    return x


# -- the limit and the distance to it ------------------------------------------------------------


def limit_of(flow: Flow) -> tuple[np.ndarray, int | None]:
    """$x(1)$ in float64, and None where it is known in closed form, else the number of Runge-Kutta steps behind it."""
    if flow.end is not None:
        return np.array([float(x) for x in flow.end]), None
    return np.asarray(runge_kutta(flow, REFERENCE_STEPS)[-1]), REFERENCE_STEPS


def distance(flow: Flow, output: np.ndarray, theta: Any = ()) -> Enclosure:
    r"""$|x_T-x(1)|$: in balls where the weights are given and the flow allows it, else from the float64 `output`."""
    if flow.balls is not None and flow.end is not None and regularity(flow, theta) is not None:
        with ctx.workprec(BITS):
            return Enclosure.ball(
                sum(
                    ((x - y) ** 2 for x, y in zip(ball_euler(flow, theta), flow.end)), arb(0)
                ).sqrt()
            )
    end, steps = limit_of(flow)
    error = float(np.nan_to_num(np.linalg.norm(np.asarray(output) - end), nan=np.inf))
    return Enclosure.equal(error) if steps is None else Enclosure.measured(error, samples=steps)


def largest(numbers: Sequence[Enclosure]) -> Enclosure:
    """The largest of several numbers, as well known as the least known of them."""
    weakest = max(numbers, key=lambda e: e.basis.rank)
    return replace(weakest, lo=max(e.lo for e in numbers), hi=max(e.hi for e in numbers))


def runge_kutta_errors(flow: Flow, runs: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Step numbers, fine enough for the field and doubled from run to run, and the errors there above rounding."""
    end, _ = limit_of(flow)
    steps = max(16, min(REFERENCE_STEPS // 64, int(4 * lipschitz_of(flow).hi))) * 2 ** np.arange(
        runs
    )
    errors = np.array(
        [np.linalg.norm(np.asarray(runge_kutta(flow, int(n))[-1]) - end) for n in steps]
    )
    visible = errors > 1e-13 * (1 + np.abs(end).max())
    return steps[visible], errors[visible]


def euler_constant(flow: Flow) -> Enclosure:
    r"""$C=\frac{e^\Lambda-1}{2\Lambda}\sup|\ddot x|$, with which $|x_T-x(1)|\le C/T$ at every depth $T$.

    A step adds at most $\frac1{2T^2}\sup|\ddot x|$ to the error; each later one enlarges it by $1+\Lambda/T$ at most.
    """
    steepness = lipschitz_of(flow)
    acceleration = acceleration_of(flow)
    with ctx.workprec(BITS):
        lo, hi = (Enclosure.ball(_growth(arb(end))) for end in (steepness.lo, steepness.hi))
    return replace(steepness, lo=lo.lo, hi=hi.hi) * acceleration


def _growth(rate: arb) -> arb:
    return rate.expm1() / (2 * rate) if rate > 0 else arb(0.5)


def lipschitz_of(flow: Flow) -> Enclosure:
    r"""The stated $\Lambda$, or the steepest Jacobian $\|D_xv\|_2$ met along the trajectory."""
    return flow.lipschitz if flow.lipschitz is not None else steepest_slope(flow)


def steepest_slope(flow: Flow, points: int = 256) -> Enclosure:
    r"""The largest $\|D_xv_{\theta(t)}(x)\|_2$ met at `points` places along the trajectory."""
    path = np.concatenate(
        [np.asarray(flow.start)[None], np.asarray(runge_kutta(flow, points))[:-1]]
    )
    slopes = np.asarray(jax.vmap(jax.jacfwd(flow.field, argnums=1))(flow.layers(points), path))
    return Enclosure.measured(float(np.linalg.norm(slopes, 2, axis=(1, 2)).max()), samples=points)


def acceleration_of(flow: Flow, points: int = 1024) -> Enclosure:
    r"""The stated $\sup|\ddot x|$, or the largest difference quotient of $\dot x$ met along the trajectory."""
    if flow.acceleration is not None:
        return flow.acceleration
    path = np.concatenate([np.asarray(flow.start)[None], np.asarray(runge_kutta(flow, points))])
    velocity = np.asarray(jax.vmap(flow.field)(flow.weights(np.arange(points + 1) / points), path))
    return Enclosure.measured(
        float(np.linalg.norm(np.diff(velocity, axis=0), axis=1).max() * points), samples=points
    )


def regularity(flow: Flow, theta: Any) -> tuple[float, float] | None:
    r"""$\max_k|\theta_k-\theta(k/T)|$ and $T\max_k|\theta_{k+1}-\theta_k|$, largest entries.

    None where `theta` is not laid out like the weights of the flow.
    """
    depth = max((len(leaf) for leaf in jax.tree.leaves(theta) if np.ndim(leaf)), default=0)
    wanted = flow.layers(depth) if depth else None
    if wanted is None or jax.tree.map(np.shape, theta) != jax.tree.map(np.shape, wanted):
        return None
    pairs = list(zip(jax.tree.leaves(theta), jax.tree.leaves(wanted)))
    apart = max(float(np.abs(a - b).max(initial=0.0)) for a, b in pairs)
    jump = max(float(np.abs(np.diff(a, axis=0)).max(initial=0.0)) for a, _ in pairs)
    return apart, jump * depth


def allowed_variation(flow: Flow, depth: int) -> float:
    r"""The stated Lipschitz constant of $\theta(\cdot)$, or else 5/4 of the steepest slope seen at half the depth.

    Weights that are not Lipschitz outgrow the second: paths of Brownian motion by a factor 1.41 each time it doubles.
    """
    if flow.variation is not None:
        return abs(flow.variation.hi)
    halved = regularity(flow, flow.layers(max(2, depth // 2)))
    return 1.25 * halved[1] if halved is not None else np.inf
