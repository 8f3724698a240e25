"""Chapter robustness."""

from .reference import Reference

VALUES = {
    # w = (3, 4) at x = (1, 1) within 0.1: 7 − 0.1 · 7, and the loss log(1 + e^−6.3)
    "danskin-adversarial-training": [
        Reference(
            {"least margin": 6.3, "worst loss": 0.00183462083},
            {"kind": "worked example"},
            rtol=1e-6,
        )
    ],
    # Φ(3) and Φ(−3) of tables; 19 · Φ(−3)
    "robustness-accuracy-trade-off": [
        Reference(
            {
                "standard accuracy": 0.9986501020,
                "accuracy under the shift": 0.0013498980,
                "bound": 0.0256480626,
            },
            rtol=1e-7,
        ),
        Reference(
            {"standard accuracy": 0.95, "accuracy under the shift": 0.95, "bound": 0.95},
            {"lean": 1.0},
        ),
    ],
    "lipschitz-bounds": [
        Reference({"steepest secant": 1, "product of norms": 2}, {"kind": "absolute value"}),
        Reference(
            {"product of norms": 4, "steepest secant": 4, "norm of layer 1 by frequencies": 4},
            {"kind": "second difference", "inputs": 8},
        ),
    ],
    "adversarial-and-certified-robustness": [
        Reference(
            {
                "ℓ₁ radius of the first input": 1.75,
                "ℓ₂ radius of the first input": 1.4,
                "ℓ∞ radius of the first input": 1,
            },
            {"kind": "linear"},
            rtol=1e-3,  # the enclosures have this width
        )
    ],
    "lipsdp-certificate": [
        Reference({"steepest secant": 1, "product of norms": 2}, {"kind": "absolute value"})
    ],
    "lipschitz-margin": [
        Reference({"Lip(f) in ℓ₂": 5, "Lip(f) in ℓ₁": 4, "Lip(f) in ℓ∞": 7}, {"kind": "linear"})
    ],
    "smoothing-certificate": [
        Reference({"inputs certified": 4}, {"kind": "linear", "sigma": 0.05})
    ],
    "linear-relaxation-bounds": [
        Reference({"CROWN below r(x)": -1, "linear program of r(x) − r(x)": -0.5})
    ],
    "verification-np-hard": [
        Reference(
            {"clauses": 8, "most clauses satisfied": 7, "neurons": 14},
            {"kind": "all eight clauses"},
        ),
        Reference(
            {"clauses": 6, "most clauses satisfied": 5, "neurons": 12}, {"kind": "two of three"}
        ),
    ],
}
