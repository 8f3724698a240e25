"""A recurrent network is a dynamical system: gradients are products of Jacobians, and a contraction forgets."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest, worst_ratio
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Dag,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Status,
    Vertex,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS
from ftheta.subjects import Dataset, Network

from .recurrent import Cell, lagged_norms, random_cell

LONGEST = 1000
SMOOTH = tuple(name for name in ACTIVATIONS if name != "square")
ZERO = Enclosure.exact(0)
ONE = Enclosure.exact(1)
LAG = 50
DECAY = Fraction(9, 10)
GROWTH = Fraction(11, 10)
PAIRS = 4  # other starts
UNDERFLOW = 1e-290  # products of derivatives are not followed below


def contracting_cell(
    rng: np.random.Generator,
    *,
    hidden: int = 16,
    gain: float = 0.9,
    sigma: str = "tanh",
    inputs: Annotated[int, Knob(1, 8, "numbers that come in at every step", "d", most=64)] = 2,
) -> Network:
    layers = random_cell(rng, hidden, inputs, gain, sigma)
    return Network.described(layers, f"h ↦ {sigma}(Wh + Ux + b), ‖W‖ = {gain:g}")


def expanding_cell(rng: np.random.Generator) -> Network:
    return contracting_cell(rng, gain=1.5)


def _cell_and_sequence(
    subject: Network | Dataset, hidden: int, gain: float, sigma: str, steps: int
) -> tuple[Cell, np.ndarray]:
    """The cell and the sequence that drives it: the user's, or a fixed random one."""
    rng = np.random.default_rng(0)
    if isinstance(
        subject, Dataset
    ):  # one sequence per row (T, d); of plain rows, the rows themselves in time
        x = subject.x[0] if subject.x.ndim > 2 else subject.x
        xs = x.reshape(len(x), -1)[:LONGEST].astype(float)
        return Cell.random(rng, hidden, xs.shape[1], gain, sigma), xs
    found = Cell.of(subject)
    if subject.data is not None:  # rows (h, x) in time: the part after the state drives it
        return found, subject.data.x.reshape(len(subject.data), -1)[:LONGEST, found.hidden :]
    return found, 0.1 * rng.normal(size=(steps, found.inputs))


@hypothesis(
    r"$\|W\|\,\mathrm{Lip}\,\sigma<1$: every step brings two states closer",
    remedy="scale W down, or take an activation with a smaller slope",
)
def contracting(
    subject: Network | Dataset, *, hidden: int, gain: float, sigma: str, steps: int
) -> Finding:
    found, xs = _cell_and_sequence(subject, hidden, gain, sigma, steps)
    if found.contraction is not None:
        c = found.contraction
        return Finding.decide(
            c.hi < 1,
            f"c = {c.hi:.6g}",
            "norms rounded outward, slopes by name",
            c,
            basis=Basis.EXACT,
        )
    J = found.jacobians(found.states(np.zeros(found.hidden), xs), xs)
    worst = max(float(np.linalg.norm(j, 2)) for j in J)
    note = f"largest ‖∂f/∂h‖ along {len(xs)} steps: {worst:.6g}"
    return Finding.sampled(note) if worst < 1 else Finding.failed(note)


