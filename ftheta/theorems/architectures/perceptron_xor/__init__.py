"""The perceptron makes few mistakes on separable rows; XOR is not separable, and two ReLUs compute it."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Points,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.relu.network import ExactNetwork
from ftheta.risks.linear import exact_least_squares, feature_columns, signs_of
from ftheta.risks.separation import combination, products, separation
from ftheta.subjects import Dataset
from ftheta.theorems.charts_classes import draw_boundary
from ftheta.training.margins import EXACT_ENTRIES, max_margin
from ftheta.training.study import first_rows

from .perceptron import ExactMargin, Perceptron, exact_margin, perceptron, root, square_radius
from .threshold_functions import MOST_BITS, cube, not_excluded_by_pairs, shown_by_weights

KINDS = ("two axes", "and", "majority of three bits", "two clouds", "narrow gap", "xor")
ZERO = Enclosure.exact(0)
ONE = Enclosure.exact(1)
XOR = np.array([0.0, 1.0, 1.0, 0.0])
MOST_FOLLOWED = 20_000  # numbers of the path of w that are taken as fractions
XOR_NETWORK = ExactNetwork.dense([[[1, 1], [1, 1]], [[1, -2]]], [[0, -1], [0]])


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "two axes",
    size: Annotated[int, Knob(4, 400, "rows of the clouds", "n", log=True, least=2, most=512)] = 60,
) -> Dataset:
    if (
        kind == "two axes"
    ):  # through the origin: the second row is a mistake too, and the bound is attained
        return Dataset(kind, np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([1, -1]))
    if kind in ("and", "xor", "majority of three bits"):
        x = cube(3 if kind.startswith("majority") else 2)
        labels = {"and": x.sum(1) == 2, "xor": x.sum(1) == 1}.get(kind, x.sum(1) >= 2)
        return Dataset(kind, np.column_stack([x, np.ones(len(x))]), np.where(labels, 1, -1))
    labels = np.where(np.arange(size) % 2, 1, -1)
    gap = 0.02 if kind == "narrow gap" else 0.8
    across = labels * (gap / 2 + rng.exponential(0.5, size))
    x = np.column_stack([across, rng.normal(size=size)]) @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    return Dataset(kind, np.column_stack([x, np.ones(size)]), labels)


def xor(rng: np.random.Generator) -> Dataset:
    return rows(rng, kind="xor")


def _labelled_rows(data: Dataset, offset: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """The first rows, with a column of ones where an offset is asked for, and their labels ±1, if they are two."""
    x, y = first_rows(data, flat=True)
    labels = signs_of(y[:, 0]) if len(x) and y.shape[1] == 1 else None
    return np.column_stack([x, np.ones(len(x))]) if offset else x, labels


@hypothesis(
    "every row has one of two labels, 0 and 1 or −1 and 1",
    remedy="give two classes, or one against the rest",
)
def two_classes(data: Dataset) -> Finding:
    found = 0 if data.y is None else len(np.unique(data.y))
    known = _labelled_rows(data, False)[1] is not None
    return Finding.decide(known, f"{found} different labels", "counted", basis=Basis.EXACT)


@hypothesis(
    r"some $w$ has $y_i\langle w,x_i\rangle>0$ for all $i$",
    remedy="allow an offset, lift the rows by features or hidden neurons, or drop the rows that overlap",
)
def separable(data: Dataset, *, offset: bool) -> Finding:
    x, labels = _labelled_rows(data, offset)
    if labels is None:
        return Finding.undecided("two labels")
    kind = separation(labels[:, None] * x).kind
    basis = Basis.EXACT if x.size <= EXACT_ENTRIES else Basis.FLOAT
    return Finding.decide(
        kind == "separable", f"{len(x):,} rows: {kind}", "a separating w checked", basis=basis
    )


@theorem(
    title="The perceptron and XOR",
    gist="On linearly separable data the perceptron makes a bounded number of mistakes, however many rows there are; "
    "XOR is not separable, which is why networks need a hidden layer.",
    see_also=("linear-model-convex-erm", "implicit-bias", "history-timeline"),
    sources=(
        "peyre-slides",
        "murari-slides",
        "scaman-slides",
        "rosenblatt1958",
        "novikoff1962",
        "minsky1969",
        "muroga1971",
    ),
    assumes=(two_classes, separable),
    on=rows,
    breaks_on=xor,
    presets={
        "textbook": {},
        "and": {"kind": "and"},
        "majority": {"kind": "majority of three bits"},
        "two clouds": {"kind": "two clouds"},
        "at the edge": {"kind": "narrow gap", "size": 40},
        "broken on purpose": {"kind": "xor"},
    },
)
def perceptron_xor(
    data: Dataset,
    rng: np.random.Generator,
    *,
    offset: Annotated[
        bool, Knob(says="append a 1 to every row: planes off the origin", symbol="b")
    ] = False,
    budget: Annotated[
        int, Knob(100, 100_000, "mistakes at most", "M", log=True, least=1, most=10**6)
    ] = 20_000,
    bits: Annotated[
        int, Knob(1, MOST_BITS, "bits of the threshold functions counted", "n")
    ] = MOST_BITS,
) -> Evidence:
    r"""The perceptron starts at $w=0$ and sets $w\leftarrow w+y_ix_i$ whenever $y_i\langle w,x_i\rangle\le0$. If some
    unit vector has $y_i\langle w,x_i\rangle\ge\gamma>0$ for all $i$, and $\|x_i\|\le R$, it makes at most
    $(R/\gamma)^2$ mistakes, then separates the rows. $\mathrm{XOR}$ is not separable by a line; an affine function
    misses it by a mean square of at least $\frac14$; and with $r(t)=\max\{0,t\}$
    $$\mathrm{XOR}(x_1,x_2)=r(x_1+x_2)-2\,r(x_1+x_2-1).$$
    Of the functions of 2, 3, 4 bits, 14 of 16, 104 of 256 and 1882 of 65536 are threshold functions."""
    x, labels = _labelled_rows(data, offset)
    labels = np.ones(len(x)) if labels is None else labels
    learnt = Learnt.on(labels[:, None] * x, budget)
    made = len(learnt.run.mistakes)
    numbers: dict[str, Enclosure | float] = {
        "mistakes": Enclosure.exact(made),
        "R": root(learnt.square),
    }
    allowed = "; no margin"
    if learnt.bound is not None and learnt.margin is not None:
        numbers |= {"bound": learnt.bound, "margin": learnt.margin}
        allowed = f"; at most {learnt.bound.hi:.6g} are possible"
    end = (
        "stops"
        if learnt.run.finished
        else "cycles for ever"
        if learnt.run.cycled
        else "has not stopped"
    )
    return Evidence(
        learnt.claims(),
        (learnt.draw_boundaries(x, labels), learnt.draw_growth()),
        numbers,
        summary=f"the perceptron {end} after {made:,} mistake{'s' * (made != 1)}{allowed}",
        examples=partial(_examples, bits),
    )


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
        return (
            None
            if self.margin is None
            else Enclosure.exact(self.square) / (self.margin * self.margin)
        )

    def claims(self) -> tuple[Claim, ...]:
        """The perceptron separates the rows, its mistakes are bounded, and each line of the proof holds on them."""
        made = Enclosure.exact(len(self.run.mistakes))
        claims: tuple[Claim, ...] = ()
        if self.run.finished or self.run.cycled:
            wrong = Enclosure.exact(self.run.wrong(self.z))
            claims += (Identity("rows on the wrong side when the perceptron stops", wrong, ZERO),)
        if self.bound is not None:
            claims += (AtMost("mistakes ≤ (R/γ)²", made, self.bound),)
        if self.best is not None:
            claims += (*self._optimality_claims(self.best), *self._proof_claims(self.best))
        return claims

    def _optimality_claims(self, best: ExactMargin) -> tuple[Claim, ...]:
        """v is feasible, and a combination of its active rows: no shorter one is."""
        values = products(self.z, best.v)
        sums = combination(self.z, best.multipliers)
        slack = max(abs(u * (p - 1)) for u, p in zip(best.multipliers, values))
        apart = max(abs(a - b) for a, b in zip(sums, best.v))
        return (
            AtMost("1 ≤ least ⟨z, v⟩, of the quadratic program", ONE, Enclosure.exact(min(values))),
            Identity(
                "v − Σ uᵢzᵢ and uᵢ(⟨zᵢ, v⟩ − 1), u ≥ 0", Enclosure.exact(max(slack, apart)), ZERO
            ),
        )

    def _proof_claims(self, best: ExactMargin) -> tuple[Claim, ...]:
        r"""The two lines of the proof, after every mistake: $\|w_k\|^2\le kR^2$ and $\langle w_k,v\rangle\ge k$."""
        if len(self.run.mistakes) * self.z.shape[1] > MOST_FOLLOWED or not self.run.mistakes:
            return ()
        w = [Fraction(0)] * self.z.shape[1]
        rows = [list(map(Fraction, row)) for row in self.z.tolist()]
        longest = Fraction(0)
        least = None
        for k, i in enumerate(self.run.mistakes, 1):
            w = [a + b for a, b in zip(w, rows[i])]
            longest = max(longest, sum((a * a for a in w), Fraction(0)) / (k * self.square))
            ahead = sum((a * b for a, b in zip(w, best.v)), Fraction(0)) / k
            least = ahead if least is None else min(least, ahead)
        return (
            AtMost("largest ‖w_k‖²/(kR²)", Enclosure.exact(longest), ONE),
            AtMost("1 ≤ least ⟨w_k, v⟩/k", ONE, Enclosure.exact(least or 0)),
        )

    def draw_growth(self) -> Curves:
        """The norm of w between the two lines of the proof, which meet at the bound."""
        steps = (
            self.z[list(self.run.mistakes)] if self.run.mistakes else np.zeros((0, self.z.shape[1]))
        )
        norms = np.linalg.norm(np.cumsum(steps, axis=0), axis=1)
        k = np.arange(1, len(steps) + 1)
        most = root(self.square)
        last = max(
            float(len(steps)),
            1.0,
            min(self.bound.hi, 4.0 * len(steps)) if self.bound is not None else 1.0,
        )
        t = np.linspace(0, max(last, 2.0), 200)
        series = [
            Series("‖w‖ after k mistakes", k, norms, mark="points"),
            Series("√k R", t, np.sqrt(t) * most, "bound"),
        ]
        if self.margin is not None:
            series.append(Series("kγ", t, t * self.margin.middle, "bound"))
        return Curves("why the mistakes end", Axis("mistakes k"), Axis("norm of w"), tuple(series))

    def draw_boundaries(self, x: np.ndarray, labels: np.ndarray) -> Curves | Points:
        """The rows with the perceptron's boundary and that of the largest margin; of more features, the scores."""
        varying = feature_columns(x)
        if len(varying) != 2:
            return draw_boundary(x, labels, self.run.weights(self.z), "perceptron")
        series = [
            Series("+1" if s > 0 else "−1", *x[labels == s][:, varying].T, mark="points")
            for s in (1, -1)
        ]
        lines = {"perceptron": self.run.weights(self.z)}
        lines |= {} if self.best is None else {"largest margin": np.array(self.best.v, float)}
        for name, w in lines.items():
            rest = float(x[0] @ w - x[0, varying] @ w[varying])
            ends = _crossing(w[varying], rest, x[:, varying].min(0), x[:, varying].max(0))
            series += [] if ends is None else [Series(name, ends[:, 0], ends[:, 1], "bound")]
        return Curves("separating lines", Axis("x₁"), Axis("x₂"), tuple(series))


