r"""Ends of a spectrum by Lanczos with restarts, and what its residuals prove.

A basis $V$ of at most `basis` vectors is kept orthonormal by projecting each new vector against all others. When it is
full, the Ritz vectors nearest to the wanted ends are kept and the process goes on from them (thick restart), so memory
does not grow with the work. Three statements come out, for a symmetric $A$ of size $p$:

1. a unit vector $y$ with $\|Ay-\vartheta y\|\le r$ shows an eigenvalue in $[\vartheta-r,\vartheta+r]$;
2. a Rayleigh quotient is at most $\lambda_{\max}$ and at least $\lambda_{\min}$;
3. after $m$ steps from a start of uniform direction, with probability $1-\delta$ for each end,
   $\lambda_{\max}-\vartheta_{\max}\le\varepsilon(\lambda_{\max}-\lambda_{\min})$ where
   $\sqrt\varepsilon=\ln(1.648\sqrt p/\delta)/(2m-1)$ (`kuczynski1992`, for $A-\lambda_{\min}I\succeq0$).

The theorem is about an $m$ fixed in advance. Here $m$ is the size of the first Krylov space, which ends at one of $J$
sizes that are known in advance, whichever the residuals chose: with $\delta/J$ in place of $\delta$ the bound holds at
all of them together. What comes after the first restart only moves the Ritz values met outward.

Nothing else bounds $\lambda_{\max}$ from above, short of all eigenvalues.
"""

from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Literal

import numpy as np
from scipy.linalg import eigh

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .operators import Operator

DENSE = 256  # size up to which all eigenvalues are computed
HALVES = 400  # size beyond which only the ends of a spectrum are computed
CHECK = 4  # steps between two looks at the residuals
EPS = float(np.finfo(float).eps)
CONFIDENCE = 1 - 1e-6

Ends = Literal["largest", "smallest", "both"]


@dataclass(frozen=True, eq=False)
class Ritz:
    """`values[i]` with its unit vector `vectors[:, i]` and residual `residuals[i]`, the outermost first."""

    values: Float[np.ndarray, "k"]
    residuals: Float[np.ndarray, "k"]
    vectors: Float[np.ndarray, "n k"]

    def near(self, i: int = 0) -> Enclosure:
        """An interval that contains an eigenvalue (which one is not said)."""
        value = float(self.values[i])
        radius = float(self.residuals[i])
        return Enclosure.between(value - radius, value + radius, Basis.FLOAT)


@dataclass(frozen=True, eq=False)
class Extremes:
    """The `ends` of a spectrum that were asked for.

    `steps` is the size of the first Krylov space, one of `looks` sizes at which it could have ended; `products` counts
    all products with the matrix, `range` are the least and the largest Ritz value met. `complete`: all eigenvalues were
    computed. `converged`: every residual is within the tolerance.
    """

    ends: Ends
    largest: Ritz
    smallest: Ritz
    range: tuple[float, float]
    size: int
    steps: int
    looks: int
    products: int
    complete: bool
    converged: bool

    def spill(self, confidence: float = CONFIDENCE) -> float:
        """How far either end may lie beyond the range, at that confidence for both ends together."""
        if self.complete:
            return 16 * self.size * EPS * max(map(abs, self.range))
        each = (1 - confidence) / (2 * self.looks)  # the error probability of one end at one size
        root = log(1.648 * sqrt(self.size) / each) / (2 * self.steps - 1)
        return (
            root**2 * (self.range[1] - self.range[0]) / (1 - 2 * root**2)
            if 2 * root**2 < 1
            else inf
        )

    def top(self, confidence: float = CONFIDENCE) -> Enclosure:
        r"""$\lambda_{\max}$: attained from below; bounded above in float64 if complete, else with that confidence."""
        self._ensure_asked("largest")
        return self._end(self.range[1], self.range[1] + self.spill(confidence), confidence)

    def bottom(self, confidence: float = CONFIDENCE) -> Enclosure:
        r"""$\lambda_{\min}$: attained from above; bounded below in float64 if complete, else with that confidence."""
        self._ensure_asked("smallest")
        return self._end(self.range[0] - self.spill(confidence), self.range[0], confidence)

    def norm(self, confidence: float = CONFIDENCE) -> Enclosure:
        r"""$\max_i|\lambda_i|$."""
        self._ensure_asked("largest")
        self._ensure_asked("smallest")
        met = max(map(abs, self.range))
        return self._end(met, met + self.spill(confidence), confidence)

    def _ensure_asked(self, end: Ends) -> None:
        if self.ends not in (end, "both"):
            raise UsageError(
                f"The {end} eigenvalues were not asked for.",
                got=f"ends={self.ends!r}",
                remedy='ask with ends="both"',
            )

    def _end(self, lo: float, hi: float, confidence: float) -> Enclosure:
        if self.complete:
            error = self.spill()
            return Enclosure.between(lo - error, hi + error, Basis.FLOAT)
        rounding = 4 * (self.steps + sqrt(self.size)) * EPS * max(map(abs, self.range))
        return Enclosure(
            lo - rounding, hi + rounding, Basis.SAMPLED, 1, confidence, unit="random start vector"
        )


