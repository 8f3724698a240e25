"""What is computed about every network, beside the theorems. One function a fact: `(network, rng) -> Part`.

A fact that does not apply raises a SubjectError, whose remedy says how it would.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """A fact: its section, and the function that computes it."""

    id: str
    section: str
    module: str
    name: str


def _in(file: str, section: str, *ids: str) -> tuple[Known, ...]:
    return tuple(Known(id, section, f"{__name__}.{file}", id.replace("-", "_")) for id in ids)


FACTS = (  # the quick ones first, so that a large network gets them all
    *_in("counting", "what", "counts"),
    *_in("warnings", "statistics", "data-warnings"),
    *_in("statistics", "statistics", "test-error"),
    *_in("signals", "signal", "gradients-by-layer", "active-units"),
    *_in("rays", "extrapolation", "rays"),
    *_in("symmetries", "symmetry", "canonical-form", "shifts", "turns"),
    *_in("slices", "expressivity", "pieces-on-a-slice"),
    *_in("steepness", "robustness", "steepness", "certified-rows"),
    *_in("curvature", "loss", "curvature-of-the-loss"),
    *_in("kernels", "kernel", "tangent-spectrum"),
)
