"""Normalisation: slopes orthogonal to the weights, and weights that grow."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate, largest
from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import (
    AtMost,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Rate,
    SubjectError,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.logic.claim import RTOL
from ftheta.subjects import Network, Training
from ftheta.subjects.problems import loss_of
from ftheta.training.descent import Path, descend
from ftheta.training.methods import steepest
from ftheta.training.study import affordable

from .charts import draw_batch_effect, draw_growth, tabulate_blocks
from .normalisation import (
    SCALES,
    change_under_scaling,
    invariant_blocks,
    normalised_loss,
    restrict,
    tree_risk,
)
from .units_and_batches import (
    Unit,
    average_batch_variance,
    centre,
    measure_batch_effect,
    square,
    study_unit,
)

ZERO = Enclosure.exact(0)
FACTOR = 2.0  # the second run starts from this multiple of the weights
DRAWS = 400  # batches of each size
KINDS = ("batch", "layer", "weight", "none")


def make_training(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="what is normalised", choices=KINDS)] = "batch",
    epsilon: Annotated[float, Knob(0, 0.1, "added to the variance", "ε", most=100)] = 0.0,
) -> Training:
    return Training(
        f"{kind} normalisation, ε = {epsilon:g}", *normalised_loss(kind, rng, epsilon=epsilon)
    )


def make_plain_training(rng: np.random.Generator) -> Training:
    return Training("no normalisation", *normalised_loss("none", rng))


@hypothesis(
    r"$L(cw)=L(w)$ for $c>0$",
    remedy="normalise by layer or weight, or by the batch while training; for an ε in the layers raise --tolerance",
    name="scale-invariant weights",
)
def scale_invariant(subject: Training | Network, *, tolerance: float) -> Finding:
    told = f"at c = {', '.join(f'{c:g}' for c in SCALES)}"
    if isinstance(subject, Training):
        if not subject.start.any():
            return Finding.failed("the weights are 0, which has no direction")
        change = change_under_scaling(jax.jit(subject.objective), subject.start)
        note = f"changes by {change:.3g}, relative, {told}"
        number = Enclosure.measured(change, samples=len(SCALES))
        return Finding.sampled(note, number) if change <= tolerance else Finding.failed(note)
    try:
        kept, rest = invariant_blocks(tree_risk(loss_of(subject).risk), subject.params, tolerance)
    except SubjectError as error:
        return Finding.failed(error.what)
    least = min((b.change for b in rest), default=float("inf"))
    note = f"{len(kept)} of {len(kept) + len(rest)} blocks of parameters, {told}"
    return (
        Finding.sampled(note)
        if kept
        else Finding.failed(f"{note}; the least change is {least:.3g}")
    )


@theorem(
    title="Normalisation layers make weights grow",
    gist="A normalised layer ignores the size of its weights, so gradient descent can only enlarge them, and the step "
    "that their direction feels shrinks by itself: normalisation is also a schedule of the step size.",
    see_also=(
        "signal-propagation-init",
        "relu-symmetries-conservation",
        "gd-step-regimes",
        "transformer-block",
    ),
    sources=(
        "murari-slides",
        "peyre-notes",
        "ioffe2015",
        "salimans2016",
        "ba2016",
        "vanlaarhoven2017",
    ),
    assumes=(scale_invariant,),
    on=make_training,
    breaks_on=make_plain_training,
    presets={
        "textbook": {},
        "layer": {"kind": "layer"},
        "weight": {"kind": "weight"},
        "at the edge": {"step": 5.0},
        "broken on purpose": {"epsilon": 0.1},
    },
    errata="Peyré's notes normalise tokens by their norm; layer normalisation divides by the standard deviation.",
)
def normalisation_layers(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[
        float,
        Knob(0.01, 5, "step that the direction feels at first", "τ/‖w₀‖²", log=True, most=100),
    ] = 0.3,
    steps: Annotated[
        int, Knob(10, 500, "steps of gradient descent", "K", log=True, least=2, most=5000)
    ] = 100,
    tolerance: Annotated[
        float, Knob(1e-9, 1e-2, "what counts as no change", log=True, least=1e-12, most=0.1)
    ] = 1e-9,
) -> Evidence:
    r"""Batch, layer and weight normalisation make the loss forget the size of the weights before: $L(cw)=L(w)$. Then
    $$\langle\nabla L(w),w\rangle=0,\qquad\nabla L(cw)=\tfrac1c\nabla L(w),\qquad
    \|w_{k+1}\|^2=\|w_k\|^2+\tau^2\|\nabla L(w_k)\|^2$$ under gradient descent: weights grow, and the direction
    feels the step $\tau/\|w\|^2$. In training batch normalisation sees $m$ rows; its output is off by $O(m^{-1/2})$."""
    if isinstance(subject, Training):
        return _descend(subject.objective, subject.start, rng, step, steps, tolerance)
    loss = loss_of(subject)
    risk = tree_risk(loss.risk)
    kept, rest = invariant_blocks(risk, subject.params, tolerance)
    objective, w = restrict(risk, subject.params, kept or rest)
    few = affordable(subject.parameters, loss.rows, steps)
    return _descend(objective, w, rng, step, few, tolerance, (tabulate_blocks(kept, rest),))


def _descend(
    objective: Callable[[Any], Any],
    w: np.ndarray,
    rng: np.random.Generator,
    step: float,
    steps: int,
    tolerance: float,
    tables: tuple[Table, ...] = (),
) -> Evidence:
    """A loss that ignores the size of `w`; `step` is the one that the direction feels at the start."""
    tau = step * float(w @ w)
    slopes, seen = _claim_slopes(objective, w, tolerance)
    path = descend(steepest(tau), objective, w, steps)
    longer = descend(steepest(FACTOR**2 * tau), objective, FACTOR * w, steps)
    grown = float((path.points[-1] ** 2).sum() / (path.points[0] ** 2).sum())
    told = f"cosine of slope and weights {seen['cosine of slope and weights']:.2g}; in {steps} steps ‖w‖² grew by a "
    told += f"factor {grown:.4g}, the loss went from {path.values[0]:.4g} to {path.values[-1]:.4g}"
    seed = rng.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
    return Evidence(
        claims=(
            *slopes,
            *_claim_growth(path, longer, tau, seen["change under scaling"], tolerance),
        ),
        charts=draw_growth(objective, w, tau, steps, path),
        numbers=seen | {"growth of ‖w‖²": grown},
        tables=tables,
        as_printed=(_claim_as_printed(),),
        summary=told,
        examples=partial(_examples, seed),
    )


# ---- claims about the loss ------------------------------------------------------------------------------------------


def _claim_slopes(
    objective: Callable[[Any], Any], w: np.ndarray, tolerance: float
) -> tuple[list[Claim], dict[str, float]]:
    """Invariance, a slope orthogonal to the weights, and slopes that shrink as the weights grow."""
    value = jax.value_and_grad(objective)
    here, slope = (np.asarray(v) for v in call_compiled(value, w))
    size = max(float(np.linalg.norm(slope)), 1e-300)
    at = [tuple(np.asarray(v) for v in call_compiled(value, c * w)) for c in SCALES]
    change = largest([abs(float(v - here)) for v, _ in at]) / max(abs(float(here)), 1e-300)
    off = largest([float(np.linalg.norm(c * g - slope)) for c, (_, g) in zip(SCALES, at)]) / size
    cosine = abs(float(slope @ w)) / (size * float(np.linalg.norm(w)))
    scales = f"c = {', '.join(f'{c:g}' for c in SCALES)}"
    witness = None
    if change > tolerance:
        worst = SCALES[int(np.argmax([abs(float(v - here)) for v, _ in at]))]
        witness = _rescale_in_intervals(objective, w, worst)
    enclose = partial(_enclose, change=change, tolerance=tolerance)
    changes = f"largest |L(cw) − L(w)|/|L(w)|, {scales}"
    slopes = f"largest ‖c∇L(cw) − ∇L(w)‖/‖∇L(w)‖, {scales}"
    claims: list[Claim] = [
        Identity(changes, enclose(change), ZERO, witness, atol=tolerance),
        Identity("|⟨∇L, w⟩| / ‖∇L‖‖w‖", enclose(cosine), ZERO, atol=tolerance),
        Identity(slopes, enclose(off), ZERO, atol=tolerance),
    ]
    return claims, {"cosine of slope and weights": cosine, "change under scaling": change}


def _rescale_in_intervals(objective: Callable[[Any], Any], w: np.ndarray, c: float) -> Witness:
    """The change of the loss under one factor, in intervals."""
    change = enclose_number(
        lambda w, c: jnp.abs(objective(c * w) - objective(w)) / jnp.abs(objective(w)), w, c
    )
    return Witness(
        {"c": float(c)}, change, ZERO, "the loss at w and at cw, in intervals rounded outward"
    )


def _enclose(value: float, change: float, tolerance: float) -> Enclosure:
    """A number of a loss that is invariant up to rounding; where only within the tolerance, one that was seen."""
    close = RTOL < change <= tolerance
    return Enclosure.measured(value, samples=len(SCALES)) if close else Enclosure.equal(value)


def _claim_growth(
    path: Path, longer: Path, tau: float, change: float, tolerance: float
) -> list[Claim]:
    """The squared length of the weights along descent, and a run from larger weights with a larger step."""
    squares = (path.points**2).sum(1)
    steps = len(path) - 1
    gap = np.abs(np.diff(squares) - tau**2 * path.slopes[:-1]).max() / squares.max()
    summed = squares[0] + tau**2 * float(path.slopes[:-1].sum())
    apart = np.abs(longer.points - FACTOR * path.points).max() / np.abs(path.points).max()
    enclose = partial(_enclose, change=change, tolerance=tolerance)
    loose = max(tolerance * steps, 1e-7)
    return [
        Identity(
            f"largest |‖w_k+1‖² − ‖w_k‖² − τ²‖∇L‖²|/‖w‖², {steps} steps",
            enclose(float(gap)),
            ZERO,
            atol=tolerance,
        ),
        Identity(
            f"‖w_{steps}‖², and ‖w₀‖² + τ²Σ‖∇L‖²",
            enclose(float(squares[-1])),
            enclose(float(summed)),
            rtol=loose,
        ),
        AtMost(
            "‖w₀‖² ≤ least ‖w_k‖²",
            enclose(float(squares[0])),
            enclose(float(squares.min())),
            rtol=loose,
        ),
        Identity(
            "gradient descent from 2w with step 4τ, less twice that from w",
            enclose(float(apart)),
            ZERO,
            atol=loose,
        ),
    ]


# ---- worked examples ------------------------------------------------------------------------------------------------

FOUR = [Fraction(k) for k in range(1, 5)]
THREE = (Fraction(0), Fraction(1), Fraction(3))


def _example_numbers() -> dict[str, Enclosure | float]:
    centred = centre(FOUR)
    variance = square(centred) / 4
    return {
        "‖w₁‖² of one unit": Enclosure.exact(study_unit().moved),
        "‖LN(1, 2, 3, 4)‖²": Enclosure.exact(square(centred) / variance),
        "LN(1, 2, 3, 4)₁": float(centred[0]) / float(variance) ** 0.5,
        "variance of pairs": Enclosure.exact(average_batch_variance(THREE, 2)[0]),
    }


def _claim_as_printed() -> Claim:
    """Peyré's notes divide the centred token by its norm, so that its squared norm is 1 and not the dimension."""
    centred = centre(FOUR)
    by_norm = Enclosure.exact(square(centred) / square(centred))
    return Identity(
        "Peyré's notes divide by the norm: ‖LN(1, 2, 3, 4)‖² and d = 4", by_norm, Enclosure.exact(4)
    )


def _examples(seed: np.random.SeedSequence) -> Examples:
    """A unit with two weights and the variance of small batches in fractions; batches of normal rows."""
    unit: Unit = study_unit()
    biased, variance = average_batch_variance(THREE, 2)
    zero = {
        "one unit, w = (2, 1): ⟨∇L, w⟩": unit.angle,
        "its |L(3w) − L(w)| + largest |3∇L(3w) − ∇L(w)|": unit.off,
        "its ‖w₁‖² − ‖w₀‖² − ‖∇L‖², τ = 1": unit.moved - unit.length - unit.slope,
        "variance of all pairs from {0, 1, 3}, less half of the variance": biased - variance / 2,
    }
    sizes = np.array([4, 8, 16, 32, 64, 128, 256, 512])
    apart = measure_batch_effect(sizes, np.random.default_rng(seed), DRAWS)
    what = "root mean square of training − evaluation"
    rate = Rate(
        what, 0.5, fit_rate(sizes, apart), tuple(map(float, sizes)), tuple(apart), sharp=True
    )
    exact = [Identity(what, Enclosure.exact(off), ZERO) for what, off in zero.items()]
    return Examples((*exact, rate), (draw_batch_effect(sizes, apart),), numbers=_example_numbers())