def extremes(
    operator: Operator,
    k: int = 1,
    ends: Ends = "both",
    *,
    tol: float = 1e-4,
    basis: int | None = None,
    products: int = 500,
    rng: np.random.Generator | None = None,
    dense: int = DENSE,
) -> Extremes:
    r"""The `k` eigenvalues at each of the asked ends, until every residual is at most `tol` $\max|\vartheta|$.

    `basis` bounds the number of vectors held at once, `products` the work; a run that uses it up says so (`converged`).
    Matrices of at most `dense` rows are diagonalised.
    """
    p = operator.size
    if not 1 <= k <= p:
        raise UsageError(
            "The number of eigenvalues lies between 1 and the size.", got=f"k={k}, size {p}"
        )
    if not 0 < tol < 1:
        raise UsageError("The tolerance of the residuals lies between 0 and 1.", got=tol)
    if p <= dense:
        return _all(operator, k, ends)
    sides = 2 if ends == "both" else 1
    room = min(p - 1, max(sides * (2 * k + 8), 48) if basis is None else basis)
    if room < sides * k + 3:
        raise UsageError(
            "The basis is too small.", got=f"{room} vectors", remedy=f"at least {sides * k + 3}"
        )
    process = _Process(operator, k, ends, tol, room, rng or np.random.default_rng(0))
    process.run(products - sides * k)
    return process.result()


def _all(operator: Operator, k: int, ends: Ends) -> Extremes:
    if operator.size > HALVES:
        return _both_ends(operator.dense(), k, ends)
    values, vectors = np.linalg.eigh(operator.dense())
    error = np.full(len(values), 16 * len(values) * EPS * float(np.abs(values).max(initial=0.0)))
    low, high = _pick_ends(k, ends, len(values))
    both = [Ritz(values[i], error[i], vectors[:, i]) for i in (high, low)]
    n = len(values)
    return Extremes(
        ends, both[0], both[1], (float(values[0]), float(values[-1])), n, n, 1, n, True, True
    )


def _both_ends(matrix: np.ndarray, k: int, ends: Ends) -> Extremes:
    """The same of a larger matrix: only the eigenvalues at the ends, and their vectors, are computed."""
    n = len(matrix)
    low, low_vectors = eigh(matrix, subset_by_index=(0, k - 1), check_finite=False)
    high, high_vectors = eigh(matrix, subset_by_index=(n - k, n - 1), check_finite=False)
    error = np.full(k, 16 * n * EPS * max(abs(low[0]), abs(high[-1])))
    nothing = Ritz(high[:0], error[:0], high_vectors[:, :0])
    largest = nothing if ends == "smallest" else Ritz(high[::-1], error, high_vectors[:, ::-1])
    smallest = nothing if ends == "largest" else Ritz(low, error, low_vectors)
    return Extremes(
        ends, largest, smallest, (float(low[0]), float(high[-1])), n, n, 1, n, True, True
    )


