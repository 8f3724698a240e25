r"""Two networks close to one another; closed loops: what they reach in one step, and whether a function decreases.

    ft.verify(net, ft.Close(other, (lo, hi), eps))
    ft.verify(controller, ft.Decreases(V, step, (lo, hi), outside=(lo0, hi0)))
    ft.range(net, (lo, hi)), ft.reach(controller, step, (lo, hi))

A `step` is a function `g(x, u)` of the state and the output of the network, in JAX, or a pair `(A, B)` for $Ax+Bu$.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.certify.behaviour.behaviour import Behaviour
from ftheta.certify.behaviour.loops import (
    close_loop,
    cut_out,
    evaluate_twice,
    jax_function,
    read_affine_step,
)
from ftheta.certify.behaviour.properties import ask_close, read_box
from ftheta.certify.behaviour.ranges import Extreme, maximise
from ftheta.certify.joining import stack_on_one_input
from ftheta.certify.networks import normal_form_or_program
from ftheta.certify.questions import Case, Question, Row, round_down, round_up
from ftheta.certify.verification import Verification, decide
from ftheta.logic.errors import UsageError
from ftheta.processes.budgets import parse_seconds
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float

from .networks import read_network

if TYPE_CHECKING:
    from .networks import AnyNetwork

Array = np.ndarray
Step = Callable[[Any, Any], Any] | Sequence[Any]


class Close(Behaviour):
    r"""On a box, every output of the network lies within `eps` of that of the `other` one: $|f_j-g_j|\le\varepsilon$.

    With `eps=0` both are the same function there. `ft.range(net, box, minus=other)` encloses the largest deviation.
    """

    def __init__(self, other: Any, box: tuple[Any, Any], eps: Any) -> None:
        self.other = other
        self.box = read_box(box)
        self.eps = eps
        ask_close(self.box, 1, eps)

    def decide(self, net: "AnyNetwork", seconds: float, threads: int) -> Verification:
        """Both as one network, whose outputs are compared."""
        self._require_fit(net)
        other = read_network(self.other)
        both = stack(net, other)
        if _have_equal_steps(net, other):
            how = "equal normal forms"
            return Verification("unsat", None, how, net.meaning, 0, 0, 0.0, 0.0)
        return decide(
            both, ask_close(self.box, net.widths[-1], self.eps), seconds=seconds, threads=threads
        )


class Decreases(Behaviour):
    r"""$V(x^+)<V(x)$ at all states $x$ of a box `outside` a smaller one around the equilibrium, $x^+=g(x,f(x))$.

    The network $f$ is the controller; `step` is $g$, in JAX, or a pair `(A, B)`; `V` is a network of one output, a JAX
    function, or a symmetric matrix $P$ for $V(x)=x^TPx$.
    """

    def __init__(self, V: Any, step: Step, box: tuple[Any, Any], outside: tuple[Any, Any]) -> None:
        self.box = read_box(box)
        self.inner = read_box(outside)
        self.V = V
        self.step = step
        if len(self.inner.lo) != len(self.box.lo):
            raise UsageError(
                "Both boxes are of states.",
                got=f"{len(self.box.lo)} and {len(self.inner.lo)} entries",
                where="outside",
            )
        if not cut_out(self.box, self.inner):
            raise UsageError(
                "The smaller box leaves no state of the box outside it: there is nothing to show.",
                where="outside",
                remedy="give a box around the equilibrium that is smaller than the box of the states",
            )

    def decide(self, net: "AnyNetwork", seconds: float, threads: int) -> Verification:
        """The difference as the output of one network, over the parts of the box around the smaller one."""
        self._require_fit(net)
        both = self._evaluate_twice(net)
        one = Fraction(1)
        grows = ((Row({}, {0: -one, 1: one}, Fraction(0)),),)  # V(x⁺) ≥ V(x)
        cases = tuple(Case(part, grows) for part in cut_out(self.box, self.inner))
        return decide(both, Question(len(self.box.lo), 2, cases), seconds=seconds, threads=threads)

    def _evaluate_twice(self, net: "AnyNetwork") -> "AnyNetwork":
        r"""$x\mapsto(V(x^+),V(x))$, piecewise affine if all parts are."""
        states = net.widths[0]
        lyapunov = self._read_lyapunov(states)
        if isinstance(lyapunov, ReluNetwork):
            loop = close(net, self.step)
            if isinstance(loop, ReluNetwork):
                return evaluate_twice(loop, lyapunov)
        V: Any = (
            lyapunov
            if callable(lyapunov) and not hasattr(lyapunov, "widths")
            else jax_function(lyapunov)
        )
        following = _follow(net, self.step)

        def compare(x: Any) -> Any:
            import jax.numpy as jnp

            return jnp.stack([jnp.reshape(V(following(x)), ()), jnp.reshape(V(x), ())])

        return _compose(compare, states, "the loop")

    def _read_lyapunov(self, states: int) -> Any:
        """A network, or a JAX function."""
        if isinstance(self.V, (np.ndarray, list, tuple)):
            return _quadratic(self.V, states)
        if (
            callable(self.V)
            and not hasattr(self.V, "apply")
            and not isinstance(self.V, ReluNetwork)
        ):
            return self.V
        found = read_network(self.V)
        if (found.widths[0], found.widths[-1]) != (states, 1):
            raise UsageError(
                "V is a network from the states to one number.",
                where="V",
                got=f"{found.widths[0]} inputs and {found.widths[-1]} outputs for {states} states",
            )
        return found


@dataclass(frozen=True, eq=False)
class Range:
    """What functions take on a box: for each of them, `lo ≤ infimum ≤ least` and `greatest ≤ supremum ≤ hi`.

    `lo` and `hi` are proved of the whole box (infinite where no bound is known), `least` and `greatest` are attained at
    the points `argmin` and `argmax`, exactly; all are rounded outward to floats. `is_tight` says that both pairs meet
    to the tolerance. It was `interrupted` if Ctrl-C ended it: then this is what was known by then.
    """

    lo: Float[Array, "n"]
    hi: Float[Array, "n"]
    least: Float[Array, "n"]
    greatest: Float[Array, "n"]
    argmin: tuple[tuple[Fraction, ...], ...]
    argmax: tuple[tuple[Fraction, ...], ...]
    is_tight: bool
    meaning: str
    interrupted: bool = False

    def __str__(self) -> str:
        rows = zip(self.lo, self.least, self.greatest, self.hi)
        return "\n".join(f"from {a:.6g} … {b:.6g} to {c:.6g} … {d:.6g}" for a, b, c, d in rows)

    __repr__ = __str__


def range(
    net: Any,
    box: tuple[Any, Any],
    *,
    rows: Any = None,
    minus: Any = None,
    tolerance: float = 1e-3,
    budget: str | float = "10s",
    threads: int = 1,
) -> Range:
    r"""The range of a network on a box: its least and its greatest values, each from below and from above.

    Parameters
    ----------
    net
        A network, as for `ft.verify`.
    box
        A pair `(lo, hi)`.
    rows
        A matrix $C$: the ranges of the rows of $Cy$, in place of those of every output.
    minus
        A second network: the ranges of $f-g$, and so the largest deviation of the two.
    tolerance
        The ends meet where they are within this, times the larger of 1 and the numbers themselves.
    budget
        The time for all of them, by the clock on the wall (as for `ft.verify`); when it is over, what was proved and
        attained until then is the answer.
    """
    network = read_network(net)
    chosen = _read_rows(rows, network.widths[-1])
    if minus is not None:
        network = stack(network, read_network(minus))
        chosen = np.concatenate([chosen, -chosen], axis=1)
    return _enclose(network, chosen, box, tolerance, parse_seconds(budget), threads)


def reach(
    net: Any,
    step: Step,
    box: tuple[Any, Any],
    *,
    tolerance: float = 1e-3,
    budget: str | float = "10s",
    threads: int = 1,
) -> Range:
    r"""The states that a closed loop reaches in one step from a box: the range of every entry of $x^+=g(x,f(x))$.

    `net` is the controller $f$; `step` is $g$, a JAX function of $x$ and $u$, or a pair `(A, B)` (with an offset:
    `(A, B, c)`) for $Ax+Bu+c$. All states reached lie between `lo` and `hi` of the answer.
    """
    loop = close(read_network(net), step)
    return _enclose(loop, np.eye(loop.widths[-1]), box, tolerance, parse_seconds(budget), threads)


def _enclose(
    net: "AnyNetwork",
    rows: Array,
    box: tuple[Any, Any],
    tolerance: float,
    seconds: float,
    threads: int,
) -> Range:
    inputs = read_box(box)
    if len(inputs.lo) != net.widths[0]:
        raise UsageError(
            "The box does not fit the network.",
            got=f"{len(inputs.lo)} inputs for a network of {net.widths[0]}",
        )
    if not tolerance > 0:
        raise UsageError("The tolerance is positive.", where="tolerance", got=tolerance)
    ends = clock() + seconds
    signed = [sign * row for row in rows for sign in (-1.0, 1.0)]
    found = list[Extreme]()
    for n, row in enumerate(signed):
        share = max(ends - clock(), 0.0) / (len(signed) - n)
        found.append(
            maximise(net, row, inputs, seconds=share, tolerance=tolerance, threads=threads)
        )
        if found[-1].interrupted:
            ends = clock()  # of the other rows, what is known at once
    least, greatest = found[::2], found[1::2]
    return Range(
        np.array([-np.inf if e.bound is None else round_down(-e.bound) for e in least]),
        np.array([np.inf if e.bound is None else round_up(e.bound) for e in greatest]),
        np.array([round_up(-e.attained) for e in least]),
        np.array([round_down(e.attained) for e in greatest]),
        tuple(e.x for e in least),
        tuple(e.x for e in greatest),
        all(e.is_tight for e in found),
        net.meaning,
        any(e.interrupted for e in found),
    )


def stack(one: "AnyNetwork", other: "AnyNetwork") -> "AnyNetwork":
    r"""$x\mapsto(f(x),g(x))$."""
    sizes = [(net.widths[0], net.widths[-1]) for net in (one, other)]
    if sizes[0] != sizes[1]:
        got = " and ".join(f"{inputs} → {outputs}" for inputs, outputs in sizes)
        raise UsageError(
            "Two networks are compared if they have as many inputs and outputs.", got=got
        )
    if isinstance(one, ReluNetwork) and isinstance(other, ReluNetwork):
        return stack_on_one_input([one, other])
    f, g = jax_function(one), jax_function(other)

    def both(x: Any) -> Any:
        import jax.numpy as jnp

        return jnp.concatenate([f(x), g(x)])

    return _compose(both, sizes[0][0], "two networks")


def _have_equal_steps(one: "AnyNetwork", other: "AnyNetwork") -> bool:
    """Whether both have the same normal form, number by number, and it is that of the functions that were read."""
    if (
        not (isinstance(one, ReluNetwork) and isinstance(other, ReluNetwork))
        or one.widths != other.widths
    ):
        return False
    if one.rounded or other.rounded or one.is_long or other.is_long:
        return False
    return all(
        np.array_equal(a.dense(), b.dense())
        and np.array_equal(a.offset, b.offset)
        and np.array_equal(a.rectified, b.rectified)
        for a, b in zip(one.steps, other.steps)
    )


def close(net: "AnyNetwork", step: Step) -> "AnyNetwork":
    r"""$x\mapsto x^+=g(x,f(x))$ as one network."""
    if not callable(step) and isinstance(net, ReluNetwork):
        return close_loop(net, *read_affine_step(step, net.widths[0], net.widths[-1]))
    return _compose(_follow(net, step), net.widths[0], "the loop")


def _follow(net: "AnyNetwork", step: Step) -> Callable[[Any], Any]:
    """The closed loop as a JAX function."""
    control = jax_function(net)
    if callable(step):
        return lambda x: _same_size(step(x, control(x)), net.widths[0])
    A, B, c = read_affine_step(step, net.widths[0], net.widths[-1])
    return lambda x: A @ x + B @ control(x) + c


def _same_size(following: Any, states: int) -> Any:
    if np.shape(following) != (states,):
        raise UsageError(
            "A step is from states to states.",
            where="step",
            got=f"shape {np.shape(following)}",
            remedy=f"return an array of {states} numbers",
        )
    return following


def _quadratic(P: Any, states: int) -> Callable[[Any], Any]:
    matrix = np.asarray(P, np.float64)
    if (
        matrix.shape != (states, states)
        or not np.isfinite(matrix).all()
        or not np.array_equal(matrix, matrix.T)
    ):
        raise UsageError(
            "V is a network, a function, or a symmetric matrix of finite numbers.",
            where="V",
            got=f"shape {matrix.shape}",
            remedy=f"shape {(states, states)} for {states} states",
        )
    return lambda x: x @ (matrix @ x)


def _read_rows(rows: Any, outputs: int) -> Array:
    if rows is None:
        return np.eye(outputs)
    found = np.atleast_2d(np.asarray(rows, np.float64))
    if found.ndim != 2 or found.shape[1] != outputs or not np.isfinite(found).all():
        raise UsageError(
            "The rows are a matrix of finite numbers with one column for each output.",
            where="rows",
            got=f"shape {found.shape}",
            remedy=f"the network has {outputs} outputs",
        )
    return found


def _compose(function: Callable[[Any], Any], inputs: int, name: str) -> "AnyNetwork":
    """A JAX function of one flat input, by its normal form where it has one."""
    from ftheta.subjects import Network

    return normal_form_or_program(Network(name, lambda params, x: function(x), (), (inputs,)))
