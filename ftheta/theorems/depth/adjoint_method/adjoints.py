r"""Three gradients of one loss: back-propagation, the adjoint equation of the flow, and differences.

Each block of a residual network is one Euler step of $\dot x=v_k(x)$ for the time 1; with $m$ steps of length $1/m$ it
comes nearer to the flow. Back-propagation through the steps is the adjoint of the steps. The adjoint equation
$\dot p=-(D_xv)^\top p$, $\nabla_\theta=\int(D_\theta v)^\top p\,dt$ runs backwards in time beside $\dot x=v(x)$ and
stores nothing on the way. The two differ by $O(1/m)$.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.flows.chains import Chain, Step, make_euler_steps, make_flow, one_step
from ftheta.logic import UsageError

REFINEMENTS = (1, 2, 4, 8)
TOLERANCE = 1e-9  # of the adaptive solver, relative and absolute
SHIFT = 1e-4  # of the differences; their error is of order four


def solve(
    v: Callable[[Any, Any], Any],
    theta: Any,
    x: Any,
    tolerance: float = TOLERANCE,
    *,
    stored: bool = False,
    solver: str = "Tsit5",
) -> Any:
    r"""$x(1)$ of $\dot x=v_\theta(x)$ from `x`, by a solver of diffrax with adaptive steps of that tolerance.

    Its gradient solves the adjoint equation backwards in time, or, where `stored`, goes back through the solver's own
    steps from checkpoints.
    """
    diffrax = _import_diffrax()
    method = getattr(diffrax, solver)()
    adjoint = (
        diffrax.RecursiveCheckpointAdjoint() if stored else diffrax.BacksolveAdjoint(solver=method)
    )
    control = diffrax.PIDController(rtol=tolerance, atol=tolerance)
    term = diffrax.ODETerm(lambda t, x, theta: v(theta, x))
    found = diffrax.diffeqsolve(
        term,
        method,
        0.0,
        1.0,
        None,
        x,
        theta,
        stepsize_controller=control,
        adjoint=adjoint,
        max_steps=4096,
    )
    return found.ys[0]  # type: ignore[index]


def _import_diffrax() -> Any:
    """At its first use, because it is slow to import and not everybody has it."""
    try:
        import diffrax
    except ImportError as error:
        raise UsageError(
            "diffrax is not installed.", got=str(error), remedy="pip install 'ftheta[ode]'"
        ) from None
    return diffrax


def make_adjoint_flow(steps: int) -> Step:
    r"""The flow of a block by the Runge-Kutta method, with a gradient that keeps $x(1)$ and nothing else: backwards in
    time $\dot x=v$, $\dot p=-(D_xv)^\top p$ and $\dot g=-(D_\theta v)^\top p$ are solved together."""

    def step(v: Callable[[Any, Any], Any], theta: Any, x: Any) -> Any:
        @jax.custom_vjp
        def flow(theta: Any, x: Any) -> Any:
            return make_flow(steps)(v, theta, x)

        def forwards(theta: Any, x: Any) -> tuple[Any, Any]:
            end = flow(theta, x)
            return end, (theta, end)

        def backwards(kept: Any, p: Any) -> tuple[Any, Any]:
            theta, end = kept
            start, unravel = ravel_pytree((end, p, jax.tree.map(jnp.zeros_like, theta)))

            def velocities(theta: Any, flat: Any) -> Any:
                x, p, _ = unravel(flat)
                velocity, pull = jax.vjp(lambda theta, x: v(theta, x), theta, x)
                g, q = pull(p)
                return ravel_pytree(
                    (velocity, jax.tree.map(jnp.negative, q), jax.tree.map(jnp.negative, g))
                )[0]

            _, p, g = unravel(make_flow(steps, -1.0)(velocities, theta, start))
            return g, p

        flow.defvjp(forwards, backwards)
        return flow(theta, x)

    return step


def make_adaptive_flow(tolerance: float = TOLERANCE) -> Step:
    """The flow of a block, solved; its gradient by the adjoint equation."""
    return lambda v, theta, x: solve(v, theta, x, tolerance)


@dataclass(frozen=True, eq=False)
class Question:
    r"""The loss $\frac1{2N}\sum_i\|f(x_i)-y_i\|^2$ of a chain at `params`, and one direction of the parameters."""

    chain: Chain
    params: Any
    x: np.ndarray
    y: np.ndarray
    direction: np.ndarray

    @classmethod
    def build(
        cls, chain: Chain, params: Any, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
    ) -> "Question":
        """With a random direction."""
        flat = ravel_pytree(params)[0]
        direction = rng.normal(size=flat.size)
        return cls(chain, params, x, y, direction / np.linalg.norm(direction))

    def weights(self, flat: Any) -> list[tuple[Any, ...]]:
        """Of every stage, stacked: with them for arguments a program does not grow with the number of blocks."""
        return self.chain.weights(ravel_pytree(self.params)[1](flat))

    def loss(self, weights: Any, step: Step) -> Any:
        """The loss with these stacked weights, each block by `step`."""
        out = jax.vmap(lambda row: self.chain.states(weights, row, step)[0])(jnp.asarray(self.x))
        return self.distance(out)

    def distance(self, outputs: Any) -> Any:
        """The loss of these outputs."""
        return jnp.sum((outputs.reshape(self.y.shape) - self.y) ** 2) / (2 * len(self.x))

    @property
    def at(self) -> jax.Array:
        return ravel_pytree(self.params)[0]

    @cached_property
    def _here(self) -> tuple[Any, Callable[[Any], tuple[jax.Array]]]:
        """The weights, and how gradients with respect to them become gradients with respect to the parameters."""
        return jax.vjp(self.weights, self.at)

    def gradient(self, step: Step) -> tuple[np.ndarray, int]:
        """The gradient, and the bytes that its program holds beside inputs and outputs."""
        weights, pull = self._here
        program = (
            jax.jit(jax.grad(lambda weights: self.loss(weights, step))).lower(weights).compile()
        )
        held = program.memory_analysis()
        return np.asarray(pull(program(weights))[0]), int(getattr(held, "temp_size_in_bytes", 0))

    def difference(self, step: Step) -> float:
        """The derivative along the direction, by central differences of order four."""
        value = jax.jit(lambda weights: self.loss(weights, step))
        h = SHIFT * (1 + float(np.abs(self.at).max()))
        at = lambda k: float(value(self.weights(self.at + k * h * self.direction)))
        near, far = ((at(k) - at(-k)) / (2 * k * h) for k in (1, 2))
        return (4 * near - far) / 3


@dataclass(frozen=True, eq=False)
class Gradients:
    """All gradients of one question; `errors[k]` is how far back-propagation through `REFINEMENTS[k]` steps per block
    is from the continuous gradient."""

    depth: int
    discrete: np.ndarray
    continuous: np.ndarray
    errors: np.ndarray
    # derivative along the direction: by gradient and by differences
    along: dict[str, tuple[float, float]]
    memory: dict[str, int]
    bent: bool = False  # the blocks have kinks: differences and Runge-Kutta steps lose their order across them

    @property
    def both(self) -> dict[str, np.ndarray]:
        return {"discrete": self.discrete, "continuous": self.continuous}


SOLVERS: Mapping[str, Callable[[], Step]] = {
    "runge-kutta": lambda: make_adjoint_flow(16),
    "diffrax": make_adaptive_flow,
}


def gradients(question: Question, solver: str = "runge-kutta") -> Gradients:
    """Discrete, continuous and numerical gradients; the adjoint equation by that solver."""
    steps = [question.gradient(one_step if m == 1 else make_euler_steps(m)) for m in REFINEMENTS]
    continuous, held = question.gradient(SOLVERS[solver]())
    discrete = steps[0][0]
    along = {
        "discrete": (float(discrete @ question.direction), question.difference(one_step)),
        "continuous": (float(continuous @ question.direction), question.difference(make_flow(24))),
    }
    memory = {
        f"back-propagation, {m} steps per block": size for m, (_, size) in zip(REFINEMENTS, steps)
    }
    memory["adjoint equation"] = held
    errors = np.array([np.linalg.norm(g - continuous) for g, _ in steps])
    bent = bool(kinks(question.chain))
    return Gradients(question.chain.blocks, discrete, continuous, errors, along, memory, bent)


def kinks(chain: Chain) -> list[str]:
    """The nodes with kinks, by name."""
    return [
        n.label or n.primitive
        for n in chain.graph.nodes
        if n.label in ("relu", "relu6") or n.primitive in KINKED
    ]


KINKED: Sequence[str] = (
    "max",
    "min",
    "abs",
    "sign",
    "floor",
    "ceil",
    "round",
    "select_n",
    "clamp",
    "reduce_max",
    "argmax",
    "sort",
)
