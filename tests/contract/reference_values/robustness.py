"""Chapter robustness."""

from .reference import Reference

VALUES = {
    "lipschitz-bounds": [
        Reference({"steepest secant": 1, "product of norms": 2}, {"kind": "absolute value"}),
        Reference(
            {"product of norms": 4, "steepest secant": 4, "norm of layer 1 by frequencies": 4},
            {"kind": "second difference", "inputs": 8},
        ),
    ],
    "linear-relaxation-bounds": [Reference({"CROWN below r(x)": -1, "linear program of r(x) − r(x)": -0.5})],
    "verification-np-hard": [
        Reference({"clauses": 8, "most clauses satisfied": 7, "neurons": 14}, {"kind": "all eight clauses"}),
        Reference({"clauses": 6, "most clauses satisfied": 5, "neurons": 12}, {"kind": "two of three"}),
    ],
}
