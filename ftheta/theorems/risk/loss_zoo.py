"""Losses, and why minimising a smooth one makes few mistakes."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.curvature_sign import scalar_graph, value_at
from ftheta.logic import (
    Adapter,
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
    Series,
    SubjectError,
    Table,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.risks.outputs import asked_loss, outputs_of
from ftheta.risks.softmax import MOST_CLASSES, variance_gap
from ftheta.risks.surrogates import (
    LN2,
    MARGINS,
    PROFILES,
    MarginLoss,
    Scalar,
    above_one,
    accepted_losses,
    every_loss,
    least_bend,
    margin_loss,
    second_difference,
    surrogate,
)
from ftheta.subjects import Dataset, Network, Target
from ftheta.training.losses import LOSSES, sign

NAMES = tuple(MARGINS)
ZERO = Enclosure.exact(0)
TOP = 4.0  # of the figure


def margin_loss_named(
    rng: np.random.Generator,
    *,
    margin: Annotated[
        str, Knob(says="the loss of the margin", symbol="φ", choices=NAMES)
    ] = "logistic",
) -> Target:
    return Target(margin, MARGINS[margin].of, (-1000.0,), (1000.0,))


def natural_logistic(rng: np.random.Generator) -> Target:
    return margin_loss_named(rng, margin="natural logistic")


def predictions_of(net: Network) -> Dataset:
    """What a network says of its data, with the targets."""
    found = outputs_of(net)
    if found is None:
        raise SubjectError("There are no labels that fit the outputs.", where=net.name)
    return Dataset(net.name, found.predictions, found.y)


@hypothesis(
    "there are predictions with targets",
    remedy="give --data with labels that fit the outputs",
    name="labelled data",
)
def has_targets(net: Network) -> Finding:
    loss = asked_loss(net)
    return Finding.decide(
        loss is not None, f"the {loss} loss" if loss else "no targets", "counted", basis=Basis.EXACT
    )


def _predictions_and_targets(data: Dataset) -> tuple[np.ndarray, np.ndarray] | None:
    return None if data.y is None else (data.x.astype(float), data.y)


@hypothesis(
    "there is a loss to look at: a function of the margin, or predictions with targets",
    remedy="give a function of one number, or data with predictions x and targets y",
    name="a loss to look at",
)
def something_to_judge(subject: Target | Dataset) -> Finding:
    if isinstance(subject, Target):
        return Finding.decide(
            subject.dimension == 1,
            f"a function of {subject.dimension}",
            "counted",
            basis=Basis.EXACT,
        )
    rows = _predictions_and_targets(subject)
    if rows is None:
        return Finding.failed("no targets")
    fitting = accepted_losses(rows[1], rows[0].shape[1:])
    note = f"losses that take them: {', '.join(fitting) or 'none'}"
    return Finding.decide(bool(fitting), note, "shapes and labels compared", basis=Basis.EXACT)


@hypothesis(
    r"$\varphi(0)\ge1$",
    remedy="divide by φ(0): the logistic loss by ln 2, which counts it in bits",
    name="φ(0) ≥ 1",
)
def one_at_zero(subject: Target | Dataset) -> Finding:
    if not isinstance(subject, Target):
        return Finding.proved("the logistic loss in bits", "log₂(1 + e⁰) = 1")
    excess = above_one(subject.f) if subject.dimension == 1 else Enclosure()
    note = f"φ(0) − 1 = {excess.middle:.6g}"
    return (
        Finding.proved(note, "φ(0) in ball arithmetic", excess)
        if excess.lo >= 0
        else Finding.failed(note, excess)
    )


@theorem(
    title="Losses and surrogates",
    gist="Counting mistakes cannot be minimised by gradients; a convex surrogate that lies above it can, and a small "
    "surrogate loss guarantees few mistakes.",
    see_also=(
        "softmax-calculus",
        "bayes-predictors",
        "mle-interpretations",
        "linear-model-convex-erm",
    ),
    sources=("peyre-slides", "murari-slides", "scaman-slides", "bartlett2006"),
    assumes=(something_to_judge, one_at_zero),
    adapters=(Adapter(Network, predictions_of, has_targets),),
    on=margin_loss_named,
    breaks_on=natural_logistic,
    presets={
        "textbook": {},
        "hinge": {"margin": "hinge"},
        "exponential": {"margin": "exponential", "reach": 600.0},
        "at the edge": {"reach": 1e-3, "classes": 1},
        "broken on purpose": {"margin": "natural logistic"},
    },
    errata=r"""Peyré's slides write the squared loss without ½, Murari's use ½ in back-propagation and none in the
    definition: the gradients differ by a factor 2. Scaman's slides say that the training loss may
    differ from the target loss; the inequality $1\{m\le0\}\le\varphi(m)$ says what one tells of the
    other.""",
)
def loss_zoo(
    subject: Target | Dataset,
    rng: np.random.Generator,
    *,
    reach: Annotated[
        float, Knob(1, 1000, "margins up to", "M", log=True, least=1e-6, most=1e6)
    ] = 1000.0,
    classes: Annotated[
        int, Knob(1, 1000, "classes with equal logits", "K", log=True, most=10**6)
    ] = 10,
) -> Evidence:
    r"""Squared $\|y-y'\|_2^2$, absolute $\|y-y'\|_1$, zero-one $1\{y\ne y'\}$, top-1 $1\{\arg\max y\ne\arg\max y'\}$,
    logistic $\log(1+e^{-yy'})$ with $y'=\pm1$, cross-entropy $-\sum_ky'_k\log\mathrm{softmax}(y)_k$. All but zero-one
    and top-1 are convex in $y$. A loss $\varphi(m)\ge0$ of the margin $m=yy'$ that falls on $m\le0$ and has
    $\varphi(0)\ge1$ bounds the zero-one loss, $$1\{m\le0\}\le\varphi(m),\qquad\text{for example}\quad
    1\{m\le0\}\le\frac{\log(1+e^{-m})}{\ln2}.$$ The range looked at is $|m|\le M$."""
    examples = partial(_examples, rng.spawn(1)[0], reach, classes)
    if isinstance(subject, Target):
        loss = margin_loss(subject.f, subject.name)
        at = f"φ(0) = {float(loss.of(0.0)):.8g}, φ(2) = {float(loss.of(2.0)):.8g}"
        return Evidence(
            _surrogate_claims(loss, reach),
            (_margin_chart(loss),),
            as_printed=(_factor_two(),),
            summary=f"{loss.name}: {at} on margins up to {reach:g}",
            examples=examples,
        )
    predicted = _predictions_and_targets(subject)
    if predicted is None:
        return Evidence(())
    table, risks = _loss_table(*predicted)
    return Evidence(
        (*_bounded_by_surrogates(risks), *_convexity_between(*predicted)),
        (_margin_chart(None),),
        risks,
        (table,),
        (_factor_two(),),
        "; ".join(f"{name} {value:.5g}" for name, value in risks.items()),
        examples,
    )


def _examples(rng: np.random.Generator, reach: float, classes: int) -> Examples:
    """Which losses of the table are convex: true of the losses, whatever they are applied to."""
    table = _convexity_table(rng)
    return Examples(_convexity_claims(reach), tables=(table,), numbers=_reference_numbers(classes))


# ---- a loss of the margin -------------------------------------------------------------------------------------------


def _surrogate_claims(loss: MarginLoss, reach: float) -> tuple[Claim, ...]:
    r"""$\varphi\ge1\{m\le0\}$ and convexity, on $[-M,M]$."""
    s = surrogate(loss, reach)
    M = f"{reach:g}"
    bound = (
        AtMost(f"largest slope of φ on [−{M}, 0]", s.slope, ZERO),
        AtMost("1 − φ(0)", -s.excess, ZERO),
        AtMost(f"0 ≤ least φ on [0, {M}]", ZERO, s.values),
    )
    if not (s.bend.lo >= 0 and s.jump.lo >= 0):
        return (*bound, convexity_claim(loss.of, min(reach, 20.0)))
    least = AtMost(f"0 ≤ least φ″ on [−{M}, {M}]", ZERO, s.bend)
    return (*bound, least, AtMost("0 ≤ least jump of φ′ at a kink", ZERO, s.jump))


def convexity_claim(f: Scalar, reach: float, points: int = 4001) -> AtMost:
    """No second difference on a grid is negative: convexity as far as it can be seen, with a witness where it fails."""
    m = np.linspace(-reach, reach, points)
    with jax.enable_x64(True):
        v = np.asarray(jax.vmap(f)(m))
    difference = v[2:] - 2 * v[1:-1] + v[:-2]
    rounding = 8 * np.finfo(float).eps * np.abs(v).max()
    least = Enclosure.measured(float(difference.min() + rounding), samples=points)
    witness = None
    if least.lo < 0:
        graph = scalar_graph(f)
        at = m[int(difference.argmin()) :][:3]
        a, b, c = (value_at(graph, float(x)) for x in at)
        witness = Witness(
            {"m": float(at[1])}, ZERO, a + c - b * 2.0, f"balls at m ± {at[1] - at[0]:.3g}"
        )
    return AtMost("0 ≤ φ(m − h) − 2φ(m) + φ(m + h)", ZERO, least, witness=witness)


def _zero_one_bends_down() -> Exists:
    r"""$\frac12(\ell(-1)+\ell(1))<\ell(0)$ for the zero-one loss of the margin: it is not convex."""
    ends, middle = ([float(sign(m, 1.0)) for m in at] for at in ((-1.0, 1.0), (0.0,)))
    found = {"m": 0.0, "h": 1.0}
    return Exists(
        "(ℓ(−1) + ℓ(1))/2 + ½ ≤ ℓ(0), zero-one",
        found,
        Enclosure.exact(sum(ends) / 2 + 0.5),
        Enclosure.exact(middle[0]),
    )


def _convexity_claims(reach: float) -> tuple[Claim, ...]:
    """All losses but zero-one and top-1: sums of convex functions of one coordinate, and the cross-entropy."""
    what = (
        f"0 ≤ least curvature of {', '.join(PROFILES)} in a coordinate, on [−{reach:g}, {reach:g}]"
    )
    apart = Enclosure.exact(sum(variance_gap(k) for k in range(1, MOST_CLASSES + 1)))
    return (
        AtMost(what, ZERO, least_bend(reach)),
        Identity(
            "coefficients by which S² vᵀ(∇² ln S)v, S = Σqᵢ, is not Σ qᵢqⱼ(vᵢ − vⱼ)², up to 6 classes",
            apart,
            ZERO,
        ),
        _zero_one_bends_down(),
    )


def _convexity_table(rng: np.random.Generator) -> Table:
    """Second differences on random segments: a loss that is not convex shows itself."""
    rows = []
    for loss in LOSSES.values():
        least = second_difference(
            loss, (2,) if loss.targets is LOSSES["cross-entropy"].targets else (1,), rng
        )
        rows.append((loss.name, min(least, 0.0), "yes" if least >= 0 else "no"))
    return Table(
        "convex in the prediction, on 4,000 random segments",
        ("loss", "least second difference", "convex"),
        tuple(rows),
    )


def _factor_two() -> Identity:
    """Back-propagation in Murari's slides starts from y − y', the slope of ½(y − y')²; their loss has no ½."""
    slope = float(jax.grad(LOSSES["squared"].of)(jnp.array([1.0]), jnp.array([0.0]))[0])
    half = float(jax.grad(LOSSES["half-squared"].of)(jnp.array([1.0]), jnp.array([0.0]))[0])
    return Identity(
        "slope of (y − y')² where y − y' = 1, as printed y − y'",
        Enclosure.exact(slope),
        Enclosure.exact(half),
    )


def _margin_chart(own: MarginLoss | None) -> Curves:
    """All margin losses on one axis, cut at `TOP`."""
    m = np.linspace(-2.5, 3, 441)
    shown = [loss for loss in MARGINS.values() if loss.name != "natural logistic"]
    others = [own] if own is not None and own not in shown else []
    series = [Series("zero-one", m, (m <= 0).astype(float), "reference", "step")]
    for loss in (*shown, *others):
        v = np.asarray(jax.vmap(loss.of)(m), float)
        role = "bound" if own is loss else "measured"
        name = "logistic / ln 2" if loss.name == "logistic" else loss.name
        shown = v <= TOP
        series.append(Series(name, m[shown], v[shown], role))
    return Curves("losses of the margin", Axis("margin m = y ŷ"), Axis("φ(m)"), tuple(series))


def _reference_numbers(classes: int) -> dict[str, Enclosure | float]:
    logistic = LOSSES["logistic"].of
    entropy = LOSSES["cross-entropy"].of
    return {
        "logistic at margin 0": float(logistic(0.0, 1.0)),
        "logistic at (2, 1)": float(logistic(2.0, 1.0)),
        "cross-entropy of equal logits": float(entropy(jnp.zeros(classes), jnp.eye(classes)[0])),
    }


# ---- predictions of data or a network ------------------------------------------------------------------------------


def _loss_table(predictions: np.ndarray, y: np.ndarray) -> tuple[Table, dict[str, float]]:
    """The mean of every loss that takes the targets, and its standard error."""
    found = every_loss(predictions, y)
    if not found:
        raise SubjectError(
            "No loss takes these predictions and targets.", got=f"{predictions.shape}, {y.shape}"
        )
    rows = [
        (name, float(v.mean()), float(v.std() / len(v) ** 0.5), float(v.max()))
        for name, v in found.items()
    ]
    table = Table(
        "every loss of these predictions",
        ("loss", "mean", "± standard error", "largest"),
        tuple(rows),
    )
    return table, {f"{name} risk": mean for name, mean, *_ in rows}


def _bounded_by_surrogates(risks: dict[str, float]) -> tuple[Claim, ...]:
    """Zero-one risks below the risks of their surrogates, on the same rows."""
    pairs = (
        ("sign", "logistic", LN2, "logistic / ln 2"),
        ("sign", "hinge", 1.0, "hinge"),
        ("top-1", "cross-entropy", LN2, "cross-entropy / ln 2"),
    )
    return tuple(
        AtMost(
            f"{low} risk ≤ {name} risk",
            Enclosure.equal(risks[f"{low} risk"]),
            Enclosure.equal(risks[f"{high} risk"] / c),
        )
        for low, high, c, name in pairs
        if f"{low} risk" in risks and f"{high} risk" in risks
    )


def _convexity_between(predictions: np.ndarray, y: np.ndarray) -> tuple[Claim, ...]:
    """A convex loss has a convex risk: halfway to the mean prediction it is at most the average of both ends."""
    mean = np.broadcast_to(predictions.mean(0), predictions.shape)
    ends = every_loss(predictions, y), every_loss(mean, y)
    middle = every_loss((predictions + mean) / 2, y)
    claims = []
    for name, losses in middle.items():
        if LOSSES[name].flat:
            continue
        average = float(ends[0][name].mean() + ends[1][name].mean()) / 2
        what = f"{name} risk halfway to the mean prediction ≤ average of both risks"
        claims.append(
            AtMost(
                what,
                Enclosure.equal(float(losses.mean())),
                Enclosure.equal(average),
                atol=1e-12 * (1 + average),
            )
        )
    return tuple(claims)
