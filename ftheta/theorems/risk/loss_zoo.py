"""Losses, and why minimising a smooth one makes few mistakes."""

from typing import Annotated

import numpy as np

from ftheta.learning.outputs import outputs_of
from ftheta.learning.surrogates import MARGINS, above_one, accepted_losses, margin_loss
from ftheta.learning.zoo import zoo_evidence
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network, Target

NAMES = tuple(MARGINS)


def named(
    rng: np.random.Generator,
    *,
    margin: Annotated[str, Knob(says="the loss of the margin", symbol="φ", choices=NAMES)] = "logistic",
) -> Target:
    return Target(margin, MARGINS[margin].of, (-1000.0,), (1000.0,))


def natural(rng: np.random.Generator) -> Target:
    return named(rng, margin="natural logistic")


def predicted(subject: Target | Dataset | Network) -> tuple[np.ndarray, np.ndarray] | None:
    """Predictions and targets: the rows x and y of data, or what a network says of its data."""
    if isinstance(subject, Dataset):
        return None if subject.y is None else (subject.x.astype(float), subject.y)
    found = outputs_of(subject) if isinstance(subject, Network) else None
    return None if found is None else (found.predictions, found.y)


@hypothesis(
    "there is a loss to look at: a function of the margin, or predictions with targets",
    remedy="give a function of one number, data with predictions x and targets y, or a network with --data",
)
def something_to_judge(subject: Target | Dataset | Network) -> Finding:
    if isinstance(subject, Target):
        return Finding.decide(
            subject.dimension == 1, f"a function of {subject.dimension}", "counted", basis=Basis.EXACT
        )
    rows = predicted(subject)
    if rows is None:
        return Finding.failed("no targets")
    fitting = accepted_losses(rows[1], rows[0].shape[1:])
    note = f"losses that take them: {', '.join(fitting) or 'none'}"
    return Finding.decide(bool(fitting), note, "shapes and labels compared", basis=Basis.EXACT)


@hypothesis(r"$\varphi(0)\ge1$", remedy="divide by φ(0): the logistic loss by ln 2, which counts it in bits")
def one_at_zero(subject: Target | Dataset | Network) -> Finding:
    if not isinstance(subject, Target):
        return Finding.proved("the logistic loss in bits", "log₂(1 + e⁰) = 1")
    excess = above_one(subject.f) if subject.dimension == 1 else Enclosure()
    note = f"φ(0) − 1 = {excess.middle:.6g}"
    return Finding.proved(note, "φ(0) in ball arithmetic", excess) if excess.lo >= 0 else Finding.failed(note, excess)


@theorem(
    title="Losses and surrogates",
    sources=("seed 0", "seed 2", "seed 3", "bartlett2006"),
    assumes=(something_to_judge, one_at_zero),
    on=named,
    breaks_on=natural,
    presets={
        "textbook": {},
        "hinge": {"margin": "hinge"},
        "exponential": {"margin": "exponential", "reach": 600.0},
        "at the edge": {"reach": 1e-3, "classes": 1},
        "broken on purpose": {"margin": "natural logistic"},
    },
    errata=r"""Seed 0 writes the squared loss without ½, seed 2 uses ½ in back-propagation and none in its definition:
    the gradients differ by a factor 2. Seed 3 says that the training loss may differ from the target loss; the
    inequality $1\{m\le0\}\le\varphi(m)$ says what one tells of the other.""",
)
def loss_zoo(
    subject: Target | Dataset | Network,
    rng: np.random.Generator,
    *,
    reach: Annotated[float, Knob(1, 1000, "margins up to", "M", log=True, least=1e-6, most=1e6)] = 1000.0,
    classes: Annotated[int, Knob(1, 1000, "classes with equal logits", "K", log=True, most=10**6)] = 10,
) -> Evidence:
    r"""Squared $\|y-y'\|_2^2$, absolute $\|y-y'\|_1$, zero-one $1\{y\ne y'\}$, top-1 $1\{\arg\max y\ne\arg\max y'\}$,
    logistic $\log(1+e^{-yy'})$ with $y'=\pm1$, cross-entropy $-\sum_ky'_k\log\mathrm{softmax}(y)_k$. All but zero-one
    and top-1 are convex in $y$. A loss $\varphi(m)\ge0$ of the margin $m=yy'$ that falls on $m\le0$ and has
    $\varphi(0)\ge1$ bounds the zero-one loss, $$1\{m\le0\}\le\varphi(m),\qquad\text{for example}\quad
    1\{m\le0\}\le\frac{\log(1+e^{-m})}{\ln2}.$$ The range looked at is $|m|\le M$."""
    own = margin_loss(subject.f, subject.name) if isinstance(subject, Target) else None
    return zoo_evidence(own, rng, reach, classes, predicted(subject))
