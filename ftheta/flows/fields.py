r"""Flows $\dot x=v_{\theta(t)}(x)$ and the residual networks $x_{k+1}=x_k+\frac1Tv_{\theta(k/T)}(x_k)$ that discretise
them; flows with a closed form.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float

BITS = 128


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
    start: Float[np.ndarray, "*shape"]
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
        return jax.lax.scan(
            lambda x, layer: (x + self.field(layer, x) / depth, None), jnp.asarray(x), theta
        )[0]


# -- flows with a closed form --------------------------------------------------------------------


def growth(rate: float) -> Flow:
    r"""$\dot x=\lambda x$, $x(0)=1$: the network's output is $(1+\lambda/T)^T$ and the limit $e^\lambda$."""
    with ctx.workprec(BITS):
        end = arb(rate).exp()
        bend = Enclosure.ball(arb(rate) ** 2 * end.max(arb(1)))
    W = np.array([[rate]])
    return Flow(
        _linear,
        _constant(W),
        np.ones(1),
        [end],
        Enclosure.exact(abs(rate)),
        bend,
        Enclosure.exact(0),
        _identity,
    )


def rotation(turns: float) -> Flow:
    r"""$\dot x=2\pi n\,Jx$ from $(1,0)$: $n$ full turns; the output's norm is $(1+(2\pi n/T)^2)^{T/2}$."""
    with ctx.workprec(BITS):
        angle = 2 * arb.pi() * arb(turns)
        end = [angle.cos(), angle.sin()]
        speed = Enclosure.ball(angle)
        bend = Enclosure.ball(angle**2)
    W = 2 * np.pi * turns * np.array([[0.0, -1.0], [1.0, 0.0]])
    return Flow(
        _linear, _constant(W), np.array([1.0, 0.0]), end, speed, bend, Enclosure.exact(0), _identity
    )


# of the circle that the tanh flow follows; its velocity stays below 0.8 < 1
RADIUS = 0.4
SPIN = 2.0


def circling_tanh(steepness: float) -> Flow:
    r"""$\dot x=\tanh(W(t)x+b(t))$ with $W(t)=\Lambda R(t)$ turning and $b(t)=\mathrm{artanh}\,\dot c(t)-W(t)c(t)$.

    That choice makes the circle $c(t)=r(\cos\omega t,\sin\omega t)$ the solution: a tanh network whose weights vary
    smoothly, with a known end and $|\ddot x|=r\omega^2$.
    """

    def weights(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c = np.cos(t)
        s = np.sin(t)
        W = steepness * np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
        at = RADIUS * np.stack([np.cos(SPIN * t), np.sin(SPIN * t)], -1)
        velocity = RADIUS * SPIN * np.stack([-np.sin(SPIN * t), np.cos(SPIN * t)], -1)
        return W, np.arctanh(velocity) - np.einsum("tij,tj->ti", W, at)

    with ctx.workprec(BITS):
        r = arb(RADIUS)
        w = arb(SPIN)
        L = arb(steepness)
        end = [r * w.cos(), r * w.sin()]
        bend = r * w**2
        variation = bend / (1 - (r * w) ** 2) + L * r * (1 + w)  # of artanh(ċ), and of W c
        variation = Enclosure.ball(variation if variation > L else L)
    tanh = lambda theta, x: jnp.tanh(theta[0] @ x + theta[1])
    start = np.array([RADIUS, 0.0])
    ball = Enclosure.ball(bend)
    return Flow(tanh, weights, start, end, Enclosure.exact(steepness), ball, variation, arb.tanh)


def _linear(theta: Any, x: Any) -> Any:
    return theta[0] @ x + theta[1]


def _identity(u: arb) -> arb:
    return u


def _constant(W: np.ndarray) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Weights that do not change with time, and no bias."""
    return lambda t: (np.broadcast_to(W, (len(t), *W.shape)), np.zeros((len(t), len(W))))


FLOWS: dict[str, Callable[[float], Flow]] = {
    "growth": growth,
    "rotation": rotation,
    "tanh": circling_tanh,
}
