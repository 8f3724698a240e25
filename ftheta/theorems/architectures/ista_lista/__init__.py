"""Proximal gradient descent written as a network, and the network trained to outrun it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.estimates import mean, worst_ratio
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Exists,
    Finding,
    Identity,
    Knob,
    Points,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.relu.counts import count
from ftheta.subjects import Dataset
from ftheta.theorems.soft_thresholds import soft_threshold_is_relu
from ftheta.training.rates import ROUNDING

from .lista import Lista, train_lista
from .sparse_coding import SparseCoding, exact_code

KINDS = ("random", "identity", "orthonormal", "correlated")
MOST = 400  # rows and columns of a dictionary
SIGNALS = 600
ZERO = Enclosure.exact(0)
ONE = Enclosure.exact(1)
CERTIFIED = 1e-9  # duality gap in units of ½‖x‖²
TURNED = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]


def dictionary_and_signals(
    rng: np.random.Generator,
    *,
    dictionary: Annotated[str, Knob(says="the dictionary", symbol="A", choices=KINDS)] = "random",
    entries: Annotated[
        int, Knob(4, 100, "entries of a signal", "n", log=True, least=2, most=MOST)
    ] = 20,
    atoms: Annotated[
        int, Knob(4, 200, "atoms of the dictionary", "d", log=True, least=2, most=MOST)
    ] = 40,
    signals: Annotated[int, Knob(3, 600, "number of signals", "m", log=True, most=SIGNALS)] = 450,
    used: Annotated[int, Knob(1, 20, "atoms in a signal", "s", most=MOST)] = 3,
) -> Dataset:
    A = np.eye(entries) if dictionary == "identity" else rng.normal(size=(entries, atoms))
    if dictionary == "orthonormal":
        A = np.linalg.qr(A)[0]
    if dictionary == "correlated":
        A = A + 1.5 * rng.normal(size=(entries, 1))
    A = A / np.linalg.norm(A, axis=0)
    codes = np.zeros((signals, A.shape[1]))
    for code in codes:
        places = rng.choice(len(code), min(used, len(code)), replace=False)
        code[places] = rng.choice([-1.0, 1.0], len(places)) * rng.uniform(0.5, 1.5, len(places))
    return Dataset(
        f"sparse signals in a dictionary: {dictionary}",
        A,
        A @ codes.T + 0.02 * rng.normal(size=(entries, signals)),
    )


def _dictionary_and_signals_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The dictionary (n, d) and the signals (m, n); none without y."""
    A = data.x.reshape(len(data), -1).astype(float)
    return A, np.zeros((0, len(A))) if data.y is None else data.y.reshape(len(data), -1)[
        :, :SIGNALS
    ].T.astype(float)


def _squares_fit(*arrays: np.ndarray) -> bool:
    """Whether the squares of the largest numbers, and of those that count beside them, are floats."""
    return all(1e-140 < float(np.abs(array).max(initial=0.0)) < 1e140 for array in arrays)


@hypothesis(
    "x is a dictionary with one atom per column, y has one signal per column; neither is zero",
    remedy=f"give x of shape (n, d) and y of shape (n, m), with n and d at most {MOST}",
)
def a_dictionary_and_signals(data: Dataset) -> Finding:
    A, signals = _dictionary_and_signals_of(data)
    fits = len(signals) > 0 and max(A.shape) <= MOST and bool(A.any()) and bool((signals @ A).any())
    note = f"{A.shape[1]} atoms of {len(A)} entries, {len(signals)} signals"
    return Finding.decide(fits, note, "counted", basis=Basis.EXACT)


@hypothesis(
    r"$\tau=h/L$ with $0<h\le1$ and $L=\|A\|^2$",
    remedy="take a smaller step",
    name="a step of at most 1/L",
)
def step_at_most_one(data: Dataset, *, step: float) -> Finding:
    return Finding.decide(
        0 < step <= 1,
        f"h = {step:g}, and L is rounded up",
        "a comparison of knobs",
        basis=Basis.EXACT,
    )


