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

from ftheta.logic import Axis, Converges, Curves, Enclosure, Identity, Series, Table

from ..orders import observed_order
from .chains import Chain, Step, flowing, one_step, refined

REFINEMENTS = (1, 2, 4, 8)
TOLERANCE = 1e-9  # of the adaptive solver, relative and absolute
SHIFT = 1e-4  # of the differences; their error is of order four
KINKED_WITHIN = 1e-2  # of the gradient's size: what differences are trusted to across kinks


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
    import diffrax  # here, because it is slow to import

    method = getattr(diffrax, solver)()
    adjoint = diffrax.RecursiveCheckpointAdjoint() if stored else diffrax.BacksolveAdjoint(solver=method)
    control = diffrax.PIDController(rtol=tolerance, atol=tolerance)
    term = diffrax.ODETerm(lambda t, x, theta: v(theta, x))
    found = diffrax.diffeqsolve(
        term, method, 0.0, 1.0, None, x, theta, stepsize_controller=control, adjoint=adjoint, max_steps=4096
    )
    return found.ys[0]  # type: ignore[index]


def adjoint_flow(steps: int) -> Step:
    r"""The flow of a block by the Runge-Kutta method, with a gradient that keeps $x(1)$ and nothing else: backwards in
    time $\dot x=v$, $\dot p=-(D_xv)^\top p$ and $\dot g=-(D_\theta v)^\top p$ are solved together."""

    def step(v: Callable[[Any, Any], Any], theta: Any, x: Any) -> Any:
        @jax.custom_vjp
        def flow(theta: Any, x: Any) -> Any:
            return flowing(steps)(v, theta, x)

        def forwards(theta: Any, x: Any) -> tuple[Any, Any]:
            end = flow(theta, x)
            return end, (theta, end)

        def backwards(kept: Any, p: Any) -> tuple[Any, Any]:
            theta, end = kept
            start, unravel = ravel_pytree((end, p, jax.tree.map(jnp.zeros_like, theta)))

            def augmented(theta: Any, flat: Any) -> Any:
                x, p, _ = unravel(flat)
                velocity, pull = jax.vjp(lambda theta, x: v(theta, x), theta, x)
                g, q = pull(p)
                return ravel_pytree((velocity, jax.tree.map(jnp.negative, q), jax.tree.map(jnp.negative, g)))[0]

            _, p, g = unravel(flowing(steps, -1.0)(augmented, theta, start))
            return g, p

        flow.defvjp(forwards, backwards)
        return flow(theta, x)

    return step


