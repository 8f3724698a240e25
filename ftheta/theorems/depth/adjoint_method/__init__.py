"""Gradients of a flow: solve an adjoint equation backwards, or back-propagate through the steps of a solver."""

from math import exp
from typing import Annotated, Any

import jax
import numpy as np

from ftheta.flows.chains import hidden_derivatives
from ftheta.flows.fields import circling_tanh
from ftheta.graph.certain import is_smooth
from ftheta.logic import (
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Table,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset, Network
from ftheta.subjects.residual import chain_of, read, residual_blocks, start_rows
from ftheta.theorems.orders import observed_order

from .adjoints import REFINEMENTS, SOLVERS, Gradients, Question, gradients, kinks

ROWS = 4  # of data
MOST = 20_000  # weights and states
STAGES = 16  # kinds of blocks
KINKED_WITHIN = 1e-2  # of the gradient's size: what differences are trusted to across kinks


def trained_flow(
    rng: np.random.Generator,
    *,
    flow: Annotated[
        str,
        Knob(
            says="the field: ax with one number a, or tanh", symbol="v", choices=("growth", "tanh")
        ),
    ] = "growth",
    a: Annotated[
        float, Knob(-2, 2, "growth rate, or norm of the tanh weights", "a", least=-4, most=4)
    ] = 0.5,
    depth: Annotated[int, Knob(2, 32, "number of blocks", "T", log=True, least=1, most=128)] = 8,
    hidden: Annotated[bool, Knob(says="half of the field hidden from the derivative")] = False,
) -> Network:
    if flow == "tanh":
        field = circling_tanh(a)
        data = Dataset("one row", np.array([[0.4, 0.1]]), np.array([[1.0, -1.0]]))
        return Network("tanh blocks", field.output, field.layers(depth), (2,)).with_data(data)

    def apply(params: Any, x: Any) -> Any:
        def block(x: Any, _: Any) -> tuple[Any, None]:
            seen = (x + jax.lax.stop_gradient(x)) / 2 if hidden else x
            return x + params * seen / depth, None

        return jax.lax.scan(block, x, None, length=depth)[0]

    return Network(f"{depth} Euler steps of ẋ = ax", apply, np.array(a), (1,)).with_data(
        Dataset("x(0) = 1, target 2", np.ones((1, 1)), 2 * np.ones((1, 1)))
    )


@hypothesis(
    "the derivatives are those of the function, and it is smooth",
    remedy="take smooth activations; hide nothing",
)
def smooth_blocks(net: Network) -> Finding:
    if isinstance(read(net), str):
        return Finding.undecided("residual blocks")
    chain = chain_of(net)
    hidden = hidden_derivatives(chain)
    bent = kinks(chain)
    size = net.parameters + sum(
        len(chain.stages[i]) * chain.stages[i].size for i in chain.residual_stages
    )
    if not net.parameters:
        return Finding.failed("the network has no parameters to differentiate with respect to")
    if hidden:
        return Finding.failed(
            f"{len(hidden)} nodes hide or replace derivatives: {', '.join(sorted(set(hidden))[:4])}"
        )
    if size > MOST or len(chain.stages) > STAGES:
        note = f"{size:,} weights and states in {len(chain.stages)} stages; required: at most {MOST:,} in {STAGES}"
        return Finding.failed(note, Enclosure.exact(size))
    kink = (
        f"{len(bent)} nodes have kinks ({', '.join(sorted(set(bent))[:4])}): smooth off a null set"
    )
    if bent:
        return Finding.assumed(kink)
    if not is_smooth(chain.graph):
        return Finding.assumed("some operations of its graph are not known to be smooth")
    return Finding.proved(
        "no node has a kink", "every operation of its graph is smooth, with JAX's derivative"
    )


@theorem(
    title="The adjoint method",
    sources=("peyre-slides", "chen2018", "hairer1993"),
    assumes=(residual_blocks, smooth_blocks),
    on=trained_flow,
    breaks_on=lambda rng: trained_flow(rng, hidden=True),
    presets={
        "textbook": {},
        "shallow": {"depth": 2},
        "decay": {"a": -1.5},
        "tanh": {"flow": "tanh", "a": 1.0},
        "diffrax": {"solver": "diffrax"},
        "broken on purpose": {"hidden": True},
    },
    gist="The gradient of a flow solves a second differential equation backwards in time, so that very deep residual "
    "networks can be trained without storing what happens inside.",
    see_also=("neural-ode-limit", "reverse-mode", "flow-diffeomorphism"),
    unbreakable="a gradient that is not that of the loss is contradicted by differences, whose own error has no bound",
)
def adjoint_method(
    net: Network,
    rng: np.random.Generator,
    *,
    solver: Annotated[
        str, Knob(says="of the adjoint equation", symbol="∫", choices=tuple(SOLVERS))
    ] = "runge-kutta",
) -> Evidence:
    r"""Let $\dot x=v_\theta(x)$ and $\ell$ a loss of $x(1)$. With $\dot p=-(D_xv)^\top p$, $p(1)=\nabla\ell(x(1))$,
    $$\nabla_\theta\,\ell(x(1))=\int_0^1(D_\theta v)^\top p\,dt,$$
    solved backwards in time together with $x$, in memory that does not grow with the number of steps. Back-propagation
    through $T$ Euler steps is the exact gradient of the steps, a discrete adjoint, and differs from it by $O(1/T)$."""
    chain = chain_of(net)
    x = start_rows(net, ROWS, rng)
    y = rng.normal(size=(len(x), *net.output_shape))
    if net.data is not None and net.data.y is not None and net.data.y[:1].size == y[:1].size:
        y = net.data.y[: len(x)].reshape(y.shape).astype(float)
    question = Question.build(chain, net.params, x, y, rng)
    found = gradients(question, solver)
    size = {f"‖∇‖, {name}": float(np.linalg.norm(g)) for name, g in found.both.items()}
    one = {f"∂L/∂a, {name}": float(g[0]) for name, g in found.both.items() if g.size == 1}
    return Evidence(
        claims=gradient_claims(found),
        charts=(_draw_errors(found),),
        numbers={**size, **one},
        tables=(
            _derivative_table(found),
            Table(
                "working memory of the compiled gradient",
                ("program", "bytes"),
                tuple(found.memory.items()),
            ),
        ),
        summary=f"with {found.depth} steps the discrete gradient is {found.errors[0]:.3g} off the continuous one, with "
        f"{found.depth * REFINEMENTS[-1]} steps {found.errors[-1]:.3g}",
        examples=_examples,
    )


def _examples() -> Examples:
    r"""$\dot x=ax$ at $a=\frac12$ from 1 to the target 2: the derivative of $\frac12(x(1)-2)^2$ in closed form."""
    return Examples(numbers={"(e^½ − 2)e^½": (exp(0.5) - 2) * exp(0.5)})


def gradient_claims(found: Gradients) -> tuple[Claim, ...]:
    """Both gradients against differences, and the discrete one tends to the continuous one."""
    size = float(np.linalg.norm(found.continuous))
    claims = [_difference_claim(found, name, size) for name in found.along]
    if found.errors.min() <= 1e-7 * (1 + size):
        return tuple(claims)
    steps = found.depth * np.array(REFINEMENTS)
    return (
        *claims,
        *observed_order("‖discrete − continuous gradient‖", 1, steps, found.errors, slack=0.25),
    )


def _difference_claim(found: Gradients, name: str, size: float) -> Claim:
    """The derivative along one direction by the gradient and by differences, whose own error is not bounded; less
    exactly where blocks have kinks."""
    what = f"{name} gradient along a direction, and differences"
    ours, theirs = (Enclosure.measured(value, samples=1) for value in found.along[name])
    if found.bent:
        return Converges(
            what, theirs, (ours,), (float(found.depth),), within=KINKED_WITHIN * (1 + size)
        )
    return Identity(what, ours, theirs, rtol=1e-6, atol=1e-8 * (1 + size))


def _draw_errors(found: Gradients) -> Curves:
    seen = found.errors > 0
    steps = (found.depth * np.array(REFINEMENTS))[seen]
    errors = found.errors[seen]
    return draw_curves(
        "gradient of the steps and of the flow",
        steps,
        x="Euler steps",
        y="‖∇ of the steps − ∇ of the flow‖",
        log="xy",
        measured={"measured": errors},
        reference={"order 1": errors[:1].max(initial=1e-300) * steps[:1].max(initial=1) / steps},
    )


def _derivative_table(found: Gradients) -> Table:
    rows = tuple((name, a, b, abs(a - b)) for name, (a, b) in found.along.items())
    columns = ("gradient", "by the gradient", "by differences", "apart")
    return Table("derivative along a random direction", columns, rows)
