"""ISTA, FISTA and LISTA on signals: rates, duality gaps, ISTA as a ReLU network, and what learning gains."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.estimates import mean, worst_ratio
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Exists, Identity, Points, Series, Table
from ftheta.relu.counts import count

from .lista import Lista, as_ista, layers, train_lista
from .prox import soft_threshold_is_relu
from .rates import ROUNDING
from .sparse_coding import SparseCoding, exact_code

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)
CERTIFIED = 1e-9  # duality gap in units of ½‖x‖²
TURNED = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]


def largest_ratio(problem: SparseCoding, path: np.ndarray, bounds: np.ndarray) -> float:
    r"""The largest $(F_k-D)/(\text{bound}+\text{gap})$ over steps $k\ge1$ and signals. Each rate holds against every
    point in place of the minimiser, so against the solution found, whose dual value $D$ is below $F^*$. To rounding
    $10^{-13}\|x\|^2$ are granted."""
    z = problem.solution
    least, gap = problem.duals(z), np.maximum(problem.gaps(z), 0)
    size = (problem.signals**2).sum(1)
    excess = np.array([problem.values(codes) for codes in path[1:]]) - least
    return worst_ratio(excess, bounds + gap, ROUNDING * size)


def rate_claims(problem: SparseCoding, steps: int) -> tuple[Claim, ...]:
    r"""$F_k-F^*\le\frac{LR^2}{2kh}$ of ISTA, $\frac{2LR^2}{h(k+1)^2}$ of FISTA, for every signal; and the gaps."""
    k, radius = np.arange(1, steps + 1)[:, None], (problem.solution**2).sum(1)
    scale = problem.smoothness * radius / problem.step
    ista = largest_ratio(problem, problem.ista(steps), scale / (2 * k))
    fista = largest_ratio(problem, problem.fista(steps), 2 * scale / (k + 1) ** 2)
    size = np.maximum((problem.signals**2).sum(1) / 2, 1e-300)
    gap = float((np.maximum(problem.gaps(problem.solution), 0) / size).max())
    return (
        AtMost("ISTA: largest (F_k − F*)/(LR²/2kh)", Enclosure.equal(ista), ONE),
        AtMost("FISTA: largest (F_k − F*)/(2LR²/h(k+1)²)", Enclosure.equal(fista), ONE),
        AtMost("largest duality gap of a code, in units of ½‖x‖²", Enclosure.equal(gap), Enclosure.exact(CERTIFIED)),
    )


def network_claims(problem: SparseCoding, depth: int) -> tuple[Claim, ...]:
    """The ReLU network has two ReLUs a coordinate and layer, and computes what ISTA computes."""
    net, last = problem.network(depth), problem.ista(depth)[-1]
    size = max(float(np.abs(last).max()), 1e-300)
    apart = float(np.abs(net(problem.signals) - last).max()) / size
    neurons = Enclosure.exact(2 * problem.A.shape[1] * depth)
    samples = Enclosure.measured(apart, samples=len(problem.signals))
    return (
        Identity("ReLUs of the network, 2dK", Enclosure.exact(count(net).neurons), neurons),
        Identity(f"ReLU network − {depth} steps of ISTA, relative", samples, ZERO, atol=1e-10),
        soft_threshold_is_relu(Fraction(1)),
    )


def closed_forms() -> tuple[tuple[Claim, ...], dict[str, Enclosure | float]]:
    """One step is the whole way for A = I and for orthonormal columns: checked by the optimality conditions."""
    unit = [[Fraction(i == j) for j in range(3)] for i in range(3)]
    plain, off = exact_code(unit, [Fraction(3), Fraction(-1, 2), Fraction(-2)], Fraction(1))
    turned, missed = exact_code(TURNED, [Fraction(1), Fraction(2)], Fraction(1, 2))
    numbers: dict[str, Enclosure | float] = {f"S_1(3, −½, −2) {i + 1}": Enclosure.exact(v) for i, v in enumerate(plain)}
    numbers |= {f"orthonormal code {i + 1}": Enclosure.exact(v) for i, v in enumerate(turned)}
    what = "one step, optimality conditions missed by"
    return (
        Identity(f"A = I: {what}", Enclosure.exact(off), ZERO),
        Identity(f"orthonormal A: {what}", Enclosure.exact(missed), ZERO),
    ), numbers


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
            error(c) for c in (problem.ista(steps), problem.fista(steps), trained.codes(problem.signals))
        )
        gain = mean(learnt[-1] - ista[trained.depth])
        return cls(ista.mean(1), fista.mean(1), learnt.mean(1), gain, len(true))

    def claim(self, depth: int) -> Exists:
        found = {"layers": float(depth), "error of LISTA": float(self.learnt[-1]), "of ISTA": float(self.ista[depth])}
        what = f"weights whose {depth} layers err less than ISTA's: difference of the mean errors"
        return Exists(what, found, self.gain, ZERO)

    def chart(self, depth: int) -> Curves:
        def drawn(name: str, errors: np.ndarray, first: int) -> Series:
            k = np.arange(first, first + len(errors))
            shown = (errors > 1e-16) & (k >= 1)
            return Series(name, k[shown], errors[shown])

        series = [
            drawn("ISTA", self.ista, 0),
            drawn("FISTA", self.fista, 0),
            drawn(f"LISTA, learnt for K = {depth}", self.learnt, 1),
        ]
        title = "error of the code against layers, held-out signals"
        return Curves(title, Axis("layers k", "log"), Axis("‖α_k − α*‖² / ‖α*‖²", "log"), tuple(series))


def start_is_ista(problem: SparseCoding, depth: int) -> Identity:
    """LISTA with the weights it starts from, run by JAX, is ISTA."""
    first = np.asarray(layers(as_ista(problem), problem.signals[0], depth))
    gap = float(np.abs(first - problem.ista(depth)[1:, 0]).max())
    return Identity(
        "untrained LISTA − ISTA", Enclosure.equal(gap), ZERO, atol=1e-10 * max(1.0, float(np.abs(first).max()))
    )


def gap_chart(problem: SparseCoding, steps: int) -> Curves:
    """Mean duality gap against steps: a certificate that is known without the solution."""
    k, series = np.arange(1, steps + 1), []
    for name, path in (("ISTA", problem.ista(steps)), ("FISTA", problem.fista(steps))):
        gaps = np.array([np.maximum(problem.gaps(codes), 0).mean() for codes in path[1:]])
        shown = gaps > 1e-15
        series.append(Series(name, k[shown], gaps[shown]))
    return Curves(
        "duality gap, mean over the signals", Axis("step k", "log"), Axis("F(α_k) − dual", "log"), tuple(series)
    )


def code_chart(problem: SparseCoding) -> Points:
    """The code of the first signal."""
    code = problem.solution[0]
    groups = tuple("zero" if v == 0 else "not zero" for v in code)
    return Points(
        "code of the first held-out signal", Axis("atom"), Axis("α*"), np.arange(1, len(code) + 1), code, groups
    )


def ista_evidence(
    A: np.ndarray, signals: np.ndarray, penalty: float, step: float, depth: int, steps: int, training: int, seed: int
) -> Evidence:
    """The first two thirds of the signals are learnt from, the others judged on."""
    weight = penalty * float(np.abs(signals @ A).max(1).mean())
    cut = max(1, 2 * len(signals) // 3) if len(signals) > 2 else 0
    held = SparseCoding(A, signals[cut:], weight, step)
    steps = max(steps, depth)
    claims, (closed, numbers) = (*rate_claims(held, steps), *network_claims(held, depth)), closed_forms()
    z = held.solution
    numbers |= {"L": held.smoothness, "λ": weight, "mean F*": float(held.values(z).mean())}
    numbers |= {"mean nonzeros": float((z != 0).sum(1).mean())}
    charts: tuple[Curves | Points, ...] = (gap_chart(held, steps), code_chart(held))
    told, tables = "too few signals to learn from", ()
    if cut and len(signals) - cut >= 2 and 0 < step <= 1:
        trained = train_lista(SparseCoding(A, signals[:cut], weight), depth, training, seed)
        race = Race.run(held, trained, steps)
        claims += (start_is_ista(held, depth), race.claim(depth))
        charts = (race.chart(depth), *charts)
        numbers |= {"error of ISTA": float(race.ista[depth]), "error of FISTA": float(race.fista[depth])}
        numbers |= {"error of LISTA": float(race.learnt[-1])}
        told = f"after {depth} layers ISTA errs by {race.ista[depth]:.3g}, LISTA by {race.learnt[-1]:.3g}"
        shown = [k for k in (1, 2, 4, 8, 16, 32) if k <= depth]
        rows = tuple((k, float(race.ista[k]), float(race.fista[k]), float(race.learnt[k - 1])) for k in shown)
        tables = (Table("error after k layers", ("k", "ISTA", "FISTA", "LISTA"), rows),)
    summary = f"{numbers['mean nonzeros']:.3g} of {A.shape[1]} atoms a signal; {told}"
    return Evidence((*claims, *closed), charts, numbers, tables, summary=summary)
