"""The losses side by side: which bound the zero-one loss, which are convex, what each says of some predictions."""

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Exists, Identity, Series, SubjectError, Table
from ftheta.training.losses import LOSSES, sign
from ftheta.training.losses import classes as classes_of

from .softmax import MOST_CLASSES, variance_gap
from .surrogates import (
    LN2,
    MARGINS,
    PROFILES,
    MarginLoss,
    convexity,
    cross_entropy_error,
    every_loss,
    least_bend,
    logistic_error,
    second_difference,
    surrogate,
)

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)
TOP = 4.0  # of the figure
ROUNDING = Enclosure.exact(2.0**-48)


def surrogate_claims(loss: MarginLoss, reach: float) -> tuple[Claim, ...]:
    r"""$\varphi\ge1\{m\le0\}$ and convexity, on $[-M,M]$."""
    s, M = surrogate(loss, reach), f"{reach:g}"
    bound = (
        AtMost(f"largest slope of φ on [−{M}, 0]", s.slope, ZERO),
        AtMost("1 − φ(0)", -s.excess, ZERO),
        AtMost(f"0 ≤ least φ on [0, {M}]", ZERO, s.values),
    )
    if not (s.bend.lo >= 0 and s.jump.lo >= 0):
        return (*bound, convexity(loss.of, min(reach, 20.0)))
    least = AtMost(f"0 ≤ least φ″ on [−{M}, {M}]", ZERO, s.bend)
    return (*bound, least, AtMost("0 ≤ least jump of φ′ at a kink", ZERO, s.jump))


def stability_claims() -> tuple[Claim, ...]:
    """No overflow: against ball arithmetic at margins up to 1,000 and logits up to 10,000."""
    margins = np.linspace(-1000, 1000, 41)
    logits = np.array([[1e4, 0.0, -1e4], [-1e4, -1e4, 0.0], [1e3, 1e3, 1e3], [0.5, -0.25, 800.0]])
    return (
        AtMost(
            "error of ln(1 + e^−m), relative to max(1, ·), at m = −1000, −950, …, 1000",
            logistic_error(margins),
            ROUNDING,
        ),
        AtMost(
            "the same of the cross-entropy, at four rows of logits up to 10⁴", cross_entropy_error(logits), ROUNDING
        ),
    )


def zero_one_bends_down() -> Exists:
    r"""$\frac12(\ell(-1)+\ell(1))<\ell(0)$ for the zero-one loss of the margin: it is not convex."""
    ends, middle = ([float(sign(m, 1.0)) for m in at] for at in ((-1.0, 1.0), (0.0,)))
    found = {"m": 0.0, "h": 1.0}
    return Exists(
        "(ℓ(−1) + ℓ(1))/2 + ½ ≤ ℓ(0), zero-one", found, Enclosure.exact(sum(ends) / 2 + 0.5), Enclosure.exact(middle[0])
    )


def convexity_claims(reach: float) -> tuple[Claim, ...]:
    """All losses but zero-one and top-1: sums of convex functions of one coordinate, and the cross-entropy."""
    what = f"0 ≤ least curvature of {', '.join(PROFILES)} in a coordinate, on [−{reach:g}, {reach:g}]"
    apart = Enclosure.exact(sum(variance_gap(k) for k in range(1, MOST_CLASSES + 1)))
    return (
        AtMost(what, ZERO, least_bend(reach)),
        Identity(
            "coefficients by which S² vᵀ(∇² ln S)v, S = Σqᵢ, is not Σ qᵢqⱼ(vᵢ − vⱼ)², up to 6 classes", apart, ZERO
        ),
        zero_one_bends_down(),
    )


def convexity_table(rng: np.random.Generator) -> Table:
    """Second differences on random segments: a loss that is not convex shows itself."""
    rows = []
    for loss in LOSSES.values():
        least = second_difference(loss, (2,) if loss.targets is classes_of else (1,), rng)
        rows.append((loss.name, min(least, 0.0), "yes" if least >= 0 else "no"))
    return Table(
        "convex in the prediction, on 4,000 random segments", ("loss", "least second difference", "convex"), tuple(rows)
    )


def factor_two() -> Identity:
    """Back-propagation in seed 2 starts from y − y', the slope of ½(y − y')²; its loss is written without the ½."""
    slope = float(jax.grad(LOSSES["squared"].of)(jnp.array([1.0]), jnp.array([0.0]))[0])
    half = float(jax.grad(LOSSES["half-squared"].of)(jnp.array([1.0]), jnp.array([0.0]))[0])
    return Identity(
        "slope of (y − y')² where y − y' = 1, as printed y − y'", Enclosure.exact(slope), Enclosure.exact(half)
    )


def margin_chart(own: MarginLoss | None) -> Curves:
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


def reference_numbers(classes: int) -> dict[str, Enclosure | float]:
    logistic, entropy = LOSSES["logistic"].of, LOSSES["cross-entropy"].of
    return {
        "logistic at margin 0": float(logistic(0.0, 1.0)),
        "logistic at (2, 1)": float(logistic(2.0, 1.0)),
        "cross-entropy of equal logits": float(entropy(jnp.zeros(classes), jnp.eye(classes)[0])),
    }


# ---- somebody's predictions -----------------------------------------------------------------------------------------


def loss_table(predictions: np.ndarray, y: np.ndarray) -> tuple[Table, dict[str, float]]:
    """The mean of every loss that takes the targets, and its standard error."""
    found = every_loss(predictions, y)
    if not found:
        raise SubjectError("No loss takes these predictions and targets.", got=f"{predictions.shape}, {y.shape}")
    rows = [(name, float(v.mean()), float(v.std() / len(v) ** 0.5), float(v.max())) for name, v in found.items()]
    table = Table("every loss of these predictions", ("loss", "mean", "± standard error", "largest"), tuple(rows))
    return table, {f"{name} risk": mean for name, mean, *_ in rows}


def bounded_by_surrogates(risks: dict[str, float]) -> tuple[Claim, ...]:
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


def zoo_evidence(
    own: MarginLoss | None,
    rng: np.random.Generator,
    reach: float,
    classes: int,
    predicted: tuple[np.ndarray, np.ndarray] | None,
) -> Evidence:
    """The margin loss `own` (logistic if none), and every loss of `(predictions, targets)` where there are any."""
    loss = own or MARGINS["logistic"]
    claims = (*surrogate_claims(loss, reach), *convexity_claims(reach), *stability_claims())
    numbers, tables = reference_numbers(classes), (convexity_table(rng),)
    told = f"{loss.name}: φ(0) = {float(loss.of(0.0)):.8g}, φ(2) = {float(loss.of(2.0)):.8g} on margins up to {reach:g}"
    if predicted is not None:
        table, risks = loss_table(*predicted)
        claims, numbers, tables = (*claims, *bounded_by_surrogates(risks)), numbers | risks, (table, *tables)
        told = "; ".join(f"{name} {value:.5g}" for name, value in risks.items())
    charts = (margin_chart(own),)
    return Evidence(claims, charts, numbers, tables, (factor_two(),), told)
