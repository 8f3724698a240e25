"""What holds in every attention layer, looked at in a network: rows that sum to one, results in a hull, no order."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.compiling import call_compiled
from ftheta.logic import AtMost, Axis, Chart, Claim, Curves, Dag, Enclosure, Heatmap, Identity, Series, Table, Witness
from ftheta.logic.chart import Vertex
from ftheta.networks.transformers.attention import (
    Projections,
    cyclic_convolution_as_attention,
    jacobian,
    self_attention,
)
from ftheta.networks.transformers.heads import Attention

NEAR = 1e-9  # rounding of a few float64 operations, relative to the numbers in them
FORMED = 1 << 18  # entries of a Jacobian that is formed; larger ones are multiplied with
SCALES = tuple(np.geomspace(0.1, 30.0, 13))
DIRECTIONS = 32
IMPORTERS = str(Path("ftheta") / "networks")  # whose lines say nothing of the network
EXACTLY, AGAIN = Enclosure.exact, "in intervals rounded outward, the row summed in rationals"


@dataclass(frozen=True, eq=False)
class Look:
    """A network (`net`), the attention in it, and what its heads do at some inputs, one a row."""

    net: Any
    attention: Attention
    inputs: np.ndarray

    @cached_property
    def seen(self) -> list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """For every input and every product: weights, values, results."""
        return [self.attention.at(x) for x in self.inputs]

    @property
    def products(self) -> list[tuple[int, int, np.ndarray, np.ndarray, np.ndarray]]:
        return [(i, p, *parts) for i, all_parts in enumerate(self.seen) for p, parts in enumerate(all_parts)]

    # -- rows and hulls ------------------------------------------------------------------------------

    def rows(self) -> tuple[Claim, Claim]:
        """Every row of every attention matrix is a probability; rows that see nothing are left out."""
        worst, off, at = 1.0, 0.0, (0, 0, 0, 0)
        for i, p, A, _, _ in self.products:
            sums = np.nan_to_num(np.where((A == 0).all(-1), 1.0, A.sum(-1)), nan=np.inf, posinf=np.inf)
            h, row = np.unravel_index(int(np.abs(sums - 1).argmax()), sums.shape)
            if abs(sums[h, row] - 1) > off:
                worst, off, at = float(sums[h, row]), float(abs(sums[h, row] - 1)), (i, p, int(h), int(row))
        known = lambda value: Enclosure.measured(value, samples=len(self.inputs))
        what = "sum of a row of attention weights that are not all 0 (the worst)"
        return (
            Identity(what, known(worst), EXACTLY(1), self._row(*at, off)),
            AtMost("minus the smallest weight", known(largest(*(-A for _, _, A, _, _ in self.products))), EXACTLY(0)),
        )

    def _row(self, i: int, p: int, h: int, row: int, off: float) -> Witness | None:
        if off <= NEAR:
            return None
        again = self.attention.enclosed_weights(self.inputs[i], p)
        total = Enclosure.unknown()
        if again is not None and np.isfinite(again).all():
            lower, upper = (EXACTLY(sum(map(Fraction, end[h, row].tolist()), Fraction(0))) for end in again)
            total = Enclosure.between(lower.lo, upper.hi)
        place = {"input": float(i), "product": float(p), "head": float(h), "query": float(row)}
        return Witness(place, total, EXACTLY(1), AGAIN)

    def hull(self, rng: np.random.Generator) -> Claim:
        r"""$\langle u,y_i\rangle\le\max_j\langle u,v_j\rangle$ for directions $u$ along the axes and at random."""
        worst = []
        for _, _, A, v, y in self.products:
            d = v.shape[-1]
            U = np.concatenate([np.eye(d)[:DIRECTIONS], -np.eye(d)[:DIRECTIONS], rng.normal(size=(DIRECTIONS, d))]).T
            blind = (A == 0).all(-1)[..., None]
            beyond = np.where(blind, -np.inf, y @ U - (v @ U).max(1, keepdims=True))
            worst.append(largest(beyond / (np.abs(v).max() * np.abs(U).sum(0) + 1e-300)))
        what = "how far a result with weights leaves the hull of the values, relative to their size"
        return AtMost(what, Enclosure.measured(largest(worst), samples=len(self.inputs)), EXACTLY(0), atol=NEAR)

    def messages(self) -> Claim:
        """The first input's results are sums of messages along the edges of the complete graph."""
        gap = [0.0]
        for A, v, y in self.seen[0]:
            rows = slice(0, max(1, FORMED // max(1, A[0].shape[1] * v[0].size)))
            sent = (A[:, rows, :, None] * v[:, None]).sum(2)
            gap.append(largest(np.abs(sent - y[:, rows]) / (np.abs(v).max() + 1e-300)))
        what = "results and the messages A_ij·v_j summed edge by edge"
        return Identity(what, _small(largest(gap)), EXACTLY(0), atol=NEAR)

    # -- order ---------------------------------------------------------------------------------------

    @cached_property
    def tokens(self) -> int:
        """How many tokens go in and come out along the last axis but one; 0 where they do not."""
        before, after = self.net.input_shape, self.net.output_shape
        return before[-2] if len(before) > 1 and len(after) > 1 and before[-2] == after[-2] > 1 else 0

    @cached_property
    def order(self) -> str:
        """How the network tells tokens apart by their place; empty where neither a mask nor positions are seen."""
        if any((A == 0).any() for _, _, A, _, _ in self.products):
            return "a mask: some weights are 0"
        same = np.broadcast_to(self.inputs[0][..., :1, :], self.inputs[0].shape)
        out = self.attention.run(same)[0]
        gap = float(np.abs(out - out[..., :1, :]).max() / (np.abs(out).max() + 1e-300))
        return f"positions: equal tokens get results that differ by {gap:.2g} of the largest" if gap > NEAR else ""

    def defect(self, rng: np.random.Generator) -> float:
        r"""$\max|f(Px)-Pf(x)|$ over the inputs, relative to the largest result, for a random permutation of each."""
        worst = [0.0]
        for x in self.inputs:
            turn = rng.permutation(self.tokens)
            y, moved = self.attention.run(x)[0], self.attention.run(np.take(x, turn, -2))[0]
            worst.append(largest(np.abs(moved - np.take(y, turn, -2)) / (np.abs(y).max() + 1e-300)))
        return largest(worst)

    def equivariance(self, rng: np.random.Generator) -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
        """A claim where nothing tells the places apart; the number in every case."""
        if not self.tokens:
            return (), {}
        found = Enclosure.measured(self.defect(rng), samples=len(self.inputs))
        what = "f(Px) − Pf(x), relative to the largest result"
        claims = () if self.order else (Identity(what, found, EXACTLY(0), atol=NEAR),)
        return claims, {"equivariance defect": found}

    # -- steepness -----------------------------------------------------------------------------------

    @cached_property
    def steepness(self) -> np.ndarray:
        """The local Lipschitz constant at the first input scaled by `SCALES`, and (last) at itself."""
        return self._slopes[0]

    @cached_property
    def _slopes(self) -> tuple[np.ndarray, np.ndarray | None]:
        x = self.inputs[0]
        return jacobian_norms(self.net, np.stack([*(scale * x for scale in SCALES), x]))

    def formula(self) -> tuple[Claim, ...]:
        """Of a layer whose matrices are known: its Jacobian by differentiation and in closed form."""
        found = self._slopes[1]
        if not isinstance(self.net.params, Projections) or self.net.apply is not self_attention or found is None:
            return ()
        closed = jacobian(self.net.params, self.inputs[0])
        gap = float(np.abs(found.reshape(closed.shape) - closed).max() / np.abs(closed).max())
        return (Identity("Jacobian by differentiation and in closed form", _small(gap), EXACTLY(0), atol=NEAR),)

    # -- pictures ------------------------------------------------------------------------------------

    def charts(self) -> tuple[Chart, ...]:
        three = Series("∂y₁/∂x₁ at 0, R, −R", SCALES, (2 * np.array(SCALES) ** 2 + 1) / 3, "reference")
        slopes = Series("‖∂f/∂x‖ at R·x", SCALES, self.steepness[:-1])
        growth = Curves("steepness against the size of the tokens", Axis("scale R", "log"),
                        Axis("local Lipschitz constant", "log"), (three, slopes))  # fmt: skip
        A = self.seen[0][0][0]
        return (*(_map(A[h], h) for h in range(min(2, len(A)))), messages_diagram(A[0]), growth)

    def table(self) -> Table:
        columns = ("product", "heads", "queries", "keys", "masked", "largest weight", "entropy / log n", "where")
        rows = []
        for p, (A, _, _) in enumerate(self.seen[0]):
            entropy = -(A * np.log(np.where(A > 0, A, 1.0))).sum(-1).mean() / np.log(max(2, A.shape[2]))
            masked = f"{(A == 0).mean():.0%}"
            source = self.attention.heads[p].node.source
            where = "imported" if IMPORTERS in source else source
            rows.append((p + 1, *A.shape, masked, float(A.max()), float(entropy), where))
        return Table("attention at the first input", columns, tuple(rows))


def jacobian_norms(net: Any, xs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    r"""$\|\partial f/\partial x\|_2$ at each input, and the last Jacobian where they are small enough to be formed.

    Larger ones are multiplied with, 30 power steps from below.
    """
    one = lambda x: jnp.ravel(net.apply(net.params, x.reshape(net.input_shape)))
    flat = xs.reshape(len(xs), -1)
    outputs = int(np.prod(net.output_shape))
    if outputs * flat.shape[1] <= FORMED:
        differentiate = jax.jacfwd if flat.shape[1] <= outputs else jax.jacrev
        jacobians = np.asarray(call_compiled(lambda rows: jax.lax.map(differentiate(one), rows), flat))
        return np.linalg.norm(jacobians, 2, axis=(1, 2)), jacobians[-1]

    def power(x: Any) -> Any:
        _, forward = jax.linearize(one, x)
        _, backward = jax.vjp(one, x)
        unit = lambda v: v / jnp.linalg.norm(v)
        v = jax.lax.fori_loop(0, 30, lambda _, v: unit(backward(forward(v))[0]), unit(jnp.ones_like(x) + jnp.cos(x)))
        return jnp.linalg.norm(forward(v))

    return np.asarray(call_compiled(lambda rows: jax.lax.map(power, rows), flat)), None


def messages_diagram(A: np.ndarray) -> Dag:
    """Attention as message passing: every token sends to every token, with the heaviest messages told."""
    n = min(8, *A.shape)
    tokens = [Vertex(f"x{j}", f"x{j + 1}") for j in range(n)]
    results = [Vertex(f"y{i}", f"y{i + 1}", f"{A[i].max():.0%} from x{A[i].argmax() + 1}") for i in range(n)]
    edges = tuple((f"x{j}", f"y{i}") for i in range(n) for j in range(n) if A[i, j] > 0)
    return Dag("attention is message passing on the complete graph", (*tokens, *results), edges)


def _map(A: np.ndarray, head: int) -> Heatmap:
    where = (0.5, A.shape[1] + 0.5, 0.5, A.shape[0] + 0.5)
    return Heatmap(f"attention of head {head + 1}", Axis("key j"), Axis("query i"), A, where, "weight")


def _small(gap: float) -> Enclosure:
    return Enclosure.equal(gap)


# -- closed forms ------------------------------------------------------------------------------------


def textbook(radius: float, rng: np.random.Generator) -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    r"""Scalar tokens: equal scores give the mean; $\pm1\mapsto\pm\tanh1$; at $(0,R,-R)$,
    $\partial y_1/\partial x_1=\frac{2R^2+1}3$; and weights by position alone are a convolution."""
    one, zero = np.ones((1, 1, 1)), np.zeros((1, 1, 1))
    unit, x, first = Projections(one, one, one), rng.normal(size=(6, 1)), np.eye(3, 1)
    three = np.array([[0.0], [radius], [-radius]])
    both = np.array([[1.0], [-1.0]])

    def results(x: Any, both: Any, three: Any) -> tuple[Any, Any, Any]:
        slope = jax.jvp(lambda tokens: self_attention(unit, tokens), (three,), (first,))[1]
        return self_attention(Projections(zero, zero, one), x)[2, 0], self_attention(unit, both)[0, 0], slope[0, 0]

    mean, pair, steep = map(float, call_compiled(results, x, both, three))
    kernel, image = rng.normal(size=(3, 2, 4)), rng.normal(size=(7, 4))
    shifted = sum(np.roll(image, -offset, 0) @ psi.T for offset, psi in enumerate(kernel))
    gap = float(np.abs(cyclic_convolution_as_attention(kernel, image) - shifted).max())
    claims = (
        Identity("Q = K = 0: the result and the mean", _small(mean), Enclosure.equal(float(x.mean())), atol=NEAR),
        Identity("tokens ±1: the result and tanh 1", _small(pair), Enclosure.equal(float(np.tanh(1)))),
        Identity("tokens 0, R, −R: ∂y₁/∂x₁ and (2R² + 1)/3", _small(steep), Enclosure.equal((2 * radius**2 + 1) / 3)),
        Identity("convolution and attention by position alone", _small(gap), EXACTLY(0), atol=NEAR),
    )
    return claims, {"tokens ±1": pair, "tokens 0, R, −R: slope": steep}
