"""The perceptron on rows: its mistakes against Novikoff's bound; and XOR, which it cannot learn and two ReLUs can."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Points, Series, Table
from ftheta.relu.exact import ExactNetwork
from ftheta.training.margins import max_margin

from .linear import exact_least_squares
from .linear_study import boundary_chart, feature_columns
from .perceptron import ExactMargin, Perceptron, exact_margin, perceptron, square_radius
from .separation import combination, products, separation
from .threshold_functions import cube, not_excluded_by_pairs, shown_by_weights

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)
XOR = np.array([0.0, 1.0, 1.0, 0.0])
FOLLOWED = 20_000  # numbers of the path of w that are taken as fractions
XOR_NETWORK = ExactNetwork.dense([[[1, 1], [1, 1]], [[1, -2]]], [[0, -1], [0]])


@dataclass(frozen=True, eq=False)
class Learnt:
    """The run on rows times labels `z`, and the shortest v with all products at least 1, where there is one."""

    z: np.ndarray
    run: Perceptron
    best: ExactMargin | None
    square: Fraction

    @classmethod
    def on(cls, z: np.ndarray, budget: int) -> "Learnt":
        return cls(z, perceptron(z, budget), exact_margin(z), square_radius(z))

    @property
    def margin(self) -> Enclosure | None:
        """The largest margin; from float64 where the rationals are too many."""
        if self.best is not None:
            return Enclosure.exact(self.best.square).sqrt()
        found = max_margin(self.z)
        return None if found is None else found.margin

    @property
    def bound(self) -> Enclosure | None:
        r"""$(R/\gamma)^2$."""
        if self.best is not None:
            return Enclosure.exact(self.square / self.best.square)
        return None if self.margin is None else Enclosure.exact(self.square) / (self.margin * self.margin)

    def claims(self) -> tuple[Claim, ...]:
        made = Enclosure.exact(len(self.run.mistakes))
        claims: tuple[Claim, ...] = ()
        if self.run.finished or self.run.cycled:
            wrong = Enclosure.exact(self.run.wrong(self.z))
            claims += (Identity("rows on the wrong side when the perceptron stops", wrong, ZERO),)
        if self.bound is not None:
            claims += (AtMost("mistakes ≤ (R/γ)²", made, self.bound),)
        if self.best is not None:
            claims += (*self._optimal(self.best), *self._followed(self.best))
        return claims

    def _optimal(self, best: ExactMargin) -> tuple[Claim, ...]:
        """v is feasible, and a combination of its active rows: no shorter one is."""
        values, sums = products(self.z, best.v), combination(self.z, best.multipliers)
        slack = max(abs(u * (p - 1)) for u, p in zip(best.multipliers, values))
        apart = max(abs(a - b) for a, b in zip(sums, best.v))
        return (
            AtMost("1 ≤ least ⟨z, v⟩, of the quadratic program", ONE, Enclosure.exact(min(values))),
            Identity("v − Σ uᵢzᵢ and uᵢ(⟨zᵢ, v⟩ − 1), u ≥ 0", Enclosure.exact(max(slack, apart)), ZERO),
        )

    def _followed(self, best: ExactMargin) -> tuple[Claim, ...]:
        r"""The two lines of the proof, after every mistake: $\|w_k\|^2\le kR^2$ and $\langle w_k,v\rangle\ge k$."""
        if len(self.run.mistakes) * self.z.shape[1] > FOLLOWED or not self.run.mistakes:
            return ()
        w, rows = [Fraction(0)] * self.z.shape[1], [list(map(Fraction, row)) for row in self.z.tolist()]
        longest, least = Fraction(0), None
        for k, i in enumerate(self.run.mistakes, 1):
            w = [a + b for a, b in zip(w, rows[i])]
            longest = max(longest, sum((a * a for a in w), Fraction(0)) / (k * self.square))
            ahead = sum((a * b for a, b in zip(w, best.v)), Fraction(0)) / k
            least = ahead if least is None else min(least, ahead)
        return (
            AtMost("largest ‖w_k‖²/(kR²)", Enclosure.exact(longest), ONE),
            AtMost("1 ≤ least ⟨w_k, v⟩/k", ONE, Enclosure.exact(least or 0)),
        )

    def growth_chart(self) -> Curves:
        """The norm of w between the two lines of the proof, which meet at the bound."""
        steps = self.z[list(self.run.mistakes)] if self.run.mistakes else np.zeros((0, self.z.shape[1]))
        norms, k = np.linalg.norm(np.cumsum(steps, axis=0), axis=1), np.arange(1, len(steps) + 1)
        most = float(self.square) ** 0.5
        last = max(float(len(steps)), 1.0, min(self.bound.hi, 4.0 * len(steps)) if self.bound is not None else 1.0)
        t = np.linspace(0, max(last, 2.0), 200)
        series = [
            Series("‖w‖ after k mistakes", k, norms, mark="points"),
            Series("√k R", t, np.sqrt(t) * most, "bound"),
        ]
        if self.margin is not None:
            series.append(Series("kγ", t, t * self.margin.middle, "bound"))
        return Curves("why the mistakes end", Axis("mistakes k"), Axis("norm of w"), tuple(series))

    def lines_chart(self, x: np.ndarray, labels: np.ndarray) -> Curves | Points:
        """The rows with the perceptron's boundary and that of the largest margin; of more features, the scores."""
        varying = feature_columns(x)
        if len(varying) != 2:
            return boundary_chart(x, labels, self.run.weights(self.z), "perceptron")
        series = [Series("+1" if s > 0 else "−1", *x[labels == s][:, varying].T, mark="points") for s in (1, -1)]
        lines = {"perceptron": self.run.weights(self.z)}
        lines |= {} if self.best is None else {"largest margin": np.array(self.best.v, float)}
        for name, w in lines.items():
            rest = float(x[0] @ w - x[0, varying] @ w[varying])
            ends = crossing(w[varying], rest, x[:, varying].min(0), x[:, varying].max(0))
            series += [] if ends is None else [Series(name, ends[:, 0], ends[:, 1], "bound")]
        return Curves("separating lines", Axis("x₁"), Axis("x₂"), tuple(series))


