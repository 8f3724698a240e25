"""Two layers are a sum of ridge functions, and more of them are never worse."""

from functools import partial
from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.logic import (
    Adapter,
    AtMost,
    Claim,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    FthetaError,
    Identity,
    Knob,
    Witness,
    hypothesis,
    theorem,
)
from ftheta.networks import ACTIVATIONS
from ftheta.relu.line.points import square_error
from ftheta.subjects import Dataset, Family, Target
from ftheta.subjects.values import points_and_values

from .charts import draw_fits
from .fits import WEIGHTED, Fits, choose_sizes, fit_more_and_more
from .ridges import Ridges, draw_ridges, largest_change_across, square_interpolant

ZERO = Enclosure.exact(0)
TOLERANCE = 1e-7  # of the residual's products with the terms, some of which were left out
TARGETS = {
    "wave": Target("sin 2πx + x/2", lambda x: jnp.sin(2 * jnp.pi * x) + x / 2, (-1.0,), (1.0,)),
    "bump": Target(
        "exp(−4|x|²) + x₁x₂", lambda x: jnp.exp(-4 * x @ x) + x[0] * x[1], (-1.0, -1.0), (1.0, 1.0)
    ),
}


def random_ridges(
    rng: np.random.Generator,
    *,
    target: Annotated[
        str, Knob(says="the function to fit", symbol="f", choices=tuple(TARGETS))
    ] = "wave",
    choice: Annotated[
        str, Knob(says="how p terms are chosen", choices=("nested", "drawn anew"))
    ] = "nested",
) -> Family:
    goal = TARGETS[target]
    seed = int(rng.integers(2**32))

    def member(p: int, _: np.random.Generator) -> Ridges:
        return draw_ridges(
            np.random.default_rng([seed, p * (choice == "drawn anew")]), p, goal.dimension
        )

    return Family(f"ridge functions for {goal.name}, {choice}", member, goal)


def drawn_anew(rng: np.random.Generator) -> Family:
    return random_ridges(rng, choice="drawn anew")


def ridges_for(goal: Target | Dataset) -> Family:
    """A function or data alone: ridge functions are drawn one after the other to fit them."""
    dimension = goal.dimension if isinstance(goal, Target) else int(np.prod(goal.x.shape[1:]))
    return Family(goal.name, lambda p, rng: draw_ridges(rng, p, dimension), goal)


def terms_of(subject: Family, p: int) -> Ridges:
    return subject.member(p, np.random.default_rng(0))


@hypothesis(
    "there are real values to fit",
    remedy="give a Target with finite values, or data with one label per row",
)
def finite_values(subject: Family) -> Finding:
    try:
        x, y = points_and_values(subject)
    except FthetaError as error:
        return Finding.failed(error.what)
    return Finding.decide(
        bool(np.isfinite(y).all()), f"{len(y):,} points in dimension {x.shape[1]}", "all looked at"
    )


@hypothesis(
    "the $p$ terms are the first of more", remedy="keep the terms that are there and add new ones"
)
def nested_terms(subject: Family, *, terms: int) -> Finding:
    most = terms_of(subject, terms)
    fewer = choose_sizes(terms)
    apart = [p for p in fewer if not terms_of(subject, p).begins(most)]
    if apart:
        return Finding.failed(f"not at p = {apart[0]}")
    return Finding.proved(f"bit for bit at {len(fewer)} sizes", "compared as they are used")


