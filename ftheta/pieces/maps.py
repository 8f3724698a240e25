"""The affine maps of cells, from their patterns."""

from collections.abc import Iterator

import numpy as np

from ftheta.shapes import Bool, Float

from .plan import Plan

BATCH = 256


def _blocks(plan: Plan, active: np.ndarray) -> Iterator[np.ndarray]:
    """For every step but the last, which coordinates of its result are on: Boolean `(cells, width)`."""
    used = 0
    for step in plan.net.steps[:-1]:
        on = np.ones((len(active), len(step.offset)), bool)
        count = int(step.rectified.sum())
        on[:, step.rectified] = active[:, used : used + count]
        used += count
        yield on


def maps_of(
    plan: Plan, activation: Bool[np.ndarray, "cells neurons"]
) -> Float[np.ndarray, "cells outputs {plan.dimension}+1"]:
    """The affine maps of cells from their patterns, in batches."""
    d1 = plan.dimension + 1
    found = np.empty((len(activation), plan.outputs, d1))
    for begin in range(0, len(activation), BATCH):
        active = activation[begin : begin + BATCH]
        n = len(active)
        forms = np.repeat(plan.chart_forms().T[:, None, :], n, axis=1)  # (width, cells, d+1)
        masks = [*_blocks(plan, active), None]
        for step, on in zip(plan.net.steps, masks):
            forms = (step.matrix @ forms.reshape(forms.shape[0], -1)).reshape(-1, n, d1)
            forms[:, :, -1] += step.offset[:, None]
            if on is not None:
                forms *= on.T[:, :, None]
        found[begin : begin + n] = forms.transpose(1, 0, 2)
    return found


def input_map(
    plan: Plan, active: Bool[np.ndarray, "neurons"]
) -> tuple[Float[np.ndarray, "outputs D"], Float[np.ndarray, "outputs"]]:
    """Slope and constant in the inputs: the last step's rows pulled back through the masked steps before it."""
    masks = [on[0] for on in _blocks(plan, active[None])]
    slope = plan.net.steps[-1].dense()
    constant = plan.net.steps[-1].offset.copy()
    for step, on in zip(plan.net.steps[-2::-1], masks[::-1]):
        slope = slope * on
        constant = constant + slope @ step.offset
        slope = slope @ step.matrix
    return slope, constant