def _pick_ends(k: int, ends: Ends, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Of n values in increasing order, the numbers of those at the low end and at the high end, outermost first."""
    order = np.arange(n)
    k = min(k, n)
    return order[: 0 if ends == "largest" else k], order[::-1][: 0 if ends == "smallest" else k]


class _Process:
    """The state of one run: orthonormal columns of V, and T = VᵀAV."""

    def __init__(
        self,
        operator: Operator,
        k: int,
        ends: Ends,
        tol: float,
        room: int,
        rng: np.random.Generator,
    ) -> None:
        self.A = operator
        self.k = k
        self.tol = tol
        self.room = room
        self.rng = rng
        self.ends: Ends = ends
        self.V = np.zeros((operator.size, room + 1), order="F")
        self.T = np.zeros((room + 1, room + 1))
        self.V[:, 0] = self._random(0)
        self.size = 0  # columns of V whose products are known
        self.steps = self.products = 0
        self.looks = 1
        # the least and the largest Ritz value: a restart forgets those at the other end
        self.met = (inf, -inf)
        self.converged = False

    def run(self, products: int) -> None:
        restarted = False
        self.looks = self._possible_ends(min(self.room, max(products, 1)))
        while not self.converged and self.products < max(products, 1):
            if self.size == self.room:
                self._restart()
                restarted = True
            self._advance()
            self.steps += not restarted
            if self._is_look(self.size):
                self.converged = self._has_converged()

    def _is_look(self, size: int) -> bool:
        """Whether the residuals are looked at, and may end the run, at this size of the basis."""
        return size > self.k * (2 if self.ends == "both" else 1) and (
            size % CHECK == 0 or size == self.room
        )

    def _possible_ends(self, longest: int) -> int:
        """How many sizes the first Krylov space may end with: those of a look, and the longest."""
        return len({size for size in range(1, longest + 1) if self._is_look(size)} | {longest})

    def _random(self, j: int) -> np.ndarray:
        """A unit vector of uniform direction, orthogonal to the first j columns."""
        w = self.rng.normal(size=self.A.size)
        for _ in range(2):
            w -= self.V[:, :j] @ (self.V[:, :j].T @ w)
        return w / np.linalg.norm(w)

    def _advance(self) -> None:
        """One product: column j gets its row of T, and column j + 1 is what is new in it."""
        j = self.size
        V = self.V
        T = self.T
        w = np.array(self.A.product(V[:, j]), np.float64)
        self.products += 1
        if not np.isfinite(w).all():
            raise UsageError(
                "A product with the matrix is not finite.", got=f"product {self.products}"
            )
        scale = float(np.linalg.norm(w))
        seen = np.zeros(j + 1)
        # the three-term recurrence: the rest is rounding, or a restart
        near = slice(max(j - 1, 0), j + 1)
        c = V[:, near].T @ w
        w -= V[:, near] @ c
        seen[near] += c
        for _ in range(3):
            before = float(np.linalg.norm(w))
            c = V[:, : j + 1].T @ w
            w -= V[:, : j + 1] @ c
            seen += c
            if float(np.linalg.norm(w)) > 0.7 * before:
                break
        T[: j + 1, j] = T[j, : j + 1] = seen
        beta = float(np.linalg.norm(w))
        invariant = beta <= 64 * EPS * max(scale, float(np.abs(seen).max()))
        T[j + 1, j] = T[j, j + 1] = 0.0 if invariant else beta
        V[:, j + 1] = self._random(j + 1) if invariant else w / beta
        self.size = j + 1

    def _ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ritz values in increasing order, their vectors in the basis, and the residuals of the recurrence."""
        m = self.size
        values, S = np.linalg.eigh(self.T[:m, :m])
        self.met = (min(self.met[0], float(values[0])), max(self.met[1], float(values[-1])))
        return values, S, np.abs(self.T[m, m - 1] * S[m - 1])

    def _select_wanted(self, values: np.ndarray, extra: int = 0) -> np.ndarray:
        low, high = _pick_ends(self.k + extra, self.ends, len(values))
        return np.unique(np.concatenate([low, high]))

    def _has_converged(self) -> bool:
        values, _, residuals = self._ritz()
        return bool(
            (residuals[self._select_wanted(values)] <= self.tol * np.abs(values).max()).all()
        )

    def _restart(self) -> None:
        """Keep the Ritz vectors at the wanted ends, and the last column."""
        values, S, _ = self._ritz()
        sides = 2 if self.ends == "both" else 1
        spare = max(0, (self.room - 2 - sides * self.k) // (2 * sides))
        kept = self._select_wanted(values, spare)
        n = len(kept)
        m = self.size
        beta = self.T[m, m - 1]
        self.V[:, :n] = self.V[:, :m] @ S[:, kept]
        self.V[:, n] = self.V[:, m]
        self.T[:] = 0.0
        self.T[np.arange(n), np.arange(n)] = values[kept]
        self.T[n, :n] = self.T[:n, n] = beta * S[m - 1, kept]
        self.size = n

    def result(self) -> Extremes:
        """Every Ritz pair is multiplied once more: its residual does not rest on the recurrence."""
        values, S, _ = self._ritz()
        low, high = _pick_ends(self.k, self.ends, len(values))
        pairs = {i: self._verify_pair(S[:, i]) for i in np.unique(np.concatenate([low, high]))}
        ends = [self._gather_pairs([pairs[i] for i in order]) for order in (high, low)]
        met = [pair[0] for pair in pairs.values()] + list(self.met)
        settled = [r <= 2 * self.tol * max(map(abs, met)) for _, r, _ in pairs.values()]
        reached = (min(met), max(met))
        return Extremes(
            ends=self.ends,
            largest=ends[0],
            smallest=ends[1],
            range=reached,
            size=self.A.size,
            steps=self.steps,
            looks=self.looks,
            products=self.products,
            complete=False,
            converged=self.converged and all(settled),
        )

    def _verify_pair(self, s: np.ndarray) -> tuple[float, float, np.ndarray]:
        y = self.V[:, : self.size] @ s
        y /= np.linalg.norm(y)
        image = np.asarray(self.A.product(y), np.float64)
        self.products += 1
        value = float(y @ image)
        return value, float(np.linalg.norm(image - value * y)), y

    def _gather_pairs(self, pairs: list[tuple[float, float, np.ndarray]]) -> Ritz:
        vectors = (
            np.stack([y for _, _, y in pairs], axis=1) if pairs else np.zeros((self.A.size, 0))
        )
        return Ritz(np.array([v for v, _, _ in pairs]), np.array([r for _, r, _ in pairs]), vectors)