def _crossing(w: np.ndarray, offset: float, lo: np.ndarray, hi: np.ndarray) -> np.ndarray | None:
    r"""Where the line $\langle w,x\rangle+b=0$ enters and leaves a box a little larger than that from `lo` to `hi`."""
    room = 0.25 * np.maximum(hi - lo, 1e-9)
    lo = lo - room
    hi = hi + room
    size = float(w @ w)
    if size == 0:
        return None
    foot = -offset * w / size
    along = np.array([-w[1], w[0]]) / np.sqrt(size)
    moving = np.abs(along) > 1e-12
    times = np.sort(np.array([lo - foot, hi - foot])[:, moving] / along[moving], axis=0)
    first = times[0].max()
    last = times[1].min()
    return np.array([foot + first * along, foot + last * along]) if first < last else None


def _examples(bits: int) -> Examples:
    """XOR, and the threshold functions of a few bits."""
    about_xor, xor_numbers = _xor_claims()
    about_bits, table, counts = _threshold_counts(bits)
    return Examples(
        (*about_xor, *about_bits), (_draw_lifted_xor(),), (table,), xor_numbers | counts
    )


def _xor_claims() -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    """No hyperplane separates XOR, an affine function misses it by ¼, and two ReLUs compute it."""
    x = np.column_stack([cube(2), np.ones(4)]).astype(float)
    z = np.where(XOR > 0, 1.0, -1.0)[:, None] * x
    found = separation(z)
    theta = exact_least_squares(x, XOR)
    assert found.multipliers is not None and theta is not None
    left = max(abs(v) for v in combination(z, found.multipliers))
    error = sum((p - Fraction(y)) ** 2 for p, y in zip(products(x, theta), XOR.tolist())) / 4
    apart = max(
        abs(XOR_NETWORK(point)[0] - Fraction(y)) for point, y in zip(cube(2).tolist(), XOR.tolist())
    )
    claims = (
        Identity(
            "XOR: Σ uᵢzᵢ with u > 0, so that no line separates it", Enclosure.exact(left), ZERO
        ),
        AtMost("XOR: −least uᵢ", Enclosure.exact(-min(found.multipliers)), ZERO),
        Identity(
            "XOR: least mean square error of an affine function",
            Enclosure.exact(error),
            Enclosure.exact(0.25),
        ),
        Identity("XOR: r(x₁+x₂) − 2r(x₁+x₂−1), largest error", Enclosure.exact(apart), ZERO),
    )
    return claims, {"best affine MSE of XOR": Enclosure.exact(error)}


def _threshold_counts(bits: int) -> tuple[tuple[Claim, ...], Table, dict[str, Enclosure | float]]:
    """Threshold functions of 1, …, n bits: those shown to be one, against those not shown to be none."""
    claims = []
    rows = []
    numbers = {}
    for n in range(1, bits + 1):
        shown, left = (
            Enclosure.exact(len(f)) for f in (shown_by_weights(n), not_excluded_by_pairs(n))
        )
        claims.append(
            Identity(
                f"threshold functions of {n} bit{'s' * (n > 1)}: by weights, by exclusion",
                shown,
                left,
            )
        )
        rows.append((n, int(shown.hi), 2**2**n, shown.hi / 2**2**n))
        numbers[f"threshold functions of {n} bits"] = shown
    return (
        tuple(claims),
        Table("threshold functions", ("bits", "functions", "of", "part"), tuple(rows)),
        numbers,
    )


def _draw_lifted_xor() -> Curves:
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
