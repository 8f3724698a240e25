"""Functions with kinks: the sub-gradient method, proximal maps, forward–backward and FISTA."""

from copy import deepcopy
from fractions import Fraction
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset, Target
from ftheta.theorems.charts_descent import draw_excess
from ftheta.theorems.soft_thresholds import soft_threshold_is_relu
from ftheta.training.descent import walk
from ftheta.training.methods import proximal
from ftheta.training.worst_cases import slowest_proximal, slowest_subgradient

from . import prox
from .sparse_regression import AbsoluteDeviations, BoundedRuns, Lasso

ROWS = 400  # of the data, at most
SHAPE = (4, 3)  # of the matrices on which the maps of the text are tried
CORNERS = (-np.full(SHAPE, 3.0), np.full(SHAPE, 3.0))


def sparse_signal(
    rng: np.random.Generator,
    *,
    rows: Annotated[
        int, Knob(10, 200, "number of measurements", "n", log=True, least=4, most=400)
    ] = 40,
    unknowns: Annotated[
        int, Knob(5, 200, "number of unknowns", "d", log=True, least=2, most=400)
    ] = 80,
) -> Dataset:
    A = rng.normal(size=(rows, unknowns)) / np.sqrt(rows)
    truth = np.zeros(unknowns)
    truth[: max(1, unknowns // 10)] = rng.choice([-2.0, 2.0], size=max(1, unknowns // 10))
    return Dataset("sparse signal with noise", A, A @ truth + 0.05 * rng.normal(size=rows))


def hard_threshold(rng: np.random.Generator) -> Target:
    return Target("hard threshold", lambda x: x * (abs(x) > 1), (-3.0,), (3.0,))


def map_of(target: Target):
    """The map on arrays of shape (d,)."""
    return (lambda x: jnp.reshape(target.f(x[0]), -1)) if target.dimension == 1 else target.of_point


def box_of(target: Target) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(target.lo), np.asarray(target.hi)


@hypothesis(
    r"the map is the gradient of a convex function and firmly non-expansive; data have one number $b_i$ per row",
    remedy="a proximal map is monotone and 1-Lipschitz; data need a matrix x and one target per row",
)
def proximal_map(subject: Dataset | Target) -> Finding:
    if isinstance(subject, Dataset):
        size = 0 if subject.y is None else subject.y[0].size
        something = bool(np.any(subject.x)) and bool(np.any(subject.y))
        return Finding.decide(
            size == 1 and something, f"{len(subject):,} rows of {size}, not all 0", "counted"
        )
    lo, _ = box_of(subject)
    into = jax.eval_shape(map_of(subject), jax.ShapeDtypeStruct(lo.shape, np.float64)).shape
    if into != lo.shape:
        return Finding.failed(f"a function from shape {lo.shape} to {into} is no map of a space")
    rng = np.random.default_rng(0)
    claim = _claim_firmness(subject.name, map_of(subject), *box_of(subject), rng, 2000)
    bent = prox.asymmetry(map_of(subject), *box_of(subject), rng, 200)
    note = f"{claim.what}: {claim.left.hi:.3g} at 2,000 pairs; asymmetry of the Jacobian {bent:.3g}"
    return Finding.sampled(note) if claim.left.hi <= 1e-9 and bent <= 1e-9 else Finding.failed(note)


@hypothesis(
    r"$\tau=h/L$ with $0<h\le1$", remedy="take a smaller step", name="a step of at most 1/L"
)
def step_at_most_one(subject: Dataset | Target, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"h = {step:g}", "a comparison of knobs")


@theorem(
    title="Proximal maps and proximal gradient methods",
    sources=("gribonval-slides", "moreau1965", "beck2009", "taylor2017b"),
    gist="Losses with kinks, such as the LASSO, are minimised almost as fast as smooth ones if each step applies the "
    "proximal map of the kinked part; ReLU and soft thresholding are such maps.",
    see_also=("first-order-family", "ista-lista", "explicit-regularisation"),
    same_for_all={
        "duality gap of the solution": "the solution of this problem is found to the last bit"
    },
    assumes=(proximal_map, step_at_most_one),
    on=sparse_signal,
    breaks_on=hard_threshold,
    presets={
        "textbook": {},
        "overdetermined": {"rows": 150, "unknowns": 20},
        "almost no penalty": {"penalty": 0.01, "steps": 1000},
        "broken on purpose": {"step": 2.5},
    },
)
def nonsmooth_proximal(
    subject: Dataset | Target,
    rng: np.random.Generator,
    *,
    penalty: Annotated[
        float, Knob(0.01, 1, "penalty λ in units of ‖Aᵀb‖∞", "λ", log=True, least=1e-6)
    ] = 0.1,
    step: Annotated[
        float, Knob(0.05, 1.0, "forward–backward step times L", "h", least=1e-6, most=4)
    ] = 1.0,
    steps: Annotated[
        int, Knob(10, 1000, "number of steps", "k", log=True, least=1, most=5000)
    ] = 200,
    points: Annotated[
        int, Knob(100, 10_000, "points at which maps are tried", "n", log=True)
    ] = 1000,
) -> Evidence:
    r"""$\mathrm{prox}_f+\mathrm{prox}_{f^*}=I$, and $\|p(x)-p(y)\|^2\le\langle p(x)-p(y),x-y\rangle$ for
    $p=\mathrm{prox}_f$. With sub-gradients bounded by $G$,
    $\min_{i<k}F_i-F^*\le\frac{R^2+G^2\sum\tau^2}{2\sum\tau}$. For $f$ $L$-smooth and $\tau=\frac1L$,
    $$F_k-F^*\le\frac{LR^2}{2k}\ \text{(forward–backward)},\qquad F_k-F^*\le\frac{2LR^2}{(k+1)^2}\ \text{(FISTA)}.$$
    ReLU and soft threshold are proximal maps."""
    examples = partial(_examples, deepcopy(rng), points, steps, subject)
    if isinstance(subject, Target):
        claim = _claim_firmness(subject.name, map_of(subject), *box_of(subject), rng, points)
        figure = _draw_maps(subject if subject.dimension == 1 else None)
        summary = f"{subject.name}: {claim.what} is {claim.left.hi:.3g}"
        return Evidence((claim,), (figure,), summary=summary, examples=examples)
    A = subject.x[:ROWS].reshape(min(len(subject), ROWS), -1)
    b = np.ravel(np.asarray(subject.y))[:ROWS]
    lasso = Lasso(A, b, penalty * float(np.abs(A.T @ b).max()))
    run = lasso.run(step, steps)
    absolute = AbsoluteDeviations(A, b).run(steps)
    numbers = {
        "F*": run.least,
        "duality gap": run.slack,
        "L": lasso.smoothness,
        "R": float(np.linalg.norm(lasso.solution)),
        "nonzeros": float(np.count_nonzero(lasso.solution)),
    }
    return Evidence(
        claims=(*_claim_rates(run), _claim_subgradient(absolute)),
        charts=(
            draw_excess("LASSO: value above the optimum", run.paths, run.bounds, run.least),
            draw_excess(
                "least absolute deviations: value above the optimum",
                absolute.paths,
                absolute.bounds,
                absolute.least,
            ),
            _draw_maps(None),
        ),
        numbers=numbers,
        summary="LASSO with {nonzeros:.0f} nonzeros, F* = {F*:.6g}, duality gap {duality gap:.2g}".format_map(
            numbers
        ),
        examples=examples,
    )


# -- claims about the subject -------------------------------------------------------------------------------


def _claim_rates(run: BoundedRuns) -> tuple[AtMost, ...]:
    """Forward–backward and FISTA on LASSO, and how exactly its minimum is known."""
    rates = tuple(
        AtMost(
            f"max over k of (F_k − F*) / ({name.split(': ')[1]}), {path.name}",
            run.ratio(i),
            Enclosure.exact(1),
        )
        for i, (path, name) in enumerate(zip(run.paths, run.bounds))
    )
    gap = Enclosure.equal(max(run.slack, 0.0) / run.size)
    return (*rates, AtMost("duality gap of the solution, relative", gap, Enclosure.equal(1e-9)))


def _claim_subgradient(run: BoundedRuns) -> AtMost:
    what = "max over k of (min F − F*) / ((R² + G²Στ²)/(2Στ)), sub-gradient"
    return AtMost(what, run.ratio(0), Enclosure.exact(1))


def _claim_firmness(
    name: str, p: prox.Map, lo: np.ndarray, hi: np.ndarray, rng: np.random.Generator, pairs: int
) -> AtMost:
    r"""$\|p(x)-p(y)\|^2\le\langle p(x)-p(y),x-y\rangle$ at random pairs; the worst pair is evaluated again as a
    witness where it fails."""
    x, y = prox.draw_pairs(lo, hi, rng, pairs)
    excess = np.asarray(prox.firmness_excess(p, x, y))
    worst = int(np.argmax(np.nan_to_num(excess, nan=np.inf)))
    zero = Enclosure.exact(0)
    witness = None
    if excess[worst] > 1e-9:
        again = enclose_number(
            lambda x, y: prox.firmness_excess(p, x[None], y[None])[0], x[worst], y[worst]
        )
        at = {"x": tuple(map(float, x[worst].ravel())), "y": tuple(map(float, y[worst].ravel()))}
        witness = Witness(
            at, again, zero, "the map at the two points, in intervals rounded outward"
        )
    what = f"largest ‖p(x) − p(y)‖² − ⟨p(x) − p(y), x − y⟩, {name}"
    return AtMost(
        what,
        Enclosure.measured(float(excess[worst]), samples=pairs),
        zero,
        witness=witness,
        atol=1e-9,
    )


# -- examples: the proximal maps of the text, and the worst functions ---------------------------------------


def _examples(
    rng: np.random.Generator, points: int, steps: int, subject: Dataset | Target
) -> Examples:
    claims: list[Claim] = [*_claim_moreau(rng, points), _claim_optimal(rng, points)]
    claims.append(soft_threshold_is_relu(Fraction(1)))
    claims += [_claim_firmness(pair.name, pair.prox, *CORNERS, rng, points) for pair in prox.PAIRS]
    claims += _claim_equalities(steps)
    if isinstance(subject, Dataset):
        claims.append(_claim_one_step(np.ravel(np.asarray(subject.y))[:ROWS]))
    numbers = {
        "forward–backward at worst": Enclosure.exact(slowest_proximal(3, 2, steps)[0]),
        "sub-gradient at worst, 36 steps": Enclosure.exact(slowest_subgradient(6)[0]),
        "S_½(2)": Enclosure.exact(max(Fraction(2) - Fraction(1, 2), Fraction(0))),
    }
    return Examples(tuple(claims), numbers=numbers)


def _claim_moreau(rng: np.random.Generator, points: int) -> list[Identity]:
    r"""$\mathrm{prox}_f(x)+\mathrm{prox}_{f^*}(x)=x$ at random points, for every pair."""
    x = rng.normal(size=(points, *SHAPE)) * 2
    claims = []
    for pair in prox.PAIRS:
        gap = largest(np.abs(np.asarray(jax.vmap(pair.prox)(x) + jax.vmap(pair.conjugate)(x)) - x))
        seen = Enclosure.measured(gap, samples=points)
        claims.append(
            Identity(f"prox_f + prox_f* − I, f = {pair.name}", seen, Enclosure.exact(0), atol=1e-12)
        )
    return claims


def _claim_optimal(rng: np.random.Generator, points: int) -> AtMost:
    r"""The largest gain met of a random $u$ over $p=\mathrm{prox}_f(x)$ in $f(u)+\frac12\|u-x\|^2$: none."""
    x = rng.normal(size=(points, *SHAPE)) * 2
    gains = []
    for pair in prox.PAIRS:
        p = np.asarray(jax.vmap(pair.prox)(x))
        near = p + rng.normal(size=p.shape) * rng.choice([1e-3, 1e-1, 1.0], size=(points, 1, 1))
        cost = lambda u, pair=pair: jax.vmap(pair.value)(u) + jnp.sum((u - x) ** 2, axis=(1, 2)) / 2
        gains.append(np.asarray(cost(p) - cost(near)))
    seen = Enclosure.measured(largest(*gains), samples=5 * points)
    return AtMost("largest gain over a proximal point", seen, Enclosure.exact(0), atol=1e-12)


def _claim_equalities(steps: int) -> tuple[Identity, Identity]:
    """Equality of forward–backward after `steps` steps, and of the sub-gradient method after 36, in rationals."""
    far, allowed = slowest_proximal(3, 2, steps)
    best, most = slowest_subgradient(6)
    forward = "(F_k − F*) − LR²/(4k), forward–backward on its worst function"
    sub = "(min F − F*) − GR/√n, sub-gradient on its worst function"
    zero = Enclosure.exact(0)
    return Identity(forward, Enclosure.exact(far - allowed), zero), Identity(
        sub, Enclosure.exact(best - most), zero
    )


def _claim_one_step(b: np.ndarray) -> Identity:
    r"""With $A=I$ one step of forward–backward from 0, $\tau=1$, is the solution $S_\lambda(b)$, and stays there."""
    weight = float(np.abs(b).max()) / 10
    problem = Lasso(np.eye(len(b)), b, weight)
    gradient = lambda theta: np.asarray(theta) - b
    path = walk(proximal(1.0, problem.prox), problem.value, gradient, np.zeros(len(b)), 3)
    closed = np.sign(b) * np.maximum(np.abs(b) - weight, 0)
    gap = float(np.abs(path.points[1:] - closed).max())
    return Identity(
        "one step with A = I − S_λ(b)", Enclosure.equal(gap), Enclosure.exact(0), atol=1e-14
    )


def _draw_maps(target: Target | None) -> Curves:
    """Proximal maps of one number, with the map handed in."""
    x = np.linspace(-3, 3, 241)
    series = [
        Series("identity", x, x, "reference"),
        Series("|x| (soft threshold)", x, np.asarray(prox.soft_threshold(x, 1.0))),
        Series("[−1, 1] (clip)", x, np.clip(x, -1, 1)),
        Series("x ≥ 0 (ReLU)", x, np.maximum(x, 0)),
        Series("½x²", x, x / 2),
    ]
    if target is not None:
        values = np.array([float(np.asarray(target.f(np.array(v)))) for v in x])
        series.append(Series(target.name, x, values, "bound"))
    return Curves("proximal maps of one number", Axis("x"), Axis("prox(x)"), tuple(series))
