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


FACTS = (  # the quick and the wanted ones first, so that a large network gets them all
    *_in("performance", "performance", "test-error"),
    *_in("data_quality", "data", "shared-rows", "duplicates", "columns"),
    *_in("warnings", "data", "data-warnings"),
    *_in("calibration", "performance", "calibration"),
    *_in("baselines", "performance", "baselines"),
    *_in("regression", "performance", "residuals"),
    *_in("baselines", "data", "label-errors"),
    *_in("generalisation", "generalisation", "train-test-gap", "margins", "memorised-rows"),
    *_in("counting", "what", "counts"),
    *_in("modes", "what", "evaluation-mode"),
    *_in("precision", "what", "precision"),
    *_in("agreement", "what", "agreement"),
    *_in("signals", "capacity", "active-units"),
    *_in("data_quality", "data", "two-samples"),
    *_in("far_rows", "data", "far-rows"),
    *_in("hull_rows", "data", "hull-rows"),
    *_in("robust_rows", "robustness", "certified-rows"),
    *_in("signals", "training", "gradients-by-layer"),
    *_in("symmetries", "symmetry", "shifts", "turns"),
    *_in("steepness", "robustness", "steepness"),
    *_in("curvature", "training", "curvature-of-the-loss"),
    *_in("local_slopes", "robustness", "local-lipschitz"),
    *_in("symmetries", "capacity", "canonical-form"),
    *_in("capacity", "capacity", "units-on-the-box", "effective-rank"),
    *_in("slices", "capacity", "pieces-on-a-slice"),
    *_in("rays", "extrapolation", "rays"),
    *_in("behaviour", "symmetry", "monotone-and-convex"),
    *_in("residual_blocks", "kind", "residual-blocks"),
    *_in("attention_heads", "kind", "attention-heads"),
    *_in("recurrence", "kind", "recurrent-state"),
    *_in("convolutions", "kind", "receptive-field"),
    *_in("autoencoders", "kind", "best-linear-code"),
    *_in("kernels", "training", "tangent-spectrum"),
)

_SHARED = {
    "outputs": (
        "test-error",
        "data-warnings",
        "calibration",
        "baselines",
        "label-errors",
        "precision",
        "train-test-gap",
        "residuals",
        "margins",
        "memorised-rows",
        "best-linear-code",
    ),
    "gradient": ("certified-rows", "gradients-by-layer", "steepness", "curvature-of-the-loss"),
}
SHARED_BY = {id: what for what, ids in _SHARED.items() for id in ids}
"""What a process evaluates once for several facts, by fact: they are best computed by one process."""

ABOUT_DATA = frozenset(("shared-rows", "duplicates", "columns", "two-samples"))
"""Facts of the data alone: they hold whatever the network is."""
