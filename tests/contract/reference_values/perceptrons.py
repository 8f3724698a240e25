"""Chapter perceptrons."""

from .reference import Reference

VALUES = {
    "activation-zoo": [
        Reference(
            {"tanh: slope at x": 1.8158323094380667e-4}, {"activation": "tanh", "point": 5.0}
        ),
        Reference(
            {
                f"{name}: Lipschitz constant": 1.0
                for name in ("tanh", "arctan", "relu", "leaky-relu")
            }
            | {"sigmoid: Lipschitz constant": 0.25}
        ),
        Reference({"gelu: Lipschitz constant": 1.128904145185155}, {"activation": "gelu"}),
    ],
    "network-description-realisation": [
        Reference({"parameters": 32, "connections": 25, "neurons": 5, "maps": 3}),
        Reference({"parameters": 535_818}, {"sizes": "784-512-256-10"}),
    ],
    "depth-conventions": [
        Reference({"L (Gribonval, Scaman)": 2, "D with a linear head (Peyré)": 2, "L (Murari)": 1})
    ],
    "degenerate-activations": [
        Reference({"degree": 8, "bound": 8, "dimension of the polynomials": 45}),
        Reference({"degree": 1, "best squared distance to |x|": 1 / 6}, {"activation": "identity"}),
        Reference({"bound": 2, "best squared distance to |x|": 1 / 96}, {"maps": 2}),
    ],
    "two-layer-ridge-sum": [
        Reference({"sup error of the interpolation": 0.0025}, {"cells": 10}),
        Reference({"sup error of the interpolation": 2.5e-7}, {"cells": 1000}),
    ],
}