def crossing(w: np.ndarray, offset: float, lo: np.ndarray, hi: np.ndarray) -> np.ndarray | None:
    r"""Where the line $\langle w,x\rangle+b=0$ enters and leaves a box a little larger than that from `lo` to `hi`."""
    room = 0.25 * np.maximum(hi - lo, 1e-9)
    lo, hi, size = lo - room, hi + room, float(w @ w)
    if size == 0:
        return None
    foot, along = -offset * w / size, np.array([-w[1], w[0]]) / np.sqrt(size)
    moving = np.abs(along) > 1e-12
    times = np.sort(np.array([lo - foot, hi - foot])[:, moving] / along[moving], axis=0)
    first, last = times[0].max(), times[1].min()
    return np.array([foot + first * along, foot + last * along]) if first < last else None


def xor_claims() -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    """No hyperplane separates XOR, an affine function misses it by ¼, and two ReLUs compute it."""
    x = np.column_stack([cube(2), np.ones(4)]).astype(float)
    z = np.where(XOR > 0, 1.0, -1.0)[:, None] * x
    found, theta = separation(z), exact_least_squares(x, XOR)
    assert found.multipliers is not None and theta is not None
    left = max(abs(v) for v in combination(z, found.multipliers))
    error = sum((p - Fraction(y)) ** 2 for p, y in zip(products(x, theta), XOR.tolist())) / 4
    apart = max(abs(XOR_NETWORK(point)[0] - Fraction(y)) for point, y in zip(cube(2).tolist(), XOR.tolist()))
    claims = (
        Identity("XOR: Σ uᵢzᵢ with u > 0, so that no line separates it", Enclosure.exact(left), ZERO),
        AtMost("XOR: −least uᵢ", Enclosure.exact(-min(found.multipliers)), ZERO),
        Identity("XOR: least mean square error of an affine function", Enclosure.exact(error), Enclosure.exact(0.25)),
        Identity("XOR: r(x₁+x₂) − 2r(x₁+x₂−1), largest error", Enclosure.exact(apart), ZERO),
    )
    return claims, {"best affine MSE of XOR": Enclosure.exact(error)}


def threshold_counts(bits: int) -> tuple[tuple[Claim, ...], Table, dict[str, Enclosure | float]]:
    """Threshold functions of 1, …, n bits: those shown to be one, against those not shown to be none."""
    claims, rows, numbers = [], [], {}
    for n in range(1, bits + 1):
        shown, left = (Enclosure.exact(len(f)) for f in (shown_by_weights(n), not_excluded_by_pairs(n)))
        claims.append(Identity(f"threshold functions of {n} bit{'s' * (n > 1)}: by weights, by exclusion", shown, left))
        rows.append((n, int(shown.hi), 2**2**n, shown.hi / 2**2**n))
        numbers[f"threshold functions of {n} bits"] = shown
    return tuple(claims), Table("threshold functions", ("bits", "functions", "of", "part"), tuple(rows)), numbers


def lift_chart() -> Curves:
    """The four points after the two ReLUs, where a line separates them."""
    hidden = np.array([[max(s, 0), max(s - 1, 0)] for s in cube(2).sum(1)], float)
    line = np.array([-0.2, 2.8])
    return Curves(
        "XOR after two ReLUs: a line separates it",
        Axis("r(x₁ + x₂)"),
        Axis("r(x₁ + x₂ − 1)"),
        (
            Series("XOR = 1", hidden[XOR > 0, 0], hidden[XOR > 0, 1], "measured", "points"),
            Series("XOR = 0", hidden[XOR == 0, 0], hidden[XOR == 0, 1], "measured", "points"),
            Series("h₁ − 2h₂ = ½", line, (line - 0.5) / 2, "bound"),
        ),
    )


def perceptron_evidence(x: np.ndarray, labels: np.ndarray, budget: int, bits: int) -> Evidence:
    learnt = Learnt.on(labels[:, None] * x, budget)
    (about_xor, numbers), (counted, table, counts) = xor_claims(), threshold_counts(bits)
    made = len(learnt.run.mistakes)
    numbers |= counts | {"mistakes": Enclosure.exact(made), "R": float(learnt.square) ** 0.5}
    if learnt.bound is not None and learnt.margin is not None:
        numbers |= {"bound": learnt.bound, "margin": learnt.margin}
    end = "stops" if learnt.run.finished else "goes round for ever" if learnt.run.cycled else "has not stopped"
    allowed = "; no margin" if learnt.bound is None else f"; at most {learnt.bound.hi:.6g} are possible"
    return Evidence(
        (*learnt.claims(), *about_xor, *counted),
        (learnt.lines_chart(x, labels), learnt.growth_chart(), lift_chart()),
        numbers,
        (table,),
        summary=f"the perceptron {end} after {made:,} mistake{'s' * (made != 1)}{allowed}",
    )
