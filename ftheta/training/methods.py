r"""First-order methods $\theta_{k+1}=T(\theta_k,\nabla F(\theta_k),\dots)$, one value each: how to begin, how to move.

`move(theta, memory, k, gradient)` returns the next iterate and what the method remembers; `gradient` is $\nabla F$ as a
function, $k=0,1,\dots$ counts the moves. `descent.descend` compiles any of them as one scan.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from .adaptive import TRACED, Adam
from .optimisers import optimiser_named

if TYPE_CHECKING:
    import optax

Gradient: TypeAlias = Callable[[Any], Any]
Prox: TypeAlias = Callable[[Any, Any], Any]  # (point, step) -> point
Step: TypeAlias = float | Callable[[Any], Any]  # a number, or a schedule k -> number


class Method(NamedTuple):
    """A name for print, `begin(theta) -> memory`, `move(theta, memory, k, gradient) -> (theta, memory)`."""

    name: str
    begin: Callable[[Any], Any]
    move: Callable[[Any, Any, Any, Gradient], tuple[Any, Any]]


def _nothing(theta: Any) -> tuple[()]:
    return ()


def _at(step: Step, k: Any) -> Any:
    return step(k) if callable(step) else step


def steepest(step: Step, name: str = "gradient descent") -> Method:
    r"""$\theta_{k+1}=\theta_k-\tau_kg_k$: gradient descent, or the sub-gradient method where $F$ has kinks."""
    return Method(
        name,
        _nothing,
        lambda theta, memory, k, gradient: (theta - _at(step, k) * gradient(theta), memory),
    )


def line_search() -> Method:
    r"""Gradient descent with $\tau_k=\|g\|^2/g^\top\nabla^2F\,g$: the exact line search on a quadratic."""

    def move(theta, memory, k, gradient):
        g, bent = jax.jvp(gradient, (theta,), (gradient(theta),))
        slope = jnp.vdot(g, g)
        curvature = jnp.vdot(g, bent)
        return theta - jnp.where(
            slope > 0, slope / jnp.where(slope > 0, curvature, 1.0), 0.0
        ) * g, memory

    return Method("exact line search", _nothing, move)


def heavy_ball(step: float, momentum: float) -> Method:
    r"""Polyak: $\theta_{k+1}=\theta_k-\tau g_k+\beta(\theta_k-\theta_{k-1})$."""

    def move(theta, before, k, gradient):
        return theta - step * gradient(theta) + momentum * (theta - before), theta

    return Method("heavy ball", lambda theta: theta, move)


def tuned_heavy_ball(mu: float, smoothness: float) -> Method:
    r"""$\tau=4/(\sqrt L+\sqrt\mu)^2$ and $\beta=\big(\frac{\sqrt L-\sqrt\mu}{\sqrt L+\sqrt\mu}\big)^2$."""
    s = smoothness**0.5
    root = mu**0.5
    return heavy_ball(4 / (s + root) ** 2, ((s - root) / (s + root)) ** 2)


def constant_nesterov(step: float, momentum: float) -> Method:
    r"""$x_{k+1}=y_k-\tau\nabla F(y_k)$, $y_{k+1}=x_{k+1}+\beta(x_{k+1}-x_k)$; the iterates are the $y_k$."""

    def move(y, before, k, gradient):
        x = y - step * gradient(y)
        return x + momentum * (x - before), x

    return Method("Nesterov, constant momentum", lambda theta: theta, move)


def proximal(step: float, prox: Prox, name: str = "forward–backward") -> Method:
    r"""$\theta_{k+1}=\mathrm{prox}_{\tau g}(\theta_k-\tau\nabla f(\theta_k))$; `prox(point, step)` is the map
    $\mathrm{prox}_{\tau g}$."""
    return Method(
        name,
        _nothing,
        lambda theta, memory, k, gradient: (prox(theta - step * gradient(theta), step), ()),
    )


def accelerated_gradient(step: float, prox: Prox | None = None) -> Method:
    r"""Nesterov's method, with a prox FISTA: $x_{k+1}=\mathrm{prox}_{\tau g}(y_k-\tau\nabla f(y_k))$,
    $y_{k+1}=x_{k+1}+\frac{t_k-1}{t_{k+1}}(x_{k+1}-x_k)$, $t_0=1$, $t_{k+1}=\frac12(1+\sqrt{1+4t_k^2})$.
    The iterates are the $x_k$."""

    def move(x, memory, k, gradient):
        y, t = memory
        new = y - step * gradient(y)
        new = new if prox is None else prox(new, step)
        later = (1 + (1 + 4 * t**2) ** 0.5) / 2
        return new, (new + (t - 1) / later * (new - x), later)

    name = "Nesterov" if prox is None else "FISTA"
    return Method(name, lambda theta: (theta, theta.dtype.type(1)), move)


def adaptive(rule: Adam) -> Method:
    """Adam or AMSGrad."""

    def move(theta, memory, k, gradient):
        update, memory = rule.step(gradient(theta), k + 1, memory, TRACED)
        return theta + update, memory

    return Method(
        "AMSGrad" if rule.amsgrad else "Adam", lambda theta: rule.begin(jnp.zeros_like(theta)), move
    )


def any_optimiser(
    optimiser: "str | optax.GradientTransformation", step: float | None = None
) -> Method:
    """A name of `optimisers.OPTIMISERS` with its step, or any optax transformation."""
    name, transformation = optimiser_named(optimiser, step)

    def move(theta, memory, k, gradient):
        update, memory = transformation.update(gradient(theta), memory, theta)
        return theta + update, memory

    return Method(name, transformation.init, move)
