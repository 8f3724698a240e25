"""Normalisation: slopes orthogonal to the weights, and weights that grow."""

from dataclasses import replace
from typing import Annotated

import jax
import numpy as np

from ftheta.generalisation.regularisers.normalisation import (
    SCALES,
    change_under_scaling,
    invariant_blocks,
    normalised_loss,
    restricted,
    tree_risk,
)
from ftheta.generalisation.regularisers.normalisation_study import block_table, evidence_of
from ftheta.logic import Enclosure, Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Network, Training
from ftheta.subjects.problems import loss_of
from ftheta.training.study import affordable

KINDS = ("batch", "layer", "weight", "none")


def normalised(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="what is normalised", choices=KINDS)] = "batch",
    epsilon: Annotated[float, Knob(0, 0.1, "added to the variance", "ε", most=100)] = 0.0,
) -> Training:
    return Training(f"{kind} normalisation, ε = {epsilon:g}", *normalised_loss(kind, rng, epsilon=epsilon))


def plain(rng: np.random.Generator) -> Training:
    return Training("no normalisation", *normalised_loss("none", rng))


@hypothesis(
    r"$L(cw)=L(w)$ for $c>0$",
    remedy="normalise by layer or weight, or by the batch while training; for an ε in the layers raise --tolerance",
)
def scale_invariant(subject: Training | Network, *, tolerance: float) -> Finding:
    told = f"at c = {', '.join(f'{c:g}' for c in SCALES)}"
    if isinstance(subject, Training):
        change = change_under_scaling(jax.jit(subject.objective), subject.start)
        note, number = f"changes by {change:.3g}, relative, {told}", Enclosure.measured(change, samples=len(SCALES))
        return Finding.sampled(note, number) if change <= tolerance else Finding.failed(note)
    try:
        kept, rest = invariant_blocks(tree_risk(loss_of(subject).risk), subject.params, tolerance)
    except SubjectError as error:
        return Finding.failed(error.what)
    least = min((b.change for b in rest), default=float("inf"))
    note = f"{len(kept)} of {len(kept) + len(rest)} blocks of parameters, {told}"
    return Finding.sampled(note) if kept else Finding.failed(f"{note}; the least change is {least:.3g}")


@theorem(
    title="Normalisation layers make weights grow",
    sources=("seed 2", "seed 4", "ioffe2015", "salimans2016", "ba2016", "vanlaarhoven2017"),
    assumes=(scale_invariant,),
    on=normalised,
    breaks_on=plain,
    presets={
        "textbook": {},
        "layer": {"kind": "layer"},
        "weight": {"kind": "weight"},
        "at the edge": {"step": 5.0},
        "broken on purpose": {"epsilon": 0.1},
    },
    errata="Seed 4 normalises tokens by their norm; layer normalisation divides by the standard deviation.",
)
def normalisation_layers(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[
        float, Knob(0.01, 5, "step that the direction feels at first", "τ/‖w₀‖²", log=True, most=100)
    ] = 0.3,
    steps: Annotated[int, Knob(10, 500, "steps of gradient descent", "K", log=True, least=2, most=5000)] = 100,
    tolerance: Annotated[float, Knob(1e-9, 1e-2, "what counts as no change", log=True, least=1e-12, most=0.1)] = 1e-9,
) -> Evidence:
    r"""Batch, layer and weight normalisation make the loss forget the size of the weights before: $L(cw)=L(w)$. Then
    $$\langle\nabla L(w),w\rangle=0,\qquad\nabla L(cw)=\tfrac1c\nabla L(w),\qquad
    \|w_{k+1}\|^2=\|w_k\|^2+\tau^2\|\nabla L(w_k)\|^2$$ under gradient descent: weights grow, and the direction
    feels the step $\tau/\|w\|^2$. In training batch normalisation sees $m$ rows; its output is off by $O(m^{-1/2})$."""
    knobs = {"step": step, "tolerance": tolerance}
    if isinstance(subject, Training):
        return evidence_of(subject.objective, subject.start, rng, steps=steps, **knobs)
    loss = loss_of(subject)
    kept, rest = invariant_blocks(tree_risk(loss.risk), subject.params, tolerance)
    objective, w = restricted(tree_risk(loss.risk), subject.params, kept or rest)
    few = affordable(subject.parameters, loss.rows, steps)
    return replace(evidence_of(objective, w, rng, steps=few, **knobs), tables=(block_table(kept, rest),))
