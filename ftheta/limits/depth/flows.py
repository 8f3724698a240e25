r"""Infinite depth: residual networks $x_{k+1}=x_k+\frac1Tv_{\theta(k/T)}(x_k)$ and the flow they discretise.

A residual network is the explicit Euler method, so everything here is a one-step method driven by stacked
weights. Networks whose blocks are $\varphi(Wx+b)$ are also evaluated in ball arithmetic, which proves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.logic import Axis, Curves, Enclosure, Series

BITS = 128  # a ball widens by at most a factor e^Λ over the depth, so few of these bits are lost
REFERENCE_STEPS = 2048


@dataclass(frozen=True, eq=False)
class Flow:
    r"""$\dot x=v_{\theta(t)}(x)$ on $[0,1]$ from `start` $x(0)$.

    `weights(t)` maps times of shape `(n,)` to $\theta(t)$, a pytree stacked along its first axis; `field(theta, x)` is
    $v_\theta(x)$ in `jax.numpy`. What is known in closed form: `end` $x(1)$ in balls, `lipschitz` $\Lambda$ of
    $x\mapsto v_{\theta(t)}(x)$, `acceleration` $\sup|\ddot x|$, `variation`, a Lipschitz constant of every entry of
    $\theta(t)$. `balls` is $\varphi$ on balls where $\theta=(W,b)$ and $v_\theta(x)=\varphi(Wx+b)$: with it and `end`
    errors are proved.
    """

    field: Callable[[Any, Any], Any]
    weights: Callable[[np.ndarray], Any]
    start: np.ndarray
    end: Sequence[arb] | None = None
    lipschitz: Enclosure | None = None
    acceleration: Enclosure | None = None
    variation: Enclosure | None = None
    balls: Callable[[arb], arb] | None = None

    def layers(self, depth: int) -> Any:
        r"""The weights $\theta(k/T)$, $k<T$, of the residual network of that depth."""
        return self.weights(np.arange(depth) / depth)

    def output(self, theta: Any, x: Any) -> jax.Array:
        """The residual network itself: what the stacked weights `theta` make of `x`."""
        depth = len(jax.tree.leaves(theta)[0])
        return jax.lax.scan(lambda x, layer: (x + self.field(layer, x) / depth, None), jnp.asarray(x), theta)[0]


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
    first, middle, last = (jax.tree.map(lambda w, s=s: w[s], every) for s in (np.s_[:-1:2], np.s_[1::2], np.s_[2::2]))
    v, h = flow.field, 1 / steps

    def step(x, layers):
        a, b, c = layers
        k1 = v(a, x)
        k2 = v(b, x + h / 2 * k1)
        k3 = v(b, x + h / 2 * k2)
        new = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + v(c, x + h * k3))
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


def trajectories(flow: Flow, runs: Mapping[str, Any], points: int = 256) -> Curves:
    """The states of residual networks (name to stacked weights) beside the limit, in time or in the plane."""
    plane, drawn = np.size(flow.start) > 1, []
    for name, theta in {**runs, "limit": flow.layers(4096)}.items():
        theta = theta if regularity(flow, theta) is not None else flow.layers(points)
        states = np.concatenate([np.asarray(flow.start)[None], np.asarray(euler(flow.field, theta, flow.start))])
        kept = np.unique(np.linspace(0, len(states) - 1, min(points, len(states))).round().astype(int))
        x, y = (states[kept, 0], states[kept, 1]) if plane else (kept / (len(states) - 1), states[kept, 0])
        drawn.append(Series(name, x, y, "reference" if name == "limit" else "measured"))
    labels = ("x₁", "x₂") if plane else ("t", "x")
    return Curves("trajectories", Axis(labels[0]), Axis(labels[1]), tuple(drawn))


def limit_of(flow: Flow) -> tuple[np.ndarray, int | None]:
    """$x(1)$ in float64, and None where it is known in closed form, else the number of Runge-Kutta steps behind it."""
    if flow.end is not None:
        return np.array([float(x) for x in flow.end]), None
    return np.asarray(runge_kutta(flow, REFERENCE_STEPS)[-1]), REFERENCE_STEPS


def distance(flow: Flow, output: np.ndarray, theta: Any = ()) -> Enclosure:
    r"""$|x_T-x(1)|$: in balls where the weights are given and the flow allows it, else from the float64 `output`."""
    if flow.balls is not None and flow.end is not None and regularity(flow, theta) is not None:
        with ctx.workprec(BITS):
            return Enclosure.ball(sum(((x - y) ** 2 for x, y in zip(ball_euler(flow, theta), flow.end)), arb(0)).sqrt())
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
    steps = max(16, min(REFERENCE_STEPS // 64, int(4 * lipschitz_of(flow).hi))) * 2 ** np.arange(runs)
    errors = np.array([np.linalg.norm(np.asarray(runge_kutta(flow, int(n))[-1]) - end) for n in steps])
    visible = errors > 1e-13 * (1 + np.abs(end).max())
    return steps[visible], errors[visible]


def euler_constant(flow: Flow) -> Enclosure:
    r"""$C=\frac{e^\Lambda-1}{2\Lambda}\sup|\ddot x|$, with which $|x_T-x(1)|\le C/T$ at every depth $T$.

    A step adds at most $\frac1{2T^2}\sup|\ddot x|$ to the error; each later one enlarges it by $1+\Lambda/T$ at most.
    """
    steepness, acceleration = lipschitz_of(flow), acceleration_of(flow)
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
    path = np.concatenate([np.asarray(flow.start)[None], np.asarray(runge_kutta(flow, points))[:-1]])
    slopes = np.asarray(jax.vmap(jax.jacfwd(flow.field, argnums=1))(flow.layers(points), path))
    return Enclosure.measured(float(np.linalg.norm(slopes, 2, axis=(1, 2)).max()), samples=points)


def acceleration_of(flow: Flow, points: int = 1024) -> Enclosure:
    r"""The stated $\sup|\ddot x|$, or the largest difference quotient of $\dot x$ met along the trajectory."""
    if flow.acceleration is not None:
        return flow.acceleration
    path = np.concatenate([np.asarray(flow.start)[None], np.asarray(runge_kutta(flow, points))])
    velocity = np.asarray(jax.vmap(flow.field)(flow.weights(np.arange(points + 1) / points), path))
    return Enclosure.measured(float(np.linalg.norm(np.diff(velocity, axis=0), axis=1).max() * points), samples=points)


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


# -- flows with a closed form --------------------------------------------------------------------


def growth(rate: float) -> Flow:
    r"""$\dot x=\lambda x$, $x(0)=1$: the network's output is $(1+\lambda/T)^T$ and the limit $e^\lambda$."""
    with ctx.workprec(BITS):
        end = arb(rate).exp()
        bend = Enclosure.ball(arb(rate) ** 2 * end.max(arb(1)))
    W = np.array([[rate]])
    return Flow(
        _linear, _constant(W), np.ones(1), [end], Enclosure.exact(abs(rate)), bend, Enclosure.exact(0), _identity
    )


