"""Every bound of the risk of one trained classifier, with its number, in one table."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import ftheta.risks.bounds.unseen as unseen
from ftheta.estimates import binomial_interval
from ftheta.estimates.means import CONFIDENCE
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.logic.table import Table
from ftheta.networks import Description
from ftheta.shapes import Float, Real
from ftheta.training.models import Model, model_of

from .balls import above, ball, check_probability
from .margins import frobenius_margin_bound, margins_of, spectral_margin_bound
from .pac_bayes import FEWEST, MOST_PARAMETERS, Cloud, PacBayes, Wrong, pac_bayes
from .uniform import Units, growth_radius

UNSEEN = "independent rows, unseen in training"
TRAINING = "independent rows, trained on or not"
PRIOR = f"{TRAINING}; a prior fixed before"


@dataclass(frozen=True)
class RiskBound:
    """The risk is at most `value` with probability at least 1 − `delta`, under what `assumes` says; `of` whose risk."""

    name: str
    value: float
    delta: float
    rows: int
    assumes: str
    of: str = "this network"
    note: str = ""

    @property
    def vacuous(self) -> bool:
        """A risk is never above 1: a bound that is not below it says nothing."""
        return self.value >= 1

    @property
    def shown(self) -> tuple[str, float, str, float, int, str, str, str]:
        mark = "vacuous" if self.vacuous else ""
        return (
            self.name,
            self.value,
            mark,
            self.delta,
            self.rows,
            self.of,
            self.assumes,
            self.note,
        )


@dataclass(frozen=True)
class RiskBounds:
    """Each of the `bounds` holds on its own with probability 1 − δ. `left_out` says why a bound is not among them."""

    bounds: tuple[RiskBound, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    train_risk: Fraction | None = None
    test_risk: Fraction | None = None
    randomised: PacBayes | None = None

    def __getitem__(self, name: str) -> RiskBound:
        for bound in self.bounds:
            if bound.name == name:
                return bound
        known = ", ".join(bound.name for bound in self.bounds)
        raise UsageError(
            "There is no bound of this name.", got=name, remedy=f"choose one of {known}"
        )

    @property
    def table(self) -> Table:
        columns = ("bound", "risk at most", "", "δ", "rows", "of", "assumes", "made of")
        return Table(
            "bounds of the risk, each at confidence 1 − δ",
            columns,
            tuple(b.shown for b in self.bounds),
        )

    def __str__(self) -> str:
        lines = [f"{'bound':22} {'risk at most':>12}  {'rows':>7}"]
        for b in self.bounds:
            lines.append(
                f"{b.name:22} {b.value:12.6g}  {b.rows:7,}  {'vacuous  ' if b.vacuous else ''}{b.note}".rstrip()
            )
        return "\n".join(
            [
                *lines,
                *(f"{name:22} {'left out':>12}           {why}" for name, why in self.left_out),
            ]
        )

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class ClassifierRows:
    """Examples of a classifier, one input per row; labels are classes, or −1 and 1 for a single output."""

    x: Real[np.ndarray, "n *shape"]
    y: Real[np.ndarray, "n"]
    outputs: Float[np.ndarray, "n k"]

    @classmethod
    def of(cls, model: Model, data: Any, name: str) -> "ClassifierRows":
        x, y = (data.x, data.y) if hasattr(data, "x") else data
        if y is None:
            raise SubjectError(
                "The rows have no labels.", where=name, remedy="give one class per row"
            )
        x = np.asarray(x, np.float64)
        y = np.asarray(y)
        if len(y) != len(x) or (model.shape is not None and x[0].size != int(np.prod(model.shape))):
            got = f"x of shape {x.shape}, {len(y)} labels, a network of inputs {model.shape or 'not known'}"
            raise SubjectError(
                "The rows do not fit.",
                where=name,
                got=got,
                remedy="give one input and one class per row",
            )
        if not np.isfinite(x).all():
            row = int(np.argwhere(~np.isfinite(x.reshape(len(x), -1)))[0, 0])
            raise SubjectError(
                "A row is not finite.",
                where=f"{name}, row {row}",
                remedy="remove or repair such rows",
            )
        x = x if model.shape is None else x.reshape(len(x), *model.shape)
        with jax.enable_x64(True):
            outputs = np.asarray(
                jax.lax.map(
                    lambda row: jnp.ravel(model.apply(model.params, row)), x, batch_size=256
                )
            )
        return cls(x, _classes(y, outputs.shape[1], name), outputs)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def losses(self) -> Real[np.ndarray, "n"]:
        """0 or 1; an output that is not a number is wrong."""
        return np.asarray(_wrong(self.outputs, self.y)).astype(float)


def _classes(y: np.ndarray, outputs: int, name: str) -> np.ndarray:
    y = y.reshape(len(y), -1)
    if (
        outputs > 1
        and y.shape[1] == outputs
        and set(np.unique(y)) <= {0, 1}
        and (y.sum(1) == 1).all()
    ):  # one-hot
        y = y.argmax(1)[:, None]
    found = np.unique(y)
    whole = y.shape[1] == 1 and np.array_equal(found, np.round(found))
    if outputs == 1 and whole and set(found.tolist()) <= {-1.0, 0.0, 1.0} and len(found) <= 2:
        return np.where(y[:, 0] > 0, 1, -1)
    if outputs > 1 and whole and found[0] >= 0 and found[-1] < outputs:
        return y[:, 0].astype(int)
    raise SubjectError(
        "These bounds are about the 0-1 loss of a classifier.",
        where=name,
        got=f"labels such as {found[:4].tolist()}, {outputs} outputs",
        remedy="give one class 0, …, K − 1 per row for K outputs, or labels −1 and 1 (0 and 1) for one",
    )


def classes_known(net: Any) -> str:
    """Why a network and the data it carries are not a classifier with labelled rows; "" where they are."""
    if getattr(net, "data", None) is None or net.data.y is None:
        return "there are no rows with labels"
    try:
        _classes(np.asarray(net.data.y), int(np.prod(net.output_shape)), net.data.name)
    except SubjectError as error:
        return f"{error.what} {error.got}"
    return "" if len(net.data) >= 16 else f"{len(net.data)} rows are too few"


def _wrong(outputs: Any, labels: Any) -> Any:
    """Whether a prediction is wrong; the last axis are the outputs."""
    finite = jnp.isfinite(outputs).all(-1)
    right = (
        outputs[..., 0] * labels > 0
        if outputs.shape[-1] == 1
        else jnp.argmax(outputs, -1) == labels
    )
    return ~(finite & right)


def risk_bounds(
    net: Any,
    train: Any = None,
    test: Any = None,
    *,
    delta: float = 0.05,
    prior: Any = None,
    draws: int = 20_000,
    seed: int = 0,
) -> RiskBounds:
    """Bounds of the probability that `net` errs on a new row, from its training rows and from rows it never saw.

    Parameters
    ----------
    net
        What `fit` trains or returns as its `network`: a `Network`, a `Description`, a module, a pair `(params, apply)`.
    train, test
        Each a Dataset or a pair `(x, y)` with one class per row. Bounds of a class of predictors and PAC-Bayes bounds
        are computed on `train`, bounds of one predictor on `test`.
    delta
        Each bound fails with at most this probability, on its own.
    prior
        A network of the same shape fixed before the training rows were seen: the initialisation, or one trained on
        other rows. The prior of PAC-Bayes is centred there, and the norms of the spectral bound are distances from it.
        Without it, 0.
    draws, seed
        How many random networks measure the risk of the stochastic one.
    """
    check_probability(delta)
    if train is None and test is None:
        raise UsageError(
            "There are no rows.", remedy="give the training rows, or rows that were not trained on"
        )
    model = model_of(net, np.float64)
    description = net if isinstance(net, Description) else getattr(net, "description", None)
    bounds = []
    left_out = []
    risks = {}
    randomised = None
    if test is not None:
        rows = ClassifierRows.of(model, test, "test")
        risks["test_risk"], found = _of_one_predictor(rows, delta)
        bounds += found
    if train is not None:
        rows = ClassifierRows.of(model, train, "train")
        risks["train_risk"] = unseen.mean_and_variance(rows.losses)[0]
        start = None if prior is None else model_of(prior, np.float64).params
        for make in (_growth, _norms):
            found, missing = make(description, start, rows, delta)
            bounds = bounds + found
            left_out = left_out + missing
        if len(rows) >= FEWEST and model.parameters <= MOST_PARAMETERS:
            randomised, found = _randomise(
                model, start, rows, delta, draws, np.random.default_rng(seed)
            )
            bounds += found
        else:
            left_out.append(
                ("PAC-Bayes", f"it needs {FEWEST} rows and at most {MOST_PARAMETERS:,} parameters")
            )
    return RiskBounds(tuple(bounds), tuple(left_out), randomised=randomised, **risks)


Found = tuple[list[RiskBound], list[tuple[str, str]]]


def _of_one_predictor(rows: ClassifierRows, delta: float) -> tuple[Fraction, list[RiskBound]]:
    mean, variance = unseen.mean_and_variance(rows.losses)
    n = len(rows)
    errors = int(rows.losses.sum())
    found = {
        "Hoeffding": unseen.hoeffding(mean, n, delta),
        "Chebyshev": unseen.chebyshev(mean, n, delta),
        "Bernstein": unseen.bernstein(mean, n, delta),
        "empirical Bernstein": unseen.empirical_bernstein(mean, n, delta, variance),
        "Chernoff": unseen.chernoff(mean, n, delta),
        "Clopper–Pearson": unseen.clopper_pearson(errors, n, delta),
    }
    note = f"{errors:,} of {n:,} test rows wrong"
    return mean, [
        RiskBound(name, value, delta, n, UNSEEN, note=note) for name, value in found.items()
    ]


def _growth(description: Description | None, _: Any, rows: ClassifierRows, delta: float) -> Found:
    name = "VC"
    units = None if description is None else Units.of(description)
    if units is None:
        why = (
            "the layers are not known"
            if description is None
            else "an activation is not piecewise linear"
        )
        return [], [(name, why)]
    risk = unseen.mean_and_variance(rows.losses)[0]
    n = len(rows)
    radius = growth_radius(units.log_growth(2 * n), n, delta)
    note = f"{float(risk):.4g} on the rows and radius {radius:.4g}; VC dimension at most {units.vc_at_most():,}"
    return [RiskBound(name, above(ball(risk) + ball(radius)), delta, n, TRAINING, note=note)], []


def _norms(
    description: Description | None, start: Any, rows: ClassifierRows, delta: float
) -> Found:
    names = ("Frobenius margin", "spectral margin")
    if description is None:
        return [], [(name, "the layers are not known") for name in names]
    margins = margins_of(rows.outputs, rows.y)
    if not np.isfinite(margins).all():
        return [], [(name, "an output is not finite") for name in names]
    frobenius = frobenius_margin_bound(description, rows.x, margins, delta)
    spectral = spectral_margin_bound(description, rows.x, margins, delta, start)
    reasons = (
        "an activation is not positively homogeneous",
        "an activation has σ(0) ≠ 0 or no Lipschitz constant",
    )
    found = []
    missing = []
    for name, bound, why in zip(names, (frobenius, spectral), reasons):
        if bound is None:
            missing.append((name, why))
            continue
        note = f"ramp loss {bound.ramp:.4g} at margin {bound.gamma:.4g}, complexity {bound.complexity:.4g}"
        found.append(RiskBound(name, bound.value, delta, len(rows), TRAINING, note=note))
    return found, missing


def stochastic_risk(
    net: Any,
    data: Any,
    spread: float,
    *,
    draws: int = 20_000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Enclosure:
    """How often networks with weights N(θ, spread²) err on these rows: the exact interval of a proportion."""
    model = model_of(net, np.float64)
    rows = ClassifierRows.of(model, data, "data")
    with jax.enable_x64(True):
        cloud = Cloud.of(_errs(model), model.params, model.params, rows.x, rows.y)
        return binomial_interval(
            cloud.errors(spread, draws, np.random.default_rng(seed)), draws, confidence
        )


def _errs(model: Model) -> Wrong:
    return lambda params, x, y: _wrong(jnp.ravel(model.apply(params, x)), y)


def _randomise(
    model: Model,
    start: Any,
    rows: ClassifierRows,
    delta: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[PacBayes, list[RiskBound]]:
    centre = jax.tree.map(np.zeros_like, model.params) if start is None else start
    found = pac_bayes(_errs(model), model.params, centre, rows.x, rows.y, delta, rng, draws)
    note = f"KL {found.divergence:.4g} at spread {found.spread:.4g}; {found.errors:,} of {found.draws:,} draws wrong"
    of = "random weights around it"
    named = {"PAC-Bayes, McAllester": found.mcallester, "PAC-Bayes, kl inverse": found.seeger}
    bounds = [
        RiskBound(name, value, delta, len(rows), PRIOR, of, note) for name, value in named.items()
    ]
    return found, bounds
