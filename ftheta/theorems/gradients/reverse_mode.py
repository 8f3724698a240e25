"""One sweep back gives every partial derivative, for at most four more evaluations: whatever the number of inputs."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.graph import GraphError
from ftheta.logic import Claim, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.differentiation import (
    Differentiated,
    cost_chart,
    countable,
    differentiated,
    growth_claims,
    memory_chart,
    multiplications,
)
from ftheta.subjects import Network, Target


def perceptron(
    rng: np.random.Generator,
    *,
    scale: Annotated[int, Knob(1, 16, "widths are (10, 20, 30, 1) times this", "s", log=True, most=32)] = 1,
    activation: Annotated[str, Knob(says="activation of the hidden layers", choices=tuple(ACTIVATIONS))] = "relu",
) -> Network:
    widths = (10 * scale, 20 * scale, 30 * scale, 1)
    return Network.described(random_mlp(rng, widths, activation), f"perceptron {'-'.join(map(str, widths))}")


def powers(rng: np.random.Generator) -> Target:
    return Target("x^y, a power counted as one operation", lambda x, y: x**y, (1.0, 1.0), (2.0, 2.0), ("x", "y"))


def program(subject: Network | Target) -> Differentiated | None:
    """The sum of a network's outputs as a function of its parameters; a function of all its arguments."""
    try:
        if isinstance(subject, Target):
            return differentiated(subject.f, subject.example, first_only=False)
        x = np.full(subject.input_shape, 0.5)
        return differentiated(lambda p, x: jnp.sum(subject.apply(p, x)), (subject.params, x), first_only=True)
    except (GraphError, TypeError, ValueError):  # what JAX raises for a function it cannot trace
        return None


@hypothesis(
    "every operation is arithmetic, or a function whose derivative costs at most four operations",
    remedy="write powers x^y as exp(y log x), or count such a function as several operations",
)
def cheap_operations(subject: Network | Target) -> Finding:
    found = program(subject)
    wrong = "the function has no graph" if found is None else countable(found)
    if wrong or found is None:
        return Finding.failed(wrong)
    note = f"{len(found.graph.nodes)} nodes, {found.costs.function.flops:,} operations"
    return Finding.proved(note, "every node of its graph has a rule and was counted")


@theorem(
    title="Reverse mode: the cheap gradient principle",
    sources=("seed 0", "seed 2", "baur1983", "griewank2008"),
    of_parameters=True,
    assumes=(cheap_operations,),
    on=perceptron,
    breaks_on=powers,
    presets={"textbook": {}, "tanh": {"activation": "tanh"}, "wide": {"scale": 8}},
    unbreakable="no perceptron has a dear operation; the negative control is a power counted as one operation",
    errata=r"""Both seeds leave out the memory: reverse mode keeps all $O(K)$ values of the forward sweep. Keeping only
    $\sqrt n$ states of a chain, and computing the others again, costs one evaluation more and $O(\sqrt n)$ memory.""",
)
def reverse_mode(subject: Network | Target, rng: np.random.Generator) -> Evidence:
    r"""For a program $\theta_r=g_r(\theta_s:s\in\mathrm{Parent}(r))$, $r=1,\dots,R$, of $K$ operations, one sweep back,
    $$\nabla_R\ell=1,\qquad\nabla_r\ell=\sum_{s\in\mathrm{Child}(r)}\partial_rg_s\,\nabla_s\ell,$$
    gives all partial derivatives. If no operation costs more than four on the way back, then
    $\mathrm{cost}(\ell,\nabla\ell)\le5K$ whatever the number $d$ of inputs (moving entries is free, undoing a copy is
    one addition). Forward mode takes $d$ passes, finite differences $d+1$ evaluations. The price is memory: all values,
    or $O(\sqrt n)$ states of a chain of $n$ steps with checkpoints."""
    found = program(subject)
    if found is None:
        return Evidence((), summary="there is no graph to sweep")
    forward, back = found.report.forward_total, found.report.reverse_total
    formula = multiplications(subject.description) if isinstance(subject, Network) and subject.description else None
    claims: tuple[Claim, ...] = found.claims(rng)
    for name, counted, told in zip(("forward", "backward"), (forward, back), formula or ()):
        exact = Enclosure.exact(counted.multiplications), Enclosure.exact(told)
        claims += (Identity(f"multiplications {name}: counted and by formula", *exact),)
    numbers = {
        "forward multiplications": Enclosure.exact(forward.multiplications),
        "backward multiplications": Enclosure.exact(back.multiplications),
        "ratio": float(found.costs.ratio),
        "bytes kept": Enclosure.exact(found.memory.reverse),
        "bytes kept with checkpoints": Enclosure.exact(found.memory.checkpointed),
    }
    costs = found.costs
    told = f"{costs.dimension:,} partial derivatives for {float(costs.ratio):.3g} evaluations"
    summary = f"{told} of {costs.function.flops:,} operations each; {costs.dimension + 1:,} by finite differences"
    return Evidence((*claims, *growth_claims()), (cost_chart(found), memory_chart()), numbers, summary=summary)