def rotation(turns: float) -> Flow:
    r"""$\dot x=2\pi n\,Jx$ from $(1,0)$: $n$ full turns; the output's norm is $(1+(2\pi n/T)^2)^{T/2}$."""
    with ctx.workprec(BITS):
        angle = 2 * arb.pi() * arb(turns)
        end, speed, bend = [angle.cos(), angle.sin()], Enclosure.ball(angle), Enclosure.ball(angle**2)
    W = 2 * np.pi * turns * np.array([[0.0, -1.0], [1.0, 0.0]])
    return Flow(_linear, _constant(W), np.array([1.0, 0.0]), end, speed, bend, Enclosure.exact(0), _identity)


RADIUS, SPIN = 0.4, 2.0  # of the circle that the tanh flow follows; its velocity stays below 0.8 < 1


def circling_tanh(steepness: float) -> Flow:
    r"""$\dot x=\tanh(W(t)x+b(t))$ with $W(t)=\Lambda R(t)$ turning and $b(t)=\mathrm{artanh}\,\dot c(t)-W(t)c(t)$.

    That choice makes the circle $c(t)=r(\cos\omega t,\sin\omega t)$ the solution: a tanh network whose weights vary
    smoothly, with a known end and $|\ddot x|=r\omega^2$.
    """

    def weights(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c, s = np.cos(t), np.sin(t)
        W = steepness * np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
        at = RADIUS * np.stack([np.cos(SPIN * t), np.sin(SPIN * t)], -1)
        velocity = RADIUS * SPIN * np.stack([-np.sin(SPIN * t), np.cos(SPIN * t)], -1)
        return W, np.arctanh(velocity) - np.einsum("tij,tj->ti", W, at)

    with ctx.workprec(BITS):
        r, w, L = arb(RADIUS), arb(SPIN), arb(steepness)
        end, bend = [r * w.cos(), r * w.sin()], r * w**2
        variation = bend / (1 - (r * w) ** 2) + L * r * (1 + w)  # of artanh(ċ), and of W c
        variation = Enclosure.ball(variation if variation > L else L)
    tanh = lambda theta, x: jnp.tanh(theta[0] @ x + theta[1])
    start, ball = np.array([RADIUS, 0.0]), Enclosure.ball(bend)
    return Flow(tanh, weights, start, end, Enclosure.exact(steepness), ball, variation, arb.tanh)


def _linear(theta: Any, x: Any) -> Any:
    return theta[0] @ x + theta[1]


def _identity(u: arb) -> arb:
    return u


def _constant(W: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Weights that do not change with time, and no bias."""
    return lambda t: (np.broadcast_to(W, (len(t), *W.shape)), np.zeros((len(t), len(W))))


FLOWS: dict[str, Callable[[float], Flow]] = {"growth": growth, "rotation": rotation, "tanh": circling_tanh}
