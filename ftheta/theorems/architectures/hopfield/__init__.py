"""A memory that runs down its energy to the nearest pattern it holds, until it holds too many."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset

from .memory import (
    MOST_NEURONS,
    Recall,
    as_signs,
    bit_error,
    corrupt,
    crosstalk,
    energies,
    energy,
    exact_bit_error,
    hebb,
    most_flips,
    overlaps,
    random_patterns,
    recall,
    unstable_bits,
)

VALUES = ("±1", "−1, 0, 1")
ROWS = 1000  # patterns stored, at most
ZERO = Enclosure.exact(0)
CAPACITY = 0.138
LOADS = (0.03, 0.06, 0.09, 0.11, 0.13, 0.15, 0.17, 0.2, 0.25, 0.3)
FOLLOWED = 64  # patterns recalled
SEEN = 100  # unstable bits that an experiment should expect
SIZES = (100, 1000, 10_000, 100_000)


def patterns(
    rng: np.random.Generator,
    *,
    bits: Annotated[int, Knob(4, 400, "neurons", "N", log=True, least=2, most=2000)] = 200,
    stored: Annotated[int, Knob(1, 60, "patterns stored", "p", log=True, most=500)] = 10,
    values: Annotated[str, Knob(says="what the entries may be", choices=VALUES)] = VALUES[0],
) -> Dataset:
    x = random_patterns(rng, stored, bits)
    if values != VALUES[0]:
        x[:, ::3] = 0
    return Dataset(f"{stored} pattern{'s' * (stored > 1)} of {bits} random bits", x)


def with_zeros(rng: np.random.Generator) -> Dataset:
    return patterns(rng, stored=1, values=VALUES[1])


def _rows_of(data: Dataset) -> np.ndarray:
    return data.x[:ROWS].reshape(min(len(data), ROWS), -1)


@hypothesis(
    r"patterns $\xi^\mu\in\{\pm1\}^N$",
    remedy="give entries of two values, for instance x > threshold",
)
def two_values(data: Dataset) -> Finding:
    x = _rows_of(data)
    values = len(np.unique(x))
    note = f"{len(x):,} pattern{'s' * (len(x) > 1)} of {x.shape[1]:,} entries"
    fits = as_signs(x) is not None and x.shape[1] <= MOST_NEURONS
    return Finding.decide(
        fits, f"{note} with {values:,} different values", "counted", basis=Basis.EXACT
    )


@theorem(
    title="Hopfield's memory",
    gist="A network of binary neurons that lowers an energy with every change always comes to rest, near the pattern "
    "it was started from as long as not too many patterns are stored.",
    see_also=("self-attention", "rnn-dynamical", "history-timeline"),
    sources=("murari-slides", "hopfield1982", "amit1985"),
    assumes=(two_values,),
    on=patterns,
    breaks_on=with_zeros,
    presets={
        "textbook": {},
        "one pattern of four bits": {"bits": 4, "stored": 1},
        "at the edge": {"bits": 200, "stored": 28},
        "overloaded": {"bits": 200, "stored": 60},
        "large": {"bits": 600, "stored": 60, "neurons": 300},
        "broken on purpose": {"values": VALUES[1]},
    },
)
def hopfield(
    data: Dataset,
    rng: np.random.Generator,
    *,
    corruption: Annotated[
        float, Knob(0.0, 0.5, "part of the bits that are turned at the start", "c")
    ] = 0.1,
    load: Annotated[
        float, Knob(0.05, 0.3, "load of the first-step error", "p/N", least=0.01, most=2.0)
    ] = CAPACITY,
    neurons: Annotated[
        int, Knob(50, 600, "neurons of the recall curve", "N′", log=True, most=1000)
    ] = 200,
    trials: Annotated[
        int, Knob(20, 2000, "random memories whose stored bits are tested", "T", log=True)
    ] = 200,
) -> Evidence:
    r"""Let $W=\frac1N\sum_{\mu\le p}\xi^\mu\xi^{\mu\top}$ without its diagonal. Turning one neuron at a time towards
    $\operatorname{sign}(Ws)_i$ lowers $E(s)=-\frac12s^\top Ws$ by at least $\frac2N$, so that it ends, at a fixed
    point. If $s$ is a fixed point, so is $-s$; $\pm\xi^\mu$ are fixed points if
    $\sum_{\nu\ne\mu}|\langle\xi^\nu,\xi^\mu\rangle|\le N-p$. For random patterns a stored bit is unstable with a
    probability that tends to $$\Phi\big(-\sqrt{N/p}\big)\qquad(N\to\infty,\ p/N\text{ fixed}),$$
    and recall breaks down near $p\approx0.138\,N$."""
    x = _rows_of(data)
    signs = as_signs(x)
    if signs is None and not (x == np.round(x)).all():
        return Evidence(
            (), summary="the patterns are no whole numbers: there is no state to recall"
        )
    stored = x.astype(float) if signs is None else signs
    memory = Memory.of(stored, corruption, rng)
    numbers = memory.numbers() | {"bit error": bit_error(load)}
    turns = int(memory.found.flips.sum())
    reached = numbers["mean overlap after recall"]
    count = f"{len(stored)} pattern{'s' * (len(stored) > 1)} of {stored.shape[1]} bits"
    examples = partial(_examples, rng.spawn(1)[0], corruption, load, neurons, trials)
    return Evidence(
        memory.claims(int(rng.integers(2**31))),
        (memory.draw_energy(),),
        numbers,
        summary=f"{count}: {turns:,} turns, mean overlap {reached:.4g}",
        examples=examples,
    )


def _examples(
    rng: np.random.Generator, part: float, load: float, neurons: int, trials: int
) -> Examples:
    """Random patterns: how many of their bits are unstable, and recall against the load."""
    curves = tuple(_recall_curve(n, part, rng) for n in (neurons // 2, neurons))
    rows = tuple(zip(curves[-1].loads, curves[-1].overlap, curves[-1].recalled))
    table = Table(f"recall, N = {neurons}", ("load", "mean overlap", "recalled to 2 %"), rows)
    charts = (_draw_recall(curves, part), _draw_bit_errors(load))
    return Examples(_capacity_claims(load, trials, rng), charts, (table,))


@dataclass(frozen=True, eq=False)
class Memory:
    """Patterns of ±1, their weights, and the recall of some of them from corrupted starts."""

    patterns: np.ndarray
    K: np.ndarray
    start: np.ndarray
    found: Recall

    @classmethod
    def of(cls, patterns: np.ndarray, part: float, rng: np.random.Generator) -> "Memory":
        K = hebb(patterns)
        start = corrupt(patterns[:FOLLOWED], part, rng)
        return cls(patterns, K, start, recall(K, start, rng))

    def claims(self, seed: int) -> tuple[Claim, ...]:
        """The energy falls at every turn, the recall ends at a fixed point, and what −s does."""
        N = len(self.K)
        found = self.found
        allowed = [most_flips(self.K, s) - int(f) for s, f in zip(self.start, found.flips)]
        least = Fraction(2 if found.least_drop is None else found.least_drop, N)
        again = recall(self.K, -self.start, np.random.default_rng(seed)).states
        once = recall(self.K, self.start, np.random.default_rng(seed)).states
        return (
            AtMost(
                "2/N ≤ least fall of the energy at a turn",
                Enclosure.exact(Fraction(2, N)),
                Enclosure.exact(least),
            ),
            AtMost("turns − N(E(s) + ½Σ|W|)/2, largest", Enclosure.exact(-min(allowed)), ZERO),
            _count(
                "unstable bits where the recall ended", unstable_bits(self.K, found.states).sum()
            ),
            _count(
                "bits in which the recall of −s is not that of s turned", (again != -once).sum()
            ),
            *self._fixed_point_claims(),
            Identity("E(ξ) + Σ(⟨ξ^μ, ξ⟩² − N)/2N, first pattern", self._by_overlaps(), ZERO),
        )

    def _fixed_point_claims(self) -> tuple[Claim, ...]:
        r"""$\sum_{\nu\ne\mu}|\langle\xi^\nu,\xi^\mu\rangle|\le N-p$ makes $\pm\xi^\mu$ fixed points."""
        p, N = self.patterns.shape
        apart = self.patterns[crosstalk(self.patterns) <= N - p]
        if not len(apart):
            return ()
        unstable = sum(int(unstable_bits(self.K, s * apart).sum()) for s in (1, -1))
        return (
            _count(f"unstable bits of ±ξ, {len(apart)} patterns with little cross-talk", unstable),
        )

    def _by_overlaps(self) -> Enclosure:
        p, N = self.patterns.shape
        squares = int(((self.patterns @ self.patterns[0]) ** 2).sum())
        return Enclosure.exact(energy(self.K, self.patterns[0]) + Fraction(squares - p * N, 2 * N))

    def numbers(self) -> dict[str, Enclosure | float]:
        p, N = self.patterns.shape
        flipped = self.patterns[0] * np.where(np.arange(N) == 0, -1, 1)
        unstable = int(unstable_bits(self.K, self.patterns).sum())
        return {
            "energy of the first pattern": Enclosure.exact(energy(self.K, self.patterns[0])),
            "energy after one flip": Enclosure.exact(energy(self.K, flipped)),
            "load p/N": Enclosure.exact(Fraction(p, N)),
            "unstable bits, part": Enclosure.exact(Fraction(unstable, p * N)),
            "bit error at this load": bit_error(p / N),
            "mean overlap after recall": float(
                overlaps(self.patterns[:FOLLOWED], self.found.states).mean()
            ),
        }

    def draw_energy(self) -> Curves:
        """The energy of some recalls, sweep by sweep, with that of the patterns themselves."""
        N = len(self.K)
        sweeps = np.arange(len(self.found.energies))
        own = energies(self.K, self.patterns[:FOLLOWED]) / (2 * N)
        shown = range(min(5, self.start.shape[0]))
        series = [
            Series(f"pattern {t + 1}", sweeps, self.found.energies[:, t] / (2 * N)) for t in shown
        ]
        level = Series(
            "mean of the stored patterns", sweeps, np.full(len(sweeps), own.mean()), "reference"
        )
        return Curves("energy during recall", Axis("sweep"), Axis("E"), (*series, level))


def _count(what: str, number: int | np.integer) -> Identity:
    return Identity(what, Enclosure.exact(int(number)), ZERO)


# ---- capacity -------------------------------------------------------------------------------------------------------


def _capacity_claims(
    load: float, trials: int, rng: np.random.Generator, neurons: int = 100
) -> tuple[Claim, ...]:
    """Unstable bits of random patterns against the exact law, and that law against its limit."""
    p = max(2, round(load * neurons))
    seen = []
    for _ in range(trials):
        patterns = random_patterns(rng, p, neurons)
        seen.append(unstable_bits(hebb(patterns), patterns).sum() / patterns.size)
    exact = Enclosure.equal(exact_bit_error(p, neurons))
    limit = Enclosure.equal(bit_error(load))
    laws = [exact_bit_error(max(2, round(load * n)), n) for n in SIZES]
    known = tuple(Enclosure.equal(v) for v in laws)
    tends = Converges(
        "unstable bits → Φ(−√(N/p))", limit, known, SIZES, within=0.02 * limit.hi + 1e-12
    )
    if exact.hi * p * neurons * trials < SEEN:  # too rare to be met
        return (tends,)
    what = f"unstable bits of {p} random patterns of {neurons}, binomial law"
    return Identity(what, mean(np.array(seen), within=(0.0, 1.0)), exact), tends


@dataclass(frozen=True)
class RecallCurve:
    """Recall against load for one size: mean overlap, and the part of patterns recalled to within 2 %."""

    neurons: int
    loads: tuple[float, ...]
    overlap: tuple[float, ...]
    recalled: tuple[float, ...]


def _recall_curve(
    neurons: int, part: float, rng: np.random.Generator, tried: int = 24
) -> RecallCurve:
    loads = []
    found = []
    good = []
    for load in LOADS:
        p = max(1, round(load * neurons))
        patterns = random_patterns(rng, p, neurons)
        few = patterns[:tried]
        seen = overlaps(few, recall(hebb(patterns), corrupt(few, part, rng), rng).states)
        loads.append(p / neurons)
        found.append(float(seen.mean()))
        good.append(float((seen >= 0.96).mean()))
    return RecallCurve(neurons, tuple(loads), tuple(found), tuple(good))


def _draw_recall(curves: tuple[RecallCurve, ...], part: float) -> Curves:
    series = [Series(f"N = {c.neurons}", c.loads, c.overlap) for c in curves]
    lowest = min(0.0, *(v for c in curves for v in c.overlap))
    series.append(Series("p/N = 0.138", (CAPACITY, CAPACITY), (1.0, lowest), "reference"))
    title = f"recall from {part:.0%} wrong bits"
    return Curves(title, Axis("load p/N"), Axis("overlap with the pattern"), tuple(series))


def _draw_bit_errors(load: float, neurons: int = 100) -> Curves:
    t = np.linspace(0.02, max(0.4, load), 120)
    p = np.arange(2, max(41, round(load * neurons) + 1))
    exact = np.array([exact_bit_error(int(k), neurons) for k in p])
    shown = exact > 1e-8
    limit = np.array([bit_error(v) for v in t])
    return Curves(
        "first-step error of a stored bit",
        Axis("load p/N"),
        Axis("probability", "log"),
        (
            Series("Φ(−√(N/p))", t[limit > 1e-8], limit[limit > 1e-8], "bound"),
            Series(f"N = {neurons}, exact", p[shown] / neurons, exact[shown], "measured", "points"),
        ),
    )