def solved(tolerance: float = TOLERANCE) -> Step:
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
    def of(cls, chain: Chain, params: Any, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> "Question":
        flat = ravel_pytree(params)[0]
        direction = rng.normal(size=flat.size)
        return cls(chain, params, x, y, direction / np.linalg.norm(direction))

    def weights(self, flat: Any) -> list[tuple[Any, ...]]:
        """Of every stage, stacked: with them for arguments a program does not grow with the number of blocks."""
        return self.chain.weights(ravel_pytree(self.params)[1](flat))

    def loss(self, weights: Any, step: Step) -> Any:
        out = jax.vmap(lambda row: self.chain.states(weights, row, step)[0])(jnp.asarray(self.x))
        return self.distance(out)

    def distance(self, outputs: Any) -> Any:
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
        program = jax.jit(jax.grad(lambda weights: self.loss(weights, step))).lower(weights).compile()
        held = program.memory_analysis()
        return np.asarray(pull(program(weights))[0]), int(getattr(held, "temp_size_in_bytes", 0))

    def difference(self, step: Step) -> float:
        """The derivative along the direction, by central differences of order four."""
        value, h = jax.jit(lambda weights: self.loss(weights, step)), SHIFT * (1 + float(np.abs(self.at).max()))
        at = lambda k: float(value(self.weights(self.at + k * h * self.direction)))
        near, far = ((at(k) - at(-k)) / (2 * k * h) for k in (1, 2))
        return (4 * near - far) / 3


@dataclass(frozen=True, eq=False)
class Gradients:
    """All gradients of one question; `errors[m]` is how far back-propagation through m steps a block is off."""

    depth: int
    discrete: np.ndarray
    network: np.ndarray
    continuous: np.ndarray
    errors: np.ndarray
    along: dict[str, tuple[float, float]]  # derivative along the direction: by gradient and by differences
    memory: dict[str, int]
    bent: bool = False  # the blocks have kinks: differences and Runge-Kutta steps lose their order across them

    @property
    def both(self) -> dict[str, np.ndarray]:
        return {"discrete": self.discrete, "continuous": self.continuous}

    def claims(self) -> tuple[Any, ...]:
        size = float(np.linalg.norm(self.continuous))
        gap = float(np.linalg.norm(self.discrete - self.network))
        found: list[Any] = [self._against_differences(name, *pair, size) for name, pair in self.along.items()]
        agree = "‖back-propagation through the chain − through the network‖"
        found.append(Identity(agree, Enclosure.equal(gap), Enclosure.exact(0), atol=1e-9 * (1 + size)))
        rate = observed_order(
            "‖discrete − continuous gradient‖", 1, self.depth * np.array(REFINEMENTS), self.errors, slack=0.25
        )
        return (*found, *(rate if self.errors.min() > 1e-7 * (1 + size) else ()))

    def _against_differences(self, name: str, gradient: float, difference: float, size: float) -> Identity | Converges:
        what = f"{name} gradient along a direction, and differences"
        ours, theirs = Enclosure.equal(gradient), Enclosure.equal(difference)
        if self.bent:
            return Converges(what, theirs, (ours,), (float(self.depth),), within=KINKED_WITHIN * (1 + size))
        return Identity(what, ours, theirs, rtol=1e-6, atol=1e-8 * (1 + size))

    def chart(self) -> Curves:
        steps = self.depth * np.array(REFINEMENTS)
        seen = self.errors > 0
        first = self.errors[seen][:1].max(initial=1e-300)
        curves = (
            Series("measured", steps[seen], self.errors[seen], "measured"),
            Series("order 1", steps, first * steps[0] / steps, "reference"),
        )
        return Curves(
            "gradient of the steps and of the flow",
            Axis("Euler steps", "log"),
            Axis("‖∇ of the steps − ∇ of the flow‖", "log"),
            curves,
        )

    def table(self) -> Table:
        rows = [(name, a, b, abs(a - b)) for name, (a, b) in self.along.items()]
        return Table(
            "derivative along a random direction",
            ("gradient", "by the gradient", "by differences", "apart"),
            tuple(rows),
        )

    def memory_table(self) -> Table:
        return Table("working memory of the compiled gradient", ("program", "bytes"), tuple(self.memory.items()))


SOLVERS: Mapping[str, Callable[[], Step]] = {"runge-kutta": lambda: adjoint_flow(16), "diffrax": solved}


def gradients(question: Question, apply: Callable[[Any, Any], Any], solver: str = "runge-kutta") -> Gradients:
    """Discrete, continuous and numerical gradients; `apply(params, x)` is the network itself."""
    unravel = ravel_pytree(question.params)[1]
    whole = lambda flat: question.distance(jax.vmap(lambda row: apply(unravel(flat), row))(jnp.asarray(question.x)))
    network = np.asarray(jax.jit(jax.grad(whole))(question.at))
    steps = [question.gradient(one_step if m == 1 else refined(m)) for m in REFINEMENTS]
    continuous, held = question.gradient(SOLVERS[solver]())
    along = {
        "discrete": (float(steps[0][0] @ question.direction), question.difference(one_step)),
        "continuous": (float(continuous @ question.direction), question.difference(flowing(24))),
    }
    memory = {f"back-propagation, {m} steps a block": bytes_ for m, (_, bytes_) in zip(REFINEMENTS, steps)}
    errors = np.array([np.linalg.norm(g - continuous) for g, _ in steps])
    return Gradients(
        question.chain.blocks,
        steps[0][0],
        network,
        continuous,
        errors,
        along,
        memory | {"adjoint equation": held},
        bent=bool(kinks(question.chain)[1]),
    )


def kinks(chain: Chain) -> tuple[list[str], list[str]]:
    """Nodes that hide derivatives or bring their own, and nodes with kinks, by name."""
    nodes = chain.graph.nodes
    makers = chain.graph.producers
    shift = lambda n: n.inputs[0].id in makers and makers[n.inputs[0].id].primitive == "reduce_max"  # of a softmax
    hidden = [n.primitive for n in nodes if n.primitive == "custom_vjp_call"]
    hidden += [n.primitive for n in nodes if n.primitive == "stop_gradient" and not shift(n)]
    hidden += [n.label for n in nodes if n.primitive == "custom_jvp_call" and not n.by_jax]
    bent = [n.label or n.primitive for n in nodes if n.label in ("relu", "relu6") or n.primitive in KINKED]
    return hidden, bent


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
