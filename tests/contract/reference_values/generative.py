"""Chapter generative."""

from .reference import Reference

FEW = {"samples": 100, "steps": 50}

VALUES = {
    "diffusion-score": [
        Reference(
            {"variance at t": 1.4060058497, "denoised x": 4},
            {"components": 1, "spread": 2, "time": 1, "noise": 1, "probe": 5, **FEW},
        ),
        Reference(
            {"score at x": 1.0707032964},
            {"components": 2, "separation": 2, "spread": 1, "time": 0, "probe": 0.7, **FEW},
        ),
    ]
}
