"""How good a regression is: residuals, intervals for new rows, and simple models on the same rows."""

from dataclasses import dataclass

import numpy as np

from ftheta.estimates import binomial_interval, mean
from ftheta.estimates.paired import sign_flip_test
from ftheta.estimates.residuals import conformal_radius, dependence_test, median_interval, sign_test
from ftheta.logic import (
    AuditFinding,
    Axis,
    Bars,
    Curves,
    Enclosure,
    Fact,
    Points,
    Series,
    SubjectError,
    Table,
)
from ftheta.risks.baselines import Fitted, nearest_targets, regress_linearly
from ftheta.subjects import Network

from ..judging import judge, percent
from ..part import Part
from .evaluation import Evaluation, evaluate_data, flatten, refuse_infinite
from .inputs import describe_misfit, name_other_kind
from .pictures import draw_rows

CONFIDENCE = 0.95
LEVEL = 0.01  # of the tests of residuals
COVERAGE = 0.9  # of the intervals for new rows
LEAST = 20  # rows
TESTED = 2000  # rows that are permuted
DRAWN = 1000  # points of a scatter
SHOWN = 8
GROUPS = (
    "among the lowest predictions",
    "among middle predictions",
    "among the highest predictions",
)
ASSUMED = "if the rows are independent and no training or selection saw them"


@dataclass(frozen=True, eq=False)
class Residuals:
    """What is left of the labels: one number per row, signed where the network has one output, else a distance.

    `predictions` are the outputs, or their norms.
    """

    found: Evaluation
    labels: np.ndarray
    is_single: bool

    @property
    def gaps(self) -> np.ndarray:
        return self.labels - self.found.outputs

    @property
    def errors(self) -> np.ndarray:
        """The distance of each row's output from its label."""
        return np.linalg.norm(self.gaps, axis=1)

    @property
    def predictions(self) -> np.ndarray:
        return (
            self.found.outputs[:, 0]
            if self.is_single
            else np.linalg.norm(self.found.outputs, axis=1)
        )


def evaluate_regression(net: Network, rng: np.random.Generator) -> Residuals:
    """The residuals of a network whose labels are numbers like its outputs."""
    found = evaluate_data(net, rng)
    if found.labels is None:
        raise SubjectError(
            "This needs data with labels.", got="no labels", remedy="add --data with x and y"
        )
    if found.classes is not None:
        raise name_other_kind()
    if found.labels.shape != found.outputs.shape:
        remedy = "give one class per row, or one number per output"
        got = describe_misfit(net, found.labels)
        raise SubjectError("The labels are neither classes nor outputs.", got=got, remedy=remedy)
    refuse_infinite(found)
    return Residuals(found, found.labels.astype(np.float64), found.labels.shape[1] == 1)


def refuse_reconstruction(given: Residuals) -> None:
    """Raise where the labels are the inputs: an autoencoder is judged beside the best linear one."""
    x = flatten(given.found.x)
    if x.shape == given.labels.shape and np.array_equal(x, given.labels):
        raise name_other_kind()


def judge_regression(net: Network, rng: np.random.Generator) -> Part:
    """The error of a regression with intervals, beside the spread of the labels."""
    given = evaluate_regression(net, rng)
    told = given.found.told
    errors = given.errors
    squares = errors**2
    spread = float(((given.labels - given.labels.mean(0)) ** 2).sum(1).mean())
    mse = float(squares.mean())
    explained = 1 - mse / spread if spread > 0 else 0.0
    facts = [
        Fact(
            "R² on the data",
            given.found.know(explained),
            f"{told}; share of the labels' variance",
            "r_squared",
        ),
        Fact("mean squared error on the data", given.found.know(mse), told, "squared_error"),
        Fact("root mean squared error", given.found.know(mse**0.5), told, "rmse"),
        Fact("mean absolute error", given.found.know(float(errors.mean())), told, "absolute_error"),
        Fact(
            "median absolute error, exact interval",
            median_interval(errors, CONFIDENCE),
            ASSUMED,
            "median_error",
        ),
        Fact("squared error of the best constant", given.found.know(spread), told),
    ]
    if len(errors) > 1:
        facts.insert(2, Fact("expected squared error", mean(squares, CONFIDENCE), ASSUMED))
    return Part(
        tuple(facts), _worst_rows(given), (*_fit_picture(given), *_worst_pictures(net, given))
    )


