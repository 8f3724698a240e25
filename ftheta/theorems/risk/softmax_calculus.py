"""Softmax: probabilities from scores, their derivatives, and whether they can be believed."""

from typing import Annotated

import numpy as np

from ftheta.learning.outputs import asked_loss, outputs_of
from ftheta.learning.softmax_study import softmax_evidence
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks.description import Dense, Description
from ftheta.subjects import Dataset, Network


def softmax_model(
    rng: np.random.Generator,
    *,
    classes: Annotated[int, Knob(2, 10, "classes", "K", most=100)] = 3,
    rows: Annotated[int, Knob(50, 5000, "rows", "n", log=True, least=10, most=100_000)] = 1500,
    temperature: Annotated[
        float, Knob(0.2, 5, "labels are drawn from softmax(z/T): 1 is calibrated", "T", log=True, least=0.01, most=100)
    ] = 1.0,
) -> Network:
    angles = 2 * np.pi * np.arange(classes) / classes
    net = Description((Dense(1.5 * np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(classes)),))
    x = rng.normal(size=(rows, 2))
    z = x @ net.layers[0].weight.T / temperature
    labels = np.argmax(z + rng.gumbel(size=z.shape), axis=1)  # the largest of z + Gumbel noise has the law softmax(z)
    return Network.described(net, f"linear scores of {classes} classes").with_data(Dataset("drawn", x, labels))


@hypothesis(r"the outputs are scores $z\in\mathbb R^K$ of classes", remedy="give labelled --data, one class a row")
def scores_of_classes(net: Network) -> Finding:
    wanted = asked_loss(net)
    K = int(np.prod(net.output_shape))
    if wanted != "cross-entropy":
        return Finding.failed("no data with labels" if wanted is None else "the labels are real numbers, not classes")
    return Finding.decide(K >= 2, f"{K} classes", "counted", basis=Basis.EXACT)


@theorem(
    title="Calculus of the softmax",
    sources=("seed 2", "seed 3", "guo2017"),
    assumes=(scores_of_classes,),
    on=softmax_model,
    unbreakable=r"Softmax is defined for all $z\in\mathbb R^K$: there is no hypothesis on $z$ that could fail.",
    presets={
        "textbook": {},
        "too sure": {"temperature": 3.0},
        "ten classes": {"classes": 10, "rows": 4000},
        "at the edge": {"classes": 2, "large": 1e12},
    },
)
def softmax_calculus(
    net: Network,
    rng: np.random.Generator,
    *,
    bins: Annotated[int, Knob(1, 50, "bins of the calibration curve", "B", most=1000)] = 10,
    large: Annotated[float, Knob(10, 1e4, "size of large logits", "|z|", log=True, least=1, most=1e12)] = 1e4,
) -> Evidence:
    r"""$p=\mathrm{softmax}(z)$ has $p>0$, $\sum_kp_k=1$ and $\mathrm{softmax}(z+c)=\mathrm{softmax}(z)$. With
    $\mathrm{lse}(z)=\log\sum_ke^{z_k}$, which is convex, $$\nabla\mathrm{lse}=p,\qquad\nabla_z\mathrm{CE}(z,k)=p-e_k,
    \qquad\mathrm{Jac}=\mathrm{diag}(p)-pp^\top\succeq0,$$ the kernel of $\mathrm{Jac}$ is spanned by $\mathbf1$, and
    $\|\mathrm{Jac}\|_2\le\frac12$."""
    found = outputs_of(net)
    labels = None if found is None else found.classes
    if found is None or labels is None:
        return Evidence(())
    return softmax_evidence(found.predictions, labels, bins, large)