@theorem(
    title="Recurrent networks as dynamical systems",
    gist="A recurrent network applies one map again and again, so its gradients are products of Jacobians: they vanish "
    "and the past is forgotten if the map contracts, and explode if it expands.",
    see_also=("gradient-product-bound", "adjoint-method", "reverse-mode", "hopfield"),
    same_for_all={
        "largest ‖∂h_T/∂h_(T−k)‖/c^k": "a maximum over lags that is attained at lag 0, where both are 1"
    },
    sources=(
        "murari-slides",
        "werbos1990",
        "hochreiter1998",
        "pascanu2013",
        "jaeger2001",
        "boyd1985",
    ),
    assumes=(contracting,),
    on=contracting_cell,
    breaks_on=expanding_cell,
    presets={
        "textbook": {},
        "short memory": {"gain": 0.5},
        "at the edge": {"gain": 0.999, "steps": 200},
        "sigmoid": {"sigma": "sigmoid", "gain": 3.0},
        "large": {"hidden": 64, "inputs": 8, "steps": 100},
        "broken on purpose": {"gain": 1.5},
    },
    audited=False,
)
def rnn_dynamical(
    subject: Network | Dataset,
    rng: np.random.Generator,
    *,
    hidden: Annotated[
        int, Knob(1, 64, "size of the state, of the built-in cell", "n", log=True, most=200)
    ] = 16,
    gain: Annotated[float, Knob(0.1, 2.0, "norm of its W", "‖W‖", most=10)] = 0.9,
    sigma: Annotated[str, Knob(says="its activation", symbol="σ", choices=SMOOTH)] = "tanh",
    steps: Annotated[
        int,
        Knob(
            5, 200, "steps in time, of the built-in sequence", "T", log=True, least=2, most=LONGEST
        ),
    ] = 60,
) -> Evidence:
    r"""$h_{t+1}=\sigma(Wh_t+Ux_t+b)$, with the same weights at every time, is a dynamical system driven by $x$, and
    $$\frac{\partial h_T}{\partial h_0}=\prod_{t=T-1}^0D_tW,\qquad D_t=\operatorname{diag}\sigma'(Wh_t+Ux_t+b).$$
    Back-propagation through time is back-propagation in the network unrolled in time. If
    $c=\|W\|\,\mathrm{Lip}\,\sigma<1$ then $\|\partial h_T/\partial h_{T-k}\|\le c^k$, and two states driven by the same
    inputs meet: $\|h_t-h_t'\|\le c^t\|h_0-h_0'\|$ (fading memory). Linear networks with $\rho(W)>1$ have gradients that
    grow like $\rho(W)^k$."""
    own, xs = _cell_and_sequence(subject, hidden, gain, sigma, steps)
    run = SequenceRun.of(own, xs, rng)
    numbers: dict[str, Enclosure | float] = {
        "‖∂h_T/∂h_0‖": float(run.norms[-1]),
        "largest ‖J_t‖": max(float(np.linalg.norm(j, 2)) for j in run.J),
    }
    if own.contraction is not None:
        numbers["c"] = own.contraction
    gap = float(run.distances[:, -1].max() / run.distances[:, 0].max())
    chosen = {"hidden": hidden, "gain": gain, "sigma": sigma, "steps": steps}
    expands = contracting.check(subject, **chosen).status is Status.FAILED
    return Evidence(
        (
            *run.derivative_claims(rng),
            *run.fading_claims(known=expands or own.contraction is not None),
        ),
        (run.draw_gradients(), run.draw_distances()),
        numbers,
        summary=f"after {len(xs)} steps the gradient has norm {run.norms[-1]:.3g}, "
        f"and two starts are {gap:.3g} times as far apart as at first",
        examples=_examples,
    )


def _examples() -> Examples:
    """Linear networks, in rationals; and the picture of one cell at several times."""
    numbers = {
        f"0.9^{LAG}": Enclosure.exact(DECAY**LAG),
        f"1.1^{LAG}": Enclosure.exact(GROWTH**LAG),
    }
    return Examples(linear_claims(), (_draw_unrolled(),), numbers=numbers)


