"""Chapter robustness."""

from .reference import Reference

VALUES = {
    "lipschitz-bounds": [
        Reference({"steepest secant": 1, "product of norms": 2}, {"kind": "absolute value"}),
        Reference(
            {"product of norms": 4, "steepest secant": 4, "norm of layer 1 by frequencies": 4},
            {"kind": "second difference", "inputs": 8},
        ),
    ]
}
