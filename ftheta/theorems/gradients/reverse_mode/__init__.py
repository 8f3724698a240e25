"""One sweep back gives every partial derivative, for at most four more evaluations: whatever the number of inputs."""

from fractions import Fraction
from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.graph import GraphError
from ftheta.logic import (
    AtMost,
    Axis,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.networks.description import Description
from ftheta.subjects import Network, Target

from .differentiation import (
    LENGTHS,
    Differentiated,
    chain_memory,
    count_multiplications,
    differentiate,
    perceptron_costs,
    why_uncountable,
)
from .jacobians import claim_jacobians, draw_jacobians
from .orders import ORDERS, largest_difference


def perceptron(
    rng: np.random.Generator,
    *,
    scale: Annotated[
        int, Knob(1, 16, "widths are (10, 20, 30, 1) times this", "s", log=True, most=32)
    ] = 1,
    activation: Annotated[
        str, Knob(says="activation of the hidden layers", choices=tuple(ACTIVATIONS))
    ] = "relu",
) -> Network:
    widths = (10 * scale, 20 * scale, 30 * scale, 1)
    return Network.described(
        random_mlp(rng, widths, activation), f"perceptron {'-'.join(map(str, widths))}"
    )


def powers(rng: np.random.Generator) -> Target:
    return Target(
        "x^y, a power counted as one operation",
        lambda x, y: x**y,
        (1.0, 1.0),
        (2.0, 2.0),
        ("x", "y"),
    )


def program(subject: Network | Target) -> Differentiated | None:
    """The sum of a network's outputs as a function of its parameters; a function of all its arguments."""
    try:
        if isinstance(subject, Target):
            return differentiate(subject.f, subject.example, first_only=False)
        x = np.full(subject.input_shape, 0.5)
        return differentiate(
            lambda p, x: jnp.sum(subject.apply(p, x)), (subject.params, x), first_only=True
        )
    except (GraphError, TypeError, ValueError):  # what JAX raises for a function it cannot trace
        return None


@hypothesis(
    "every operation is arithmetic, or a function whose derivative costs at most four operations",
    remedy="write powers x^y as exp(y log x), or count such a function as several operations",
    name="operations with cheap derivatives",
)
def cheap_operations(subject: Network | Target) -> Finding:
    found = program(subject)
    wrong = "the function has no graph" if found is None else why_uncountable(found)
    if wrong or found is None:
        return Finding.failed(wrong)
    note = f"{len(found.graph.nodes)} nodes, {found.costs.function.flops:,} operations"
    return Finding.proved(note, "every node of its graph has a rule and was counted")


@theorem(
    title="Reverse mode: the cheap gradient principle",
    sources=("peyre-slides", "murari-slides", "baur1983", "griewank2008"),
    gist="One backward sweep gives all partial derivatives of a program for at most five times its cost, however many "
    "parameters it has; that is why training large networks is affordable.",
    see_also=(
        "backprop-mlp",
        "forward-mode-and-finite-differences",
        "worked-example-graph",
        "adjoint-method",
    ),
    same_for_all={
        "(value and gradient) ÷ value in operations": "costs are those of a program: two with the same operations on "
        "other numbers cost the same",
        "value and gradient, nodes in": "the order of the nodes changes nothing in any program: 0",
        "operations computed again with √n checkpoints": "costs are those of a program: two with the same operations "
        "on other numbers cost the same",
    },
    of_parameters=True,
    assumes=(cheap_operations,),
    on=perceptron,
    breaks_on=powers,
    presets={"textbook": {}, "tanh": {"activation": "tanh"}, "wide": {"scale": 8}},
    unbreakable="no perceptron has a dear operation; the negative control is a power counted as one operation",
    errata=r"""The slides of Peyré and of Murari leave out the memory: reverse mode keeps all $O(K)$ values of the
    forward sweep. Keeping only $\sqrt n$ states of a chain, and computing the others again, costs one evaluation more
    and $O(\sqrt n)$ memory.""",
)
def reverse_mode(subject: Network | Target, rng: np.random.Generator) -> Evidence:
    r"""For a program $\theta_r=g_r(\theta_s:s\in\mathrm{Parent}(r))$, $r=1,\dots,R$, of $K$ operations, one sweep back,
    $$\nabla_R\ell=1,\qquad\nabla_r\ell=\sum_{s\in\mathrm{Child}(r)}\partial_rg_s\,\nabla_s\ell,$$
    gives all partial derivatives. If no operation costs more than four on the way back, then
    $\mathrm{cost}(\ell,\nabla\ell)\le5K$ whatever the number $d$ of inputs (moving entries is free, undoing a copy is
    one addition); every order of the nodes in which parents come first will do. Forward mode takes $d$ passes,
    finite differences $d+1$ evaluations; for $m$ outputs reverse mode takes $m$ sweeps. The price is memory: all
    values, or $O(\sqrt n)$ states of a chain of $n$ steps with checkpoints."""
    found = program(subject)
    if found is None:
        return Evidence((), summary="there is no graph to sweep")
    forward = found.report.forward_total
    back = found.report.reverse_total
    costs = found.costs
    claims = [
        _claim_cost(found),
        _claim_modes_agree(found, rng),
        _claim_any_order(found, rng),
        _claim_checkpoints(found),
    ]
    if isinstance(subject, Network) and subject.description is not None:
        claims += _claim_multiplications(found, subject.description)
    return Evidence(
        claims=tuple(claims),
        numbers={
            "forward multiplications": Enclosure.exact(forward.multiplications),
            "backward multiplications": Enclosure.exact(back.multiplications),
            "ratio": float(costs.ratio),
            "bytes kept": Enclosure.exact(found.memory.reverse),
            "bytes kept with checkpoints": Enclosure.exact(found.memory.checkpointed),
        },
        summary=f"{costs.dimension:,} partial derivatives for {float(costs.ratio):.3g} evaluations of "
        f"{costs.function.flops:,} operations each; {costs.dimension + 1:,} by finite differences",
        examples=partial(_examples, found),
    )


# -- claims about the program -------------------------------------------------------------------------------


def _claim_cost(found: Differentiated) -> AtMost:
    function = max(found.costs.function.flops, 1)
    bound = 5 + Fraction(found.copies, function)
    extra = f" + {found.copies}/{function}" if found.copies else ""
    what = f"(value and gradient) ÷ value in operations, at most 5{extra}"
    return AtMost(what, Enclosure.exact(found.costs.ratio), Enclosure.exact(bound))


def _claim_modes_agree(found: Differentiated, rng: np.random.Generator) -> Identity:
    """Every coordinate, or for many coordinates a few directions; the worst is claimed."""
    compared = found.compare_modes(rng)
    samples = len(compared.reverse)
    k = int(np.argmax(np.abs(compared.reverse - compared.forward)))
    scale = float(np.max(np.abs(compared.reverse), initial=0.0))
    left = Enclosure.measured(float(compared.reverse[k]), samples=samples)
    right = Enclosure.measured(float(compared.forward[k]), samples=samples)
    what = f"reverse mode and forward mode (worst {compared.what})"
    return Identity(what, left, right, atol=1e-11 * scale + 1e-300)


def _claim_any_order(found: Differentiated, rng: np.random.Generator) -> Identity:
    moved, size = largest_difference(found, rng)
    what = f"value and gradient, nodes in {ORDERS} other topological orders (largest difference)"
    return Identity(
        what,
        Enclosure.measured(moved, samples=ORDERS),
        Enclosure.exact(0),
        atol=1e-11 * size + 1e-300,
    )


def _claim_checkpoints(found: Differentiated) -> AtMost:
    again = Enclosure.exact(found.memory.recomputed.flops)
    most = Enclosure.exact(found.costs.function.flops)
    return AtMost("operations computed again with √n checkpoints", again, most)


def _claim_multiplications(found: Differentiated, description: Description) -> list[Identity]:
    formula = count_multiplications(description)
    if formula is None:
        return []
    counted = (found.report.forward_total, found.report.reverse_total)
    return [
        Identity(
            f"multiplications {name}: counted and by formula",
            Enclosure.exact(cost.multiplications),
            Enclosure.exact(expected),
        )
        for name, cost, expected in zip(("forward", "backward"), counted, formula)
    ]


# -- examples: perceptrons of growing size, chains of growing length ----------------------------------------


def _examples(found: Differentiated) -> Examples:
    costs = perceptron_costs()
    worst = max(c.ratio for c in costs)
    sizes = f"d = {costs[0].dimension:,} … {costs[-1].dimension:,}"
    longest = LENGTHS[-1]
    states = Enclosure.exact(chain_memory(longest).checkpointed // 8)
    claims = (
        AtMost(
            f"the same ratio for perceptrons of {sizes} (largest)",
            Enclosure.exact(worst),
            Enclosure.exact(5),
        ),
        AtMost(
            f"states alive in a chain of n = {longest} with checkpoints, 2√n + 2",
            states,
            Enclosure.exact(2 * 32 + 2),
        ),
    )
    return Examples(
        (*claims, *claim_jacobians()), charts=(_draw_costs(found), _draw_memory(), draw_jacobians())
    )


def _draw_costs(here: Differentiated) -> Curves:
    """Operations of a gradient against the number of inputs, in evaluations of the function."""
    d = [c.dimension for c in perceptron_costs()]
    per = lambda part: [getattr(c, part).flops / c.function.flops for c in perceptron_costs()]
    own = here.costs
    function = max(here.costs.function.flops, 1)
    series = (
        Series("forward mode", d, per("forward_mode"), "other"),
        Series("finite differences", d, per("finite_differences"), "reference"),
        Series("reverse mode", d, per("reverse_mode")),
        Series("bound 5", d, [5.0] * len(d), "bound"),
    )
    if own.dimension not in d:
        series += (
            Series(
                "this program", [own.dimension], [own.reverse_mode.flops / function], mark="points"
            ),
        )
    title = "cost of a gradient, perceptrons (10s, 20s, 30s, 1)"
    return Curves(
        title,
        Axis("number of parameters d", "log"),
        Axis("evaluations of the function", "log"),
        series,
    )


def _draw_memory() -> Curves:
    """States alive at once in a chain of n steps."""
    states = lambda part: [getattr(chain_memory(n), part) // 8 for n in LENGTHS]
    series = (
        Series("reverse mode", LENGTHS, states("reverse")),
        Series("with √n checkpoints", LENGTHS, states("checkpointed"), "other"),
        Series("2√n + 2", LENGTHS, [2 * n**0.5 + 2 for n in LENGTHS], "bound"),
        Series("function alone", LENGTHS, states("function"), "reference"),
    )
    return Curves(
        "memory of reverse mode in a chain",
        Axis("steps n", "log"),
        Axis("states alive", "log"),
        series,
    )