@dataclass(frozen=True, eq=False)
class SequenceRun:
    """A cell along a sequence `xs` from h = 0, beside other starts."""

    cell: Cell
    xs: np.ndarray
    states: np.ndarray
    J: np.ndarray
    others: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, cell: Cell, xs: np.ndarray, rng: np.random.Generator) -> "SequenceRun":
        start = np.zeros(cell.hidden)
        states = cell.states(start, xs)
        others = tuple(cell.states(0.1 * rng.normal(size=cell.hidden), xs) for _ in range(PAIRS))
        return cls(cell, xs, states, cell.jacobians(states, xs), others)

    @property
    def norms(self) -> np.ndarray:
        return lagged_norms(self.J)

    @property
    def distances(self) -> np.ndarray:
        """Of the other starts, of shape (pairs, T + 1)."""
        return np.array([np.linalg.norm(other - self.states, axis=1) for other in self.others])

    @property
    def rounding(self) -> float:
        """What one step in float64 may add to a distance: granted, 10⁻¹³ of the largest state."""
        return 1e-13 * max(1.0, largest(np.abs(self.states)))

    def derivative_claims(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        """The product of Jacobians, and back-propagation through time, against the network differentiated whole."""
        aims = rng.normal(size=(len(self.xs), self.cell.hidden))
        product = np.eye(self.cell.hidden)
        for step in self.J:
            product = step @ product
        whole = self.cell.unrolled_jacobian(self.states[0], self.xs)
        grad = self.cell.unrolled_gradient(self.states[0], self.xs, aims)
        steps = self.cell.through_time(self.states, self.xs, aims, self.J)
        scale = max(float(np.prod([max(1.0, float(np.linalg.norm(j, 2))) for j in self.J])), 1.0)
        gap = float(np.abs(product - whole).max())
        off = float(np.abs(grad - steps).max(initial=0.0))  # a cell may have no parameters
        size = max(float(np.abs(grad).max(initial=0.0)), 1e-300)
        return (
            Identity(
                "J_(T−1)⋯J_0 − ∂h_T/∂h_0 of the unrolled network",
                Enclosure.equal(gap),
                ZERO,
                atol=1e-10 * scale,
            ),
            Identity(
                "back-propagation through time − gradient of the unrolled network, relative",
                Enclosure.equal(off / size),
                ZERO,
                atol=1e-9,
            ),
        )

    def fading_claims(self, *, known: bool) -> tuple[Claim, ...]:
        """No step brings two states further apart, and both gradients and distances are below the powers of c.

        Where the cell was seen to contract in places alone (it is not `known` whether it does), two states that part
        refute nothing: that it contracts is then wrong."""
        ratios = np.vectorize(worst_ratio)(
            self.distances[:, 1:], self.distances[:, :-1], self.rounding
        )
        pair, t = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
        worst = float(ratios[pair, t])
        count = ratios.size
        witness = None
        if worst > 1 and known:
            a = self.states[t]
            b = self.others[pair][t]
            again = enclose_number(self._growth, self.cell.params, a, b, self.xs[t])
            place = {"h": tuple(a.tolist()), "h′": tuple(b.tolist())}
            witness = Witness(
                place, again, ONE, "the two steps taken again, in intervals rounded outward"
            )
        seen = Enclosure.measured(worst, samples=count)
        claims: tuple[Claim, ...] = (
            AtMost("largest growth of a distance in one step", seen, ONE, witness=witness),
        )
        c = self.cell.contraction
        if c is None:
            return claims
        k = np.arange(len(self.xs) + 1)
        powers = c.hi**k
        carried = self.rounding * np.cumsum(np.append(0.0, powers[:-1]))
        faded = worst_ratio(self.norms, powers, UNDERFLOW)
        closer = worst_ratio(self.distances, powers * self.distances[:, :1], carried)
        granted = f"{carried[-1]:.1e} granted to rounding"
        return (
            *claims,
            AtMost("largest ‖∂h_T/∂h_(T−k)‖/c^k", Enclosure.equal(faded), ONE),
            AtMost(
                f"largest ‖h_t − h′_t‖/(c^t‖h_0 − h′_0‖), {granted}",
                Enclosure.equal(closer),
                ONE,
                atol=1e-9,
            ),
        )

    def _growth(self, params: Any, a: Any, b: Any, x: Any) -> Any:
        one, two = (self.cell.apply(params, jnp.concatenate([h, x])) for h in (a, b))
        return jnp.sqrt(jnp.sum((one - two) ** 2) / jnp.sum((a - b) ** 2))

    # -- figures ------------------------------------------------------------------------------------

    def draw_gradients(self) -> Curves:
        k = np.arange(len(self.norms))
        shown = self.norms > 1e-18
        series = [Series("measured", k[shown], self.norms[shown])]
        c = self.cell.contraction
        if c is not None:
            bound = c.hi ** k.astype(float)
            series.append(
                Series("cᵏ, c = ‖W‖ Lip σ", k[bound > 1e-18], bound[bound > 1e-18], "bound")
            )
        return Curves(
            "gradient against lag", Axis("lag k"), Axis("‖∂h(T)/∂h(T − k)‖", "log"), tuple(series)
        )

    def draw_distances(self) -> Curves:
        t = np.arange(self.distances.shape[1])
        d = self.distances
        series = [
            Series(f"start {i + 1}", t[row > 1e-17], row[row > 1e-17]) for i, row in enumerate(d)
        ]
        c = self.cell.contraction
        if c is not None:
            bound = c.hi ** t.astype(float) * d[:, 0].max()
            series.append(
                Series(
                    "cᵗ times the distance at the start",
                    t[bound > 1e-17],
                    bound[bound > 1e-17],
                    "bound",
                )
            )
        title = "memory of the start: the same inputs, other starts"
        return Curves(title, Axis("step t"), Axis("distance of the states", "log"), tuple(series))


def _draw_unrolled(steps: int = 4) -> Dag:
    """The same cell at every time: one weight matrix, many copies."""
    states = [
        Vertex(f"h{t}", f"h_{t}", "σ(Wh + Ux + b)" if t else "start") for t in range(steps + 1)
    ]
    inputs = [Vertex(f"x{t}", f"x_{t}") for t in range(steps)]
    edges = [(f"h{t}", f"h{t + 1}") for t in range(steps)] + [
        (f"x{t}", f"h{t + 1}") for t in range(steps)
    ]
    return Dag("unrolled in time, with shared weights", (*states, *inputs), tuple(edges))


def linear_claims(lag: int = LAG) -> tuple[Claim, ...]:
    r"""Linear networks in rationals: $.9^{50}$, $h_T=W^Th_0+\sum_tW^{T-1-t}Ux_t$, and growth where $\rho(W)>1$."""
    scalar = Cell(lambda p, z: p * z[:1] + z[1:], np.array(float(DECAY)), 1, 1)
    slope = float(np.prod(scalar.jacobians(np.zeros((lag + 1, 1)), np.zeros((lag, 1)))))
    W = [[GROWTH, Fraction(1)], [Fraction(0), Fraction(1, 2)]]
    h = [Fraction(1), Fraction(-2)]
    power = [[Fraction(i == j) for j in range(2)] for i in range(2)]
    total = [Fraction(0)] * 2
    xs = [Fraction(t % 3 - 1) for t in range(lag)]
    U = [Fraction(1, 3), Fraction(1)]
    start = list(h)
    for x in xs:
        h = [a + u * x for a, u in zip(_times(W, h), U)]
    for x in reversed(xs):
        total = [a + b * x for a, b in zip(total, _times(power, U))]
        power = [
            [sum((row[k] * W[k][j] for k in range(2)), Fraction(0)) for j in range(2)]
            for row in power
        ]
    total = [a + b for a, b in zip(total, _times(power, start))]
    off = max(abs(a - b) for a, b in zip(h, total))
    return (
        Identity(
            f"∂h_{lag}/∂h_0 of h′ = 0.9h + x, and 0.9^{lag}",
            Enclosure.equal(slope),
            Enclosure.exact(DECAY**lag),
        ),
        Identity("linear network − (W^T h_0 + Σ W^(T−1−t) U x_t)", Enclosure.exact(off), ZERO),
        AtMost(
            f"ρ(W)^{lag} ≤ largest entry of W^{lag}, ρ = 1.1",
            Enclosure.exact(GROWTH**lag),
            Enclosure.exact(max(max(r) for r in power)),
        ),
    )


def _times(W: list[list[Fraction]], v: list[Fraction]) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, v)), Fraction(0)) for row in W]
