"""The risk on a sample is right on average for a predictor fixed in advance, and too low for one fitted to it."""

from typing import Annotated

import numpy as np

from ftheta.learning.outputs import asked_loss
from ftheta.learning.risks import FiniteLaw, risk
from ftheta.learning.sandwich import law_evidence, network_evidence
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.training.study import first_rows

LAWS = ("coin", "three values", "noisy line")
MODELS, LOSSES = ("constant", "linear"), ("squared", "absolute", "zero-one")


def small_law(
    rng: np.random.Generator,
    *,
    law: Annotated[str, Knob(says="the built-in law, one row an example", choices=LAWS)] = "coin",
) -> Dataset:
    if law == "coin":
        return Dataset("a fair coin", np.ones((2, 1)), np.array([0.0, 1.0]))
    if law == "three values":
        return Dataset(
            "0, 1 and 10 with weights .4, .35, .25", np.ones((20, 1)), np.repeat([0.0, 1.0, 10.0], [8, 7, 5])
        )
    x = np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])
    return Dataset("y = x ± 1/2 at x = −1, 0, 1", np.column_stack([x, np.ones(6)]), x + np.tile([0.5, -0.5], 3))


def loss_of(net: Network) -> str | None:
    """What the labels ask for: the squared loss of real targets, the top-1 error of classes."""
    wanted = asked_loss(net)
    return "top-1" if wanted == "cross-entropy" else wanted


@hypothesis("the examples have targets that fit the predictor", remedy="give --data with one label a row")
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        wanted = loss_of(subject)
        note = "no data with labels that fit the outputs" if wanted is None else f"the {wanted} loss is used"
        return Finding.decide(wanted is not None, note, "counted", basis=Basis.EXACT)
    got = 0 if subject.y is None else subject.y[0].size
    return Finding.decide(got == 1, f"{len(subject):,} rows, targets a row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(r"$\theta$ is fixed before the sample is drawn", remedy="judge a fitted predictor on rows it did not see")
def fixed_in_advance(subject: Dataset | Network, *, chosen: str) -> Finding:
    if chosen != "in advance":
        return Finding.failed("θ is chosen on the sample that judges it")
    if isinstance(subject, Network):
        return Finding.assumed("the rows are taken to be unseen in training")
    return Finding.proved("the samples are drawn after θ was fixed", "drawn here")


@theorem(
    title="Risk, empirical risk and its minimiser",
    sources=("seed 0", "seed 1", "seed 2", "seed 3"),
    assumes=(targets_known, fixed_in_advance),
    on=small_law,
    unbreakable="""No law breaks it: the samples are drawn here, after θ. The preset `broken on purpose` chooses θ on
    the sample; forced, it is refuted.""",
    presets={
        "textbook": {},
        "lines": {"law": "noisy line", "model": "linear", "n": 8},
        "medians": {"law": "three values", "loss": "absolute", "n": 20},
        "at the edge": {"n": 1},
        "broken on purpose": {"chosen": "on the sample"},
    },
    errata="""Seed 3 says that the test error is in general larger than the training error. That is a statement about
    expectations; on a single sample it may fail.""",
)
def population_and_empirical_risk(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(1, 64, "sample size", "n", log=True, most=100_000)] = 4,
    model: Annotated[str, Knob(says="the class of predictors", symbol="g", choices=MODELS)] = "constant",
    loss: Annotated[str, Knob(says="loss of the constants", symbol="ℓ", choices=LOSSES)] = "squared",
    theta: Annotated[float, Knob(-2, 2, "the prediction fixed in advance", "θ", least=-1e6, most=1e6)] = 0.0,
    chosen: Annotated[str, Knob(says="when θ is chosen", choices=("in advance", "on the sample"))] = "in advance",
) -> Evidence:
    r"""$R(\theta)=\mathbb E\,\ell(g_\theta(X),Y)$ and $R_n(\theta)=\frac1n\sum_i\ell(g_\theta(x_i),y_i)$. For $\theta$
    fixed before the sample is drawn, $\mathbb ER_n(\theta)=R(\theta)$ and $\mathrm{Var}R_n(\theta)=\frac1n\mathrm{Var}
    \,\ell$. For $\hat\theta_n\in\arg\min R_n$
    $$\mathbb ER_n(\hat\theta_n)\le\min_\theta R(\theta)\le\mathbb ER(\hat\theta_n).$$"""
    if isinstance(subject, Network):
        return network_evidence(risk(subject, loss=loss_of(subject) or "squared"), rng, n)
    law = FiniteLaw.of(*first_rows(subject, flat=True))
    return law_evidence(law, rng, n, model, loss, theta, chosen != "in advance")
