"""One tanh neuron is enough for a loss that is not convex: a well between two plateaus."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from ftheta.certify.tanh_well import COMPARED, gap, half_tanh_squared, well_evidence
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.spectra.slices import Told, network_slices, slice_evidence
from ftheta.subjects import Network, Training

CONVEX = "√(1 + a²) − 1"


def one_number(
    rng: np.random.Generator,
    *,
    loss: Annotated[str, Knob(says="the function of one number", symbol="L", choices=("½ tanh²", CONVEX))] = "½ tanh²",
) -> Training:
    f = half_tanh_squared if loss != CONVEX else lambda a: jnp.sqrt(1 + a * a) - 1
    return Training(loss, f, np.array(5.0), np.array(0.0))


def convex_cousin(rng: np.random.Generator) -> Training:
    return one_number(rng, loss=CONVEX)


@hypothesis(
    r"the loss is $\frac12\tanh^2$ of one number; or it is that of a network on data with targets",
    remedy="give data with targets that fit the network; a `Training` of several numbers is sliced as it is",
)
def known_loss(subject: Training | Network) -> Finding:
    if isinstance(subject, Network):
        told = Told.of(subject)
        return Finding.decide(
            bool(told.loss), f"{len(told.y):,} rows with targets, {told.loss or 'no'} loss", "counted"
        )
    if subject.start.ndim:
        return Finding.proved(f"a loss of {subject.start.size:,} numbers", "nothing is asked of it")
    if subject.objective is half_tanh_squared:
        return Finding.proved("the function is ½ tanh² itself", "the same Python function")
    apart = gap(subject.objective)
    note = f"differs from ½ tanh² by {apart:.3g} at {len(COMPARED)} points"
    return Finding.failed(note) if apart > 1e-12 else Finding.sampled(note)


@theorem(
    title="A loss that is not convex: one tanh neuron",
    sources=("seed 2", "li2018visualizing"),
    assumes=(known_loss,),
    on=one_number,
    breaks_on=convex_cousin,
    presets={
        "textbook": {},
        "deep in the plateau": {"start": 6.0},
        "small steps": {"tau": 0.1, "start": 4.0},
        "at the edge": {"start": 0.7},
        "broken on purpose": {"loss": CONVEX},
    },
)
def nonconvex_tanh(
    subject: Training | Network,
    rng: np.random.Generator,
    *,
    start: Annotated[float, Knob(0.7, 6.0, "where descent starts", "a₀", least=0.66, most=8.0)] = 5.0,
    tau: Annotated[float, Knob(0.05, 1.0, "step of descent", "τ", log=True, least=1e-3, most=4.0)] = 1.0,
    reach: Annotated[float, Knob(1, 8, "how far slices go (of the weights' own size for a network)", "r")] = 6.0,
    points: Annotated[int, Knob(21, 81, "points a side of a slice through a network", "m", least=5, most=201)] = 41,
) -> Evidence:
    r"""$\mathcal L(a)=\frac12\tanh^2a$ has $\mathcal L''=\mathrm{sech}^2a\,(1-3\tanh^2a)$, negative if and only if
    $|a|>a^*=\mathrm{artanh}\frac1{\sqrt3}=\frac12\ln(2+\sqrt3)$, with $\mathcal L(a^*)=\frac16$, $\min\mathcal L''=
    -\frac13$ and $\max|\mathcal L'|=\frac2{3\sqrt3}$. It has one critical point and is quasi-convex, but flat at
    infinity: from $a_0>a^*$ gradient flow needs the time $T(a_1)=\frac12(\sinh^2a_0-\sinh^2a_1)+\ln\frac{\sinh a_0}
    {\sinh a_1}$ down to $a_1$, and descent that is last above $a^*$ at $a_{K-1}$ needs
    $$T(a_{K-1})\le(K-1)\tau\le T(a_{K-1})+\tau\ln\tfrac{\mathcal L'(a_{K-1})}{\mathcal L'(a_0)},\qquad
    K\sim\frac{e^{2a_0}}{8\tau}.$$"""
    if isinstance(subject, Network):
        return network_slices(rng, Told.of(subject), reach / 6, points)
    if subject.start.ndim:
        risk = lambda theta: subject.objective(theta.reshape(subject.start.shape))
        return slice_evidence(rng, risk, subject.start, subject.name, reach / 6, points)
    return well_evidence(subject.objective, start, tau, reach)