def _worst_rows(given: Residuals) -> tuple[Table, ...]:
    worst = np.argsort(-given.errors, kind="stable")[:SHOWN]
    if not given.is_single:
        rows = [(int(given.found.rows[i]), float(given.errors[i])) for i in worst]
        return (Table("largest errors", ("row", "distance from the label"), tuple(rows)),)
    rows = [
        (
            int(given.found.rows[i]),
            float(given.labels[i, 0]),
            float(given.predictions[i]),
            float(given.gaps[i, 0]),
        )
        for i in worst
    ]
    return (
        Table("largest errors", ("row", "label", "prediction", "label − prediction"), tuple(rows)),
    )


def _fit_picture(given: Residuals) -> tuple[Curves, ...]:
    """Labels against predictions, with the line on which both are equal."""
    if not given.is_single:
        return ()
    few = slice(None, None, max(1, len(given.labels) // DRAWN))
    x = given.predictions[few]
    ends = [float(min(x.min(), given.labels.min())), float(max(x.max(), given.labels.max()))]
    rows = Series("rows", x, given.labels[few, 0], mark="points")
    equal = Series("prediction = label", ends, ends, "reference")
    return (Curves("labels against predictions", Axis("prediction"), Axis("label"), (rows, equal)),)


def _worst_pictures(net: Network, given: Residuals) -> tuple:
    worst = np.argsort(-given.errors, kind="stable")[:SHOWN]
    x = given.found.x[worst]
    return (
        draw_rows(f"the {len(worst)} rows with the largest errors", net.input_shape, (x,))
        if len(worst)
        else ()
    )


def residuals(net: Network, rng: np.random.Generator) -> Part:
    """Whether residuals are centred, depend on the prediction, or spread unevenly; an interval for new rows."""
    given = evaluate_regression(net, rng)
    refuse_reconstruction(given)
    n = len(given.errors)
    if n < LEAST:
        raise SubjectError(
            f"This needs at least {LEAST} labelled rows.", got=f"{n}", remedy="give more rows"
        )
    facts: list[Fact] = []
    findings: tuple[AuditFinding, ...] = ()
    for told, said in (
        _bias(given),
        _trend(given, rng),
        _spread(given, rng),
        _coverage(given, rng),
    ):
        facts += told
        findings += said
    return Part(tuple(facts), charts=_residual_picture(given), findings=findings)


def _bias(given: Residuals) -> tuple[list[Fact], tuple[AuditFinding, ...]]:
    """Whether predictions are too low as often as too high."""
    if not given.is_single:
        return [], ()
    gaps = given.gaps[:, 0]
    n = len(gaps)
    p = sign_test(gaps)
    low = int((gaps > 0).sum())
    middle = median_interval(gaps, CONFIDENCE)
    facts = [
        Fact("median residual, exact interval", middle, ASSUMED, "median_residual"),
        Fact(
            "p-value, as often too low as too high",
            Enclosure.measured(p, samples=n),
            "exact sign test",
        ),
    ]
    share = max(low, n - low) / n
    word = "low" if low > n - low else "high"
    says = f"Predictions are too {word} in {percent(share, 0)} of the rows (median residual {np.median(gaps):.3g})."
    means = "A network trained on squared error aims at the mean: skewed noise shows itself in the same way."
    off = share - 0.5 if p < LEVEL else 0.0
    basis = f"measured, {n:,} rows, exact sign test, p = {p:.2g}"
    return facts, judge(
        "biased", Enclosure.measured(share, samples=n), says, basis, judged_by=off, means=means
    )


def _trend(
    given: Residuals, rng: np.random.Generator
) -> tuple[list[Fact], tuple[AuditFinding, ...]]:
    """Whether residuals depend on the prediction: then part of them could be predicted."""
    if not given.is_single:
        return [], ()
    few = rng.permutation(len(given.errors))[:TESTED]
    test = dependence_test(given.gaps[few, 0], given.predictions[few, None], rng)
    n = len(few)
    value = Enclosure.measured(test.correlation, samples=n)
    told = f"Spearman, {n:,} rows; p = {test.p:.2g} by {test.permutations} permutations"
    word, verb = ("too timid", "grow") if test.correlation > 0 else ("exaggerated", "fall")
    says = f"Predictions are {word}: residuals {verb} with the prediction (rank correlation {test.correlation:.2f})."
    size = abs(test.correlation) if test.p < LEVEL else 0.0
    basis = f"measured, {n:,} rows, permutation test, p = {test.p:.2g}"
    return [Fact("rank correlation of residual and prediction", value, told)], judge(
        "residual-trend", value, says, basis, judged_by=size
    )


def _spread(
    given: Residuals, rng: np.random.Generator
) -> tuple[list[Fact], tuple[AuditFinding, ...]]:
    """Whether the size of the errors depends on the prediction (heteroscedasticity)."""
    few = rng.permutation(len(given.errors))[:TESTED]
    at = given.predictions[few]
    covariates = np.column_stack([at, np.abs(at - np.median(at))])
    test = dependence_test(given.errors[few], covariates, rng)
    groups = np.array_split(given.errors[few][np.argsort(at, kind="stable")], len(GROUPS))
    typical = [float(np.median(group)) for group in groups]
    ratio = max(typical) / max(min(typical), 1e-300)
    n = len(few)
    told = f"{n:,} rows; p = {test.p:.2g} by {test.permutations} permutations, of |error| against prediction"
    value = Enclosure.measured(ratio, samples=n)
    facts = [
        Fact(
            "p-value of errors of one size everywhere",
            Enclosure.measured(test.p, samples=n),
            told,
            "hetero_p",
        ),
        Fact(
            "largest ÷ smallest median error of three groups of predictions",
            value,
            told,
            "hetero_ratio",
        ),
    ]
    where = GROUPS[int(np.argmax(typical))]
    says = f"Errors are uneven (heteroscedastic): {ratio:.2g} times as large {where}."
    basis = f"measured, {n:,} rows, permutation test, p = {test.p:.2g}"
    beyond = ratio if test.p < LEVEL else 0.0
    return facts, judge("heteroscedastic", value, says, basis, judged_by=beyond)


def _coverage(
    given: Residuals, rng: np.random.Generator
) -> tuple[list[Fact], tuple[AuditFinding, ...]]:
    """A split-conformal interval from one half of the rows, and how often it covers the other half."""
    order = rng.permutation(len(given.errors))
    half, other = np.array_split(order, 2)
    radius = conformal_radius(given.errors[half], COVERAGE)
    if not np.isfinite(radius):
        return [], ()
    inside = given.errors[other] <= radius
    share = binomial_interval(int(inside.sum()), len(other), CONFIDENCE)
    groups = np.array_split(np.argsort(given.predictions[other], kind="stable"), len(GROUPS))
    sure = 1 - (1 - CONFIDENCE) / len(GROUPS)
    known = [binomial_interval(int(inside[group].sum()), len(group), sure) for group in groups]
    worst = int(np.argmin([inside[group].mean() for group in groups]))
    scale = float(np.sqrt(((given.labels - given.labels.mean(0)) ** 2).sum(1).mean())) or 1.0
    size = f"{radius:.4g} ({radius / scale:.2g} standard deviations of the labels)"
    ball = "Prediction ± " if given.is_single else "A ball around the prediction of radius "
    name = f"radius of a {percent(COVERAGE, 0)} prediction interval, split conformal"
    facts = [
        Fact(
            name,
            Enclosure.equal(radius),
            f"from {len(half):,} rows, if a new row is exchangeable with them",
            "conformal_radius",
        ),
        Fact(
            "coverage of that interval on the other rows", share, f"{len(other):,} rows", "coverage"
        ),
        Fact(f"coverage {GROUPS[worst]}", known[worst], f"{len(groups[worst]):,} rows"),
    ]
    # few rows give a radius that is short everywhere
    short = min(COVERAGE, share.lo) - known[worst].hi
    here = f"it contained {percent(inside.mean(), 0)} of {len(other):,} held-out ones"
    says = f"{ball}{size} contains a new label with probability {percent(COVERAGE, 0)} at least; {here}."
    if short > 0:
        low = percent(inside[groups[worst]].mean(), 0)
        says = f"{ball}{size}: {here}, but {low} {GROUPS[worst]}."
    basis = (
        f"split conformal, {len(half):,} + {len(other):,} rows, {percent(CONFIDENCE, 0)} intervals"
    )
    return facts, judge("uneven-coverage", share, says, basis, judged_by=max(short, 0.0))


def _residual_picture(given: Residuals) -> tuple[Points, ...]:
    few = slice(None, None, max(1, len(given.errors) // DRAWN))
    if given.is_single:
        y, name = given.gaps[few, 0], "label − prediction"
    else:
        y, name = given.errors[few], "distance from the label"
    x = given.predictions[few]
    what = "prediction" if given.is_single else "norm of the prediction"
    return (Points("residuals against predictions", Axis(what), Axis(name), x, y),)


# -- simple models --------------------------------------------------------------------------------------------------


def judge_against_baselines(
    own: np.ndarray, rows: Fitted, reference: Fitted, source: str, rng: np.random.Generator
) -> Part:
    """Mean of the labels, linear model and nearest neighbour on the same rows, with a test that they are as good.

    `own` are the squared errors of the network; the others are fitted to `reference`, no row of which is tested.
    """
    n = len(rows.y)
    tried = {"mean of the labels": np.broadcast_to(reference.y.mean(0), rows.y.shape)}
    tried["linear model"] = regress_linearly(rows, reference)
    tried["nearest neighbour"] = nearest_targets(rows, reference)
    losses = {name: ((guess - rows.y) ** 2).sum(1) for name, guess in tried.items()}
    told = f"{n:,} rows, fitted to {len(reference.y):,} {source}"
    facts = [
        Fact(f"mean squared error, {k}", Enclosure.measured(float(v.mean()), samples=n), told)
        for k, v in losses.items()
    ]
    best = min(losses, key=lambda name: float(losses[name].mean()))
    p = min(1.0, len(tried) * sign_flip_test(losses[best] - own, rng))
    tested = (
        f"sign-flip test of exchangeable errors, corrected for {len(tried)} baselines; {ASSUMED}"
    )
    facts.append(Fact(f"p-value, network against {best}", Enclosure.measured(p, samples=n), tested))
    sizes = tuple(float(np.sqrt(part.mean())) for part in (own, *losses.values()))
    chart = Bars(
        "root mean squared error on the same rows",
        Axis("error"),
        ("this network", *tried),
        ("",),
        (sizes,),
    )
    return Part(tuple(facts), charts=(chart,), findings=_compare(own, losses[best], best, p))


def _compare(own: np.ndarray, rival: np.ndarray, best: str, p: float) -> tuple[AuditFinding, ...]:
    n = len(own)
    basis = f"measured, {n:,} rows, sign-flip test, p = {p:.2g}"
    errors = f"root mean squared error {own.mean() ** 0.5:.4g} against {rival.mean() ** 0.5:.4g} on the same rows"
    beyond = float(own.mean() / max(rival.mean(), 1e-300) - 1)
    value = Enclosure.measured(beyond, samples=n)
    article = "the" if best.startswith("mean") else "a"
    if beyond > 0 and p < 0.05:
        return judge(
            "larger-error-than-baseline", value, f"Worse than {article} {best}: {errors}.", basis
        )
    if p < 0.05:
        says = f"It beats the best simple baseline, {best}: {errors}."
    else:
        says = f"No significant lead over {article} {best}: {errors}."
    return judge("ahead-of-baselines", value, says, basis, judged_by=p)
