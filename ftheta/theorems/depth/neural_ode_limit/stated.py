r"""What a user states of a flow in closed form, compared with its trajectory: a wrong end or acceleration would refute
the theorem, and wrong balls would prove it of another network."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import jax
import numpy as np
from flint import arb, ctx

from ftheta.flows.fields import Flow
from ftheta.logic import Finding

from .convergence import BITS, REFERENCE_STEPS, acceleration_of, runge_kutta

CLOSE = 1e-6  # relative; far above what the Runge–Kutta method leaves on a field that it resolves
LOOKS = 16  # places where the field is compared with its balls


def compare(flow: Flow) -> Finding:
    """Whether nothing stated is contradicted by what is measured along the trajectory."""
    found = list(_contradictions(flow))
    if found:
        return Finding.failed("; ".join(found))
    given = {"end": flow.end, "acceleration": flow.acceleration, "field in balls": flow.balls}
    names = [name for name, value in given.items() if value is not None]
    said = ", ".join(names) if names else "nothing"
    return Finding.sampled(f"stated: {said}; the trajectory contradicts none of it")


def _contradictions(flow: Flow) -> Iterator[str]:
    if flow.end is not None:
        fine, coarse = (
            np.ravel(np.asarray(runge_kutta(flow, steps)[-1]))
            for steps in (REFERENCE_STEPS, REFERENCE_STEPS // 2)
        )
        end = np.array([float(x) for x in flow.end])
        off = float(np.abs(fine - end).max())
        allowed = CLOSE * (1 + float(np.abs(end).max())) + 2 * float(np.abs(fine - coarse).max())
        if not off <= allowed:
            yield f"the stated end is {off:.3g} from that of the Runge–Kutta method"
    if flow.acceleration is not None:
        met = acceleration_of(replace(flow, acceleration=None)).middle
        if not met <= flow.acceleration.hi * (1 + CLOSE) + 1e-9:
            yield f"|ẍ| found {met:.6g}, stated: at most {flow.acceleration.hi:.6g}"
    if flow.balls is not None:
        off = _distance_from_balls(flow, flow.balls)
        if not off <= CLOSE:
            yield f"the field is {off:.3g} from its balls"


def _distance_from_balls(flow: Flow, phi: Callable[[arb], arb]) -> float:
    r"""The largest distance of $v_\theta(x)$ from $\varphi(Wx+b)$ in balls, relative where it is above 1."""
    path = np.concatenate([np.asarray(flow.start)[None], np.asarray(runge_kutta(flow, LOOKS))])
    theta = flow.weights(np.arange(LOOKS + 1) / LOOKS)
    velocities = np.asarray(jax.vmap(flow.field)(theta, path))
    sums = np.einsum("tij,tj->ti", theta[0], path) + theta[1]
    with ctx.workprec(BITS):
        balls = [[float(phi(arb(u)).mid()) for u in row] for row in sums.tolist()]
    return float((np.abs(velocities - balls) / (1 + np.abs(velocities))).max())