@theorem(
    title="ISTA as a network and LISTA",
    gist="An iterative solver for sparse codes is a network with tied weights; training those weights gives better "
    "codes after few layers, the idea behind unrolled optimisation.",
    see_also=("nonsmooth-proximal", "autoencoder-svd-rom-sindy", "rnn-dynamical"),
    sources=("gribonval-slides", "daubechies2004", "beck2009", "gregor2010"),
    assumes=(a_dictionary_and_signals, step_at_most_one),
    on=dictionary_and_signals,
    unbreakable="the rate holds for every dictionary and every signal; a step beyond 2/L diverges (broken on purpose)",
    presets={
        "textbook": {},
        "identity": {"dictionary": "identity", "signals": 60, "training": 100},
        "orthonormal": {
            "dictionary": "orthonormal",
            "entries": 20,
            "atoms": 10,
            "signals": 60,
            "training": 100,
        },
        "correlated atoms": {"dictionary": "correlated", "steps": 200},
        "at the edge": {"penalty": 0.01, "steps": 300},
        "broken on purpose": {"step": 2.5},
    },
)
def ista_lista(
    data: Dataset,
    rng: np.random.Generator,
    *,
    penalty: Annotated[
        float, Knob(0.01, 0.9, "penalty λ in units of the mean ‖Aᵀx‖∞", "λ", log=True, least=1e-4)
    ] = 0.1,
    step: Annotated[float, Knob(0.05, 1.0, "step times L", "h", least=1e-6, most=4)] = 1.0,
    layers: Annotated[int, Knob(1, 32, "layers that are learnt", "K", log=True, most=64)] = 8,
    steps: Annotated[
        int, Knob(10, 500, "steps of ISTA and FISTA", "k", log=True, least=1, most=2000)
    ] = 100,
    training: Annotated[
        int, Knob(50, 5000, "training steps of LISTA", "T", log=True, least=1, most=20_000)
    ] = 400,
) -> Evidence:
    r"""Let $F(\alpha)=\frac12\|x-A\alpha\|^2+\lambda\|\alpha\|_1$ and $L=\|A\|^2$. ISTA, with the soft threshold $S$,
    $$\alpha_{k+1}=S_{\lambda/L}\big(\tfrac1LA^\top x+(I-\tfrac1LA^\top A)\alpha_k\big),\qquad
    F(\alpha_k)-F^*\le\frac{L\|\alpha_0-\alpha^*\|^2}{2k},$$
    is after $K$ steps a network of $K$ layers with the same weights and two ReLUs per coordinate. FISTA has
    $F_k-F^*\le2LR^2/(k+1)^2$; a residual scaled into $\|A^\top\nu\|_\infty\le\lambda$ certifies $F-F^*$ by duality.
    LISTA learns $(W_e,S,\theta)$ in $\alpha\leftarrow S_\theta(W_ex+S\alpha)$ to err less after $K$ layers."""
    A, signals = _dictionary_and_signals_of(data)
    if not _squares_fit(A, signals):
        told = "squares of the dictionary or of the signals leave the range of float64: rescale"
        return Evidence((), summary=told)
    seed = int(rng.integers(2**31))
    # the first two thirds of the signals are learnt from, the others judged on
    weight = penalty * float(np.abs(signals @ A).max(1).mean())
    cut = max(1, 2 * len(signals) // 3) if len(signals) > 2 else 0
    held = SparseCoding(A, signals[cut:], weight, step)
    steps = max(steps, layers)
    claims: tuple[Claim, ...] = (*_rate_claims(held, steps), *_network_claims(held, layers))
    z = held.solution
    numbers: dict[str, Enclosure | float] = {
        "L": held.smoothness,
        "λ": weight,
        "mean F*": float(held.values(z).mean()),
        "mean nonzeros": float((z != 0).sum(1).mean()),
    }
    charts: tuple[Curves | Points, ...] = (_draw_gaps(held, steps), _draw_code(held))
    learnt = "too few signals to learn from"
    tables = ()
    if cut and len(signals) - cut >= 2 and 0 < step <= 1:
        trained = train_lista(SparseCoding(A, signals[:cut], weight), layers, training, seed)
        race = Race.run(held, trained, steps)
        claims += (race.claim(layers),)
        charts = (race.draw(layers), *charts)
        numbers |= {
            "error of ISTA": float(race.ista[layers]),
            "error of FISTA": float(race.fista[layers]),
        }
        numbers |= {"error of LISTA": float(race.learnt[-1])}
        learnt = f"after {layers} layers ISTA errs by {race.ista[layers]:.3g}, LISTA by {race.learnt[-1]:.3g}"
        shown = [k for k in (1, 2, 4, 8, 16, 32) if k <= layers]
        rows = tuple(
            (k, float(race.ista[k]), float(race.fista[k]), float(race.learnt[k - 1])) for k in shown
        )
        tables = (Table("error after k layers", ("k", "ISTA", "FISTA", "LISTA"), rows),)
    summary = f"{numbers['mean nonzeros']:.3g} of {A.shape[1]} atoms per signal; {learnt}"
    return Evidence(claims, charts, numbers, tables, summary=summary, examples=_examples)


def _largest_ratio(problem: SparseCoding, path: np.ndarray, bounds: np.ndarray) -> float:
    r"""The largest $(F_k-D)/(\text{bound}+\text{gap})$ over steps $k\ge1$ and signals. Each rate holds against every
    point in place of the minimiser, so against the solution found, whose dual value $D$ is below $F^*$. To rounding
    $10^{-13}\|x\|^2$ are granted."""
    z = problem.solution
    least = problem.duals(z)
    gap = np.maximum(problem.gaps(z), 0)
    size = (problem.signals**2).sum(1)
    excess = np.array([problem.values(codes) for codes in path[1:]]) - least
    return worst_ratio(excess, bounds + gap, ROUNDING * size)


def _rate_claims(problem: SparseCoding, steps: int) -> tuple[Claim, ...]:
    r"""$F_k-F^*\le\frac{LR^2}{2kh}$ of ISTA, $\frac{2LR^2}{h(k+1)^2}$ of FISTA, for every signal; and the gaps."""
    k = np.arange(1, steps + 1)[:, None]
    radius = (problem.solution**2).sum(1)
    scale = problem.smoothness * radius / problem.step
    ista = _largest_ratio(problem, problem.ista(steps), scale / (2 * k))
    fista = _largest_ratio(problem, problem.fista(steps), 2 * scale / (k + 1) ** 2)
    size = np.maximum((problem.signals**2).sum(1) / 2, 1e-300)
    gap = float((np.maximum(problem.gaps(problem.solution), 0) / size).max())
    return (
        AtMost("ISTA: largest (F_k − F*)/(LR²/2kh)", Enclosure.equal(ista), ONE),
        AtMost("FISTA: largest (F_k − F*)/(2LR²/h(k+1)²)", Enclosure.equal(fista), ONE),
        AtMost(
            "largest duality gap of a code, in units of ½‖x‖²",
            Enclosure.equal(gap),
            Enclosure.exact(CERTIFIED),
        ),
    )


def _network_claims(problem: SparseCoding, depth: int) -> tuple[Claim, ...]:
    """The ReLU network has two ReLUs per coordinate and layer, and computes what ISTA computes."""
    net = problem.network(depth)
    last = problem.ista(depth)[-1]
    size = max(float(np.abs(last).max()), 1e-300)
    apart = float(np.abs(net(problem.signals) - last).max()) / size
    neurons = Enclosure.exact(2 * problem.A.shape[1] * depth)
    samples = Enclosure.measured(apart, samples=len(problem.signals))
    return (
        Identity("ReLUs of the network, 2dK", Enclosure.exact(count(net).neurons), neurons),
        Identity(f"ReLU network − {depth} steps of ISTA, relative", samples, ZERO, atol=1e-10),
    )


def _examples() -> Examples:
    """One step is the whole way for A = I and for orthonormal columns: checked by the optimality conditions."""
    unit = [[Fraction(i == j) for j in range(3)] for i in range(3)]
    plain, off = exact_code(unit, [Fraction(3), Fraction(-1, 2), Fraction(-2)], Fraction(1))
    turned, missed = exact_code(TURNED, [Fraction(1), Fraction(2)], Fraction(1, 2))
    numbers = {f"S_1(3, −½, −2) {i + 1}": Enclosure.exact(v) for i, v in enumerate(plain)}
    numbers |= {f"orthonormal code {i + 1}": Enclosure.exact(v) for i, v in enumerate(turned)}
    what = "one step, optimality conditions missed by"
    claims = (
        soft_threshold_is_relu(Fraction(1)),
        Identity(f"A = I: {what}", Enclosure.exact(off), ZERO),
        Identity(f"orthonormal A: {what}", Enclosure.exact(missed), ZERO),
    )
    return Examples(claims, numbers=numbers)


@dataclass(frozen=True, eq=False)
class Race:
    """Squared errors of codes, mean over held-out signals in units of the mean square of the true codes, by layers."""

    ista: np.ndarray
    fista: np.ndarray
    learnt: np.ndarray
    gain: Enclosure
    samples: int

    @classmethod
    def run(cls, problem: SparseCoding, trained: Lista, steps: int) -> "Race":
        """`problem` holds the signals held out of the training."""
        true = problem.solution
        size = max(float((true**2).sum(1).mean()), 1e-300)
        error = lambda codes: ((codes - true) ** 2).sum(-1) / size
        ista, fista, learnt = (
            error(c)
            for c in (problem.ista(steps), problem.fista(steps), trained.codes(problem.signals))
        )
        gain = mean(learnt[-1] - ista[trained.depth])
        return cls(ista.mean(1), fista.mean(1), learnt.mean(1), gain, len(true))

    def claim(self, depth: int) -> Exists:
        found = {
            "layers": float(depth),
            "error of LISTA": float(self.learnt[-1]),
            "of ISTA": float(self.ista[depth]),
        }
        what = f"weights whose {depth} layers err less than ISTA's: difference of the mean errors"
        return Exists(what, found, self.gain, ZERO)

    def draw(self, depth: int) -> Curves:
        """Errors of the three codes against the number of layers."""

        def curve(name: str, errors: np.ndarray, first: int) -> Series:
            k = np.arange(first, first + len(errors))
            shown = (errors > 1e-16) & (k >= 1)
            return Series(name, k[shown], errors[shown])

        series = [
            curve("ISTA", self.ista, 0),
            curve("FISTA", self.fista, 0),
            curve(f"LISTA, learnt for K = {depth}", self.learnt, 1),
        ]
        title = "error of the code against layers, held-out signals"
        return Curves(
            title, Axis("layers k", "log"), Axis("‖α_k − α*‖² / ‖α*‖²", "log"), tuple(series)
        )


def _draw_gaps(problem: SparseCoding, steps: int) -> Curves:
    """Mean duality gap against steps: a certificate that is known without the solution."""
    k = np.arange(1, steps + 1)
    series = []
    for name, path in (("ISTA", problem.ista(steps)), ("FISTA", problem.fista(steps))):
        gaps = np.array([np.maximum(problem.gaps(codes), 0).mean() for codes in path[1:]])
        shown = gaps > 1e-15
        series.append(Series(name, k[shown], gaps[shown]))
    return Curves(
        "duality gap, mean over the signals",
        Axis("step k", "log"),
        Axis("F(α_k) − dual", "log"),
        tuple(series),
    )


def _draw_code(problem: SparseCoding) -> Points:
    """The code of the first signal."""
    code = problem.solution[0]
    groups = tuple("zero" if v == 0 else "not zero" for v in code)
    return Points(
        "code of the first held-out signal",
        Axis("atom"),
        Axis("α*"),
        np.arange(1, len(code) + 1),
        code,
        groups,
    )
