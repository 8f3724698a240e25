r"""Residual blocks that can be inverted, and flows that always can.

If $L_k=\mathrm{Lip}(v_k)<1$, then $x\mapsto x+v_k(x)$ stretches by factors in $[1-L_k,1+L_k]$, $y=x+v_k(x)$ has the one
solution that $x\leftarrow y-v_k(x)$ converges to with the rate $L_k$, and
$|\log\det(I+Dv_k)-\mathrm{tr}\,Dv_k|\le d\,(-\log(1-L_k)-L_k)$. The flow of $\dot x=v_k(x)$ needs no such bound:
it is inverted by running it backwards, and $\log\det D\Phi=\int\mathrm{tr}\,Dv_k$ (Liouville).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf, log
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, arb_mat

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.flows.block_constants import BlockConstant
from ftheta.flows.chains import Chain, Stage, Step, make_flow, one_step
from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose
from ftheta.logic import Enclosure

SOLVER_STEPS = 16  # of the Runge–Kutta method, per block
MOST_ITERATIONS = 2000
SOLVED = 1e-13


@dataclass(frozen=True, eq=False)
class Inversion:
    r"""One stage $\Phi$: `x` its inputs, `y` its outputs, `lipschitz` the constants $L_k$ of its blocks.

    They are `certified`, or the steepest slopes found of some of them, which bound nothing.
    """

    stage: Stage
    theta: tuple[Any, ...]
    x: np.ndarray
    y: np.ndarray
    lipschitz: np.ndarray
    certified: bool

    @property
    def constants(self) -> np.ndarray:
        """The constants cut at 1."""
        return np.minimum(self.lipschitz, 1.0)

    # -- the map and its inverse ---------------------------------------------------------------------

    def forward(self, x: Any, step: Step = one_step) -> Any:
        """The stage applied to `x`, each block by `step`."""
        move = lambda z, theta: (step(self.stage.field, theta, z), None)
        return jax.lax.scan(move, x, self.theta, length=len(self.stage))[0]

    def backward(self, y: Any, step: Step) -> Any:
        """`step` for each block from the last to the first."""
        move = lambda z, theta: (step(self.stage.field, theta, z), None)
        return jax.lax.scan(move, y, self.theta, length=len(self.stage), reverse=True)[0]

    @cached_property
    def iterations(self) -> int:
        """Enough for the fixed point of the steepest block, or as many as are affordable."""
        steepest = min(float(self.lipschitz.max()), 1.0)
        if steepest >= 1:
            return MOST_ITERATIONS
        return min(MOST_ITERATIONS, 2 + ceil(log(SOLVED) / log(max(steepest, 1e-8))))

    @cached_property
    def round_trip(self) -> float:
        r"""The largest $\|\Phi^{-1}(\Phi(x))-x\|$ with every block undone by its fixed point, in units of $1+\|x\|$."""

        def undo(v: Any, theta: Any, y: Any) -> Any:
            return jax.lax.fori_loop(0, self.iterations, lambda _, z: y - v(theta, z), y)

        back = call_compiled(jax.vmap(lambda y: self.backward(y, undo)), self.y)
        return _apart(back, self.x)

    @property
    def contraction(self) -> np.ndarray:
        """`[n]`: the largest distance between iterates n and n + 1 of the last block's fixed point, over the first."""
        first = np.maximum(self.differences[:, :1], 1e-300)
        return (self.differences / first).max(0)

    @cached_property
    def differences(self) -> np.ndarray:
        """`[input, n]`: the distance between iterates n and n + 1 of the last block's fixed point."""
        theta = [w[-1] for w in self.theta]
        rounds = min(self.iterations, 40)

        def differences(y: Any) -> Any:
            def once(z: Any, _: Any) -> tuple[Any, Any]:
                new = y - self.stage.field(theta, z)
                return new, jnp.linalg.norm(jnp.ravel(new - z))

            return jax.lax.scan(once, y, None, length=rounds)[1]

        return np.asarray(call_compiled(jax.vmap(differences), self.y))

    @cached_property
    def stretch(self) -> tuple[float, int, int]:
        r"""The smallest $\|\Phi(x_i)-\Phi(x_j)\|/\|x_i-x_j\|$ over all pairs, and the pair."""
        x, y = (a.reshape(len(a), -1) for a in (self.x, self.y))
        before, after = (np.linalg.norm(a[:, None] - a[None], axis=2) for a in (x, y))
        ratio = np.where(before > 0, after / np.where(before > 0, before, 1.0), inf)
        i, j = np.unravel_index(int(np.nan_to_num(ratio, nan=inf).argmin()), ratio.shape)
        return float(ratio[i, j]), int(i), int(j)

    # -- the flow of the blocks ------------------------------------------------------------------------

    @cached_property
    def flow_round_trip(self) -> float:
        """The same round trip for the flow: forwards and backwards in time."""
        there = lambda x: self.backward(
            self.forward(x, make_flow(SOLVER_STEPS)), make_flow(SOLVER_STEPS, -1.0)
        )
        return _apart(call_compiled(jax.vmap(there), self.x), self.x)

    @cached_property
    def volumes(self) -> tuple[np.ndarray, ...]:
        r"""At each input: sign and $\log|\det|$ of the blocks' Jacobian, $\sum_k\mathrm{tr}\,Dv_k$, $\log\det$ of the
        flow's Jacobian, $\int\mathrm{tr}\,Dv$."""
        d = self.stage.size
        shape = self.stage.shape
        flat = lambda f: lambda z: jnp.ravel(f(z.reshape(shape)))

        def one(x: Any) -> tuple[Any, ...]:
            blocks = jnp.linalg.slogdet(jax.jacfwd(flat(self.forward))(x))
            flow = jnp.linalg.slogdet(
                jax.jacfwd(flat(lambda z: self.forward(z, make_flow(SOLVER_STEPS))))(x)
            )
            divergence = lambda theta, z: jnp.trace(
                jax.jacfwd(flat(lambda u: self.stage.field(theta, u)))(z[:d])
            )
            lifted = lambda theta, z: jnp.append(
                jnp.ravel(self.stage.field(theta, z[:d].reshape(shape))), divergence(theta, z)
            )
            both = [
                self._integrate(lifted, step, jnp.append(x, 0.0))[-1]
                for step in (one_step, make_flow(SOLVER_STEPS))
            ]
            return blocks[0], blocks[1], both[0], flow[1], both[1]

        rows = self.x.reshape(len(self.x), -1)
        return tuple(np.asarray(part) for part in call_compiled(jax.vmap(one), rows))

    def _integrate(self, field: Callable[[Any, Any], Any], step: Any, start: Any) -> Any:
        move = lambda z, theta: (step(field, theta, z), None)
        return jax.lax.scan(move, start, self.theta, length=len(self.stage))[0]

    # -- with error bounds -----------------------------------------------------------------------------------

    def least_stretch(self, power: int = 1) -> Enclosure:
        r"""$\prod_k(1-L_k)^p$ in balls, for the constants $L_k$ as they are stored."""
        product = arb(1)
        for constant in self.constants.tolist():
            product *= 1 - arb(constant)
        return Enclosure.ball(product**power)

    def slope(self, i: int, j: int) -> Enclosure:
        r"""$\|\Phi(x_i)-\Phi(x_j)\|/\|x_i-x_j\|$, in intervals rounded outward."""
        return enclosed_slopes(self.forward, self.x[i][None], self.x[j][None])[0]

    def determinant(self, k: int) -> Enclosure:
        """det DΦ at one input: its entries in intervals, the determinant in balls."""
        flat = lambda z: jnp.ravel(self.forward(z.reshape(self.stage.shape)))
        found = enclose(jax.jacfwd(flat), np.ravel(self.x[k]))
        if found is None or not np.isfinite([found.lo, found.hi]).all():
            return Enclosure.unknown()
        ends = zip(found.lo.tolist(), found.hi.tolist())
        rows = [[arb(a).union(arb(b)) for a, b in zip(low, high)] for low, high in ends]
        determinant = arb_mat(rows).det()
        return Enclosure.ball(determinant) if determinant.is_finite() else Enclosure.unknown()

    # -- for pictures ----------------------------------------------------------------------------------------

    def visit(self, starts: np.ndarray) -> np.ndarray:
        """`[k, point]`: the first two coordinates after k blocks, from these; the others start at their mean."""

        def follow(x: Any) -> Any:
            later = jax.lax.scan(move, x, self.theta, length=len(self.stage))[1]
            return jnp.concatenate([jnp.ravel(x)[None, :2], later])

        def move(z: Any, theta: Any) -> tuple[Any, Any]:
            z = one_step(self.stage.field, theta, z)
            return z, jnp.ravel(z)[:2]

        rest = np.mean(self.x.reshape(len(self.x), -1), 0)[starts.shape[1] :]
        x = np.concatenate([starts, np.tile(rest, (len(starts), 1))], 1).reshape(
            -1, *self.stage.shape
        )
        return np.swapaxes(np.asarray(call_compiled(jax.vmap(follow), x)), 0, 1)


def _apart(found: Any, wanted: np.ndarray) -> float:
    off = np.linalg.norm((np.asarray(found) - wanted).reshape(len(wanted), -1), axis=1)
    size = 1 + np.linalg.norm(wanted.reshape(len(wanted), -1), axis=1)
    return float(np.nan_to_num((off / size).max(), nan=inf))


def invert_stages(
    chain: Chain, weights: Sequence[Any], constants: Sequence[BlockConstant], x: np.ndarray
) -> list[Inversion]:
    """Every residual stage, between the states that the inputs `x` pass."""
    end, before = call_compiled(jax.vmap(lambda row: chain.states(weights, row)), x)
    found = []
    first = 0
    for i in chain.residual_stages:
        stage = chain.stages[i]
        after = before[i + 1][:, 0] if i + 1 < len(chain.stages) else end
        mine = constants[first : first + len(stage)]
        first += len(stage)
        found.append(
            Inversion(
                stage,
                tuple(weights[i]),
                np.asarray(before[i])[:, 0],
                np.asarray(after),
                np.array([constant.value for constant in mine]),
                certified=not any(constant.why for constant in mine),
            )
        )
    return found