@theorem(
    title="Two layers: a sum of ridge functions",
    gist="A network with one hidden layer is a sum of ridge functions, each varying in one direction only; with more "
    "of them the best fit never gets worse.",
    see_also=("barron-rate", "uat-cybenko-hornik", "depth-separation"),
    same_for_all={
        "largest growth of the error from p to more": "where fewer terms than rows fit every row, more of them change "
        "nothing"
    },
    sources=("peyre-slides", "peyre-notes"),
    assumes=(finite_values, nested_terms),
    adapters=(Adapter(Target, ridges_for), Adapter(Dataset, ridges_for)),
    on=random_ridges,
    breaks_on=drawn_anew,
    presets={
        "textbook": {},
        "two dimensions, many terms": {"target": "bump", "terms": 300, "cells": 1000},
        "at the edge": {"terms": 1, "cells": 1},
        "broken on purpose": {"choice": "drawn anew"},
    },
    errata="Peyré's notes leave out the output weights in one occurrence of $f_q$: without them the sum does not fit.",
)
def two_layer_ridge_sum(
    subject: Family,
    rng: np.random.Generator,
    *,
    terms: Annotated[int, Knob(1, 300, "ridge functions at most", "p", log=True, most=500)] = 100,
    cells: Annotated[
        int, Knob(1, 1000, "cells of the interpolation of x²", "n", log=True, most=5000)
    ] = 10,
    activation: Annotated[
        str, Knob(says="the activation", symbol="σ", choices=tuple(ACTIVATIONS))
    ] = "relu",
) -> Evidence:
    r"""In $f_\theta(x)=\sum_{s\le p}a_s\,\sigma(\langle x,w_s\rangle+b_s)$ every term is constant on the hyperplanes
    orthogonal to $w_s$. For fixed $(w_s,b_s)$ the best $a$ solves a least-squares problem, and its error does not grow
    with $p$ when terms are added. With $\sigma=r$ and $n$ terms, $x^2$ is interpolated on $[0,1]$ with
    $$\sup_{[0,1]}|x^2-f_\theta|=\frac1{4n^2}.$$"""
    x, y = points_and_values(subject)
    found = fit_more_and_more(lambda p: terms_of(subject, p), x, y, terms, activation)
    return Evidence(
        claims=_claim_best_weights(found),
        as_printed=(claim_no_weights_needed(found),),
        charts=tuple(draw_fits(x, y, found)),
        numbers=found.panels,
        summary=", ".join(f"{name}: {value:.4g}" for name, value in found.panels.items()),
        examples=partial(_examples, found.last, cells),
    )


def _claim_best_weights(found: Fits) -> tuple[Claim, Claim]:
    """The error does not grow with the number of terms, and the last residual is orthogonal to all of them."""
    growth = found.grows
    witness = None
    if growth is not None:
        at = {"p": float(growth.few), "more": float(growth.more)}
        witness = Witness(at, growth.enclosure, ZERO, "least squares in balls")
    what = f"largest growth of the error from p to more, up to {found.most}"
    along = Enclosure.equal(found.correlation)
    return (
        AtMost(what, Enclosure.equal(found.growth), ZERO, witness=witness, atol=1e-9 * found.size),
        Identity("largest ⟨term, residual⟩ of the best weights", along, ZERO, atol=TOLERANCE),
    )


def claim_no_weights_needed(found: Fits) -> Claim:
    """Without output weights, as Peyré's notes print the sum once, it fits as well as with them."""
    best = Enclosure.equal(found.fits[found.most].error)
    terms = min(WEIGHTED, len(found.last))
    witness = Witness(
        {"terms": float(terms)}, found.bare_ball, found.best_ball, "least squares in balls"
    )
    return AtMost(
        "error without output weights ≤ error with them",
        Enclosure.equal(found.bare),
        best,
        witness=witness,
    )


def _examples(ridges: Ridges, cells: int) -> Examples:
    r"""$x^2$ interpolated by ridges, $4n^2\sup|x^2-f|=1$ in rationals; every term is constant on its hyperplanes."""
    sup = square_error(square_interpolant(cells), cells)
    what = f"4n² sup |x² − interpolation|, n = {cells}"
    claims = [Identity(what, Enclosure.exact(4 * cells**2 * sup), Enclosure.exact(1))]
    if ridges.directions.shape[1] > 1:
        what = f"change of ⟨x, w⟩ along its hyperplanes, {len(ridges)} terms"
        claims.append(Identity(what, Enclosure.exact(largest_change_across(ridges)), ZERO))
    return Examples(tuple(claims), numbers={"sup error of the interpolation": Enclosure.exact(sup)})
