"""Chapter width."""

from math import pi, sqrt

from .reference import Reference

SMALL = {"width": 128, "draws": 16}  # the closed forms do not depend on the experiment beside them

VALUES = {
    # At φ = π/3 the catalogue prints .304498903 and .471165570 for (√3/2 + π/3)/2π = .3044988905… and
    # that plus 1/6: its eighth decimal is off.
    "ntk-kernel": [
        Reference(
            {
                "two-layer NNGP": (sqrt(3) / 2 + pi / 3) / (2 * pi),
                "two-layer σ′σ′": 1 / 3,
                "two-layer NTK": (sqrt(3) / 2 + pi / 3) / (2 * pi) + 1 / 6,
            },
            {"angle": 60, **SMALL},
            rtol=1e-12,
        ),
        Reference({"Θ_L at φ": 0.3183098862}, {"angle": 90, "layers": 1, **SMALL}),
        Reference({"Θ_L at φ": 0.6857086363}, {"angle": 90, "layers": 2, **SMALL}),
        Reference({"Θ_L at φ": 1.0603881068, "Θ_L at 0": 4}, {"angle": 90, "layers": 3, **SMALL}),
        Reference(
            {"textbook flow 1": 0.791166745, "textbook flow 2": 0.159046186},
            {"time": 1, **SMALL},
            rtol=4e-9,
        ),
    ],
    "overparam-gd": [
        Reference({"λ₀ at 60°": 1 / 3, "λ₀ at 90°": 1 / 2}, {"width": 64, "steps": 10, "draws": 2})
    ],
    "mean-field-limit": [
        # simulated
        Reference(
            {"q E|f_q − f_ρ|² at the widest": 1 / 2 - 1 / (2 * pi)},
            {"width": 64, "draws": 4000, "steps": 1},
            rtol=0.03,
        )
    ],
    "measure-representation": [
        Reference({"hat up to Λ": 3.3024871446, "∫|f″| of the hat": 4}, {"cut": 100.0})
    ],
    "chizat-bach": [Reference({"loss at the teacher": 0.0}, {"seeds": 4, "steps": 100})],
}
