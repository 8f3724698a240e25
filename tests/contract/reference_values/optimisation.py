"""Chapter optimisation."""

from math import sqrt

from .reference import Reference

VALUES = {
    "gd-strongly-convex": [
        Reference(
            {"gamma": 81 / 121, "error at K": 2 * (9 / 11) ** 20}, {"kappa": 10, "steps": 10}
        ),
        Reference(
            {"gamma": 0.6694214876, "error at K": 0.0361431900},
            {"kappa": 10, "steps": 10},
            rtol=2e-9,
        ),
        Reference({"gamma": 0.9607881580}, {"kappa": 100}),
    ],
    "first-order-family": [
        Reference(
            {"F_k − F* on the Huber function": 0.4}, {"smoothness": 3.0, "radius": 2.0, "steps": 7}
        ),
        Reference({"heavy ball factor": 9 / 11}, {"kappa": 100.0, "steps": 7}),
    ],
    "nonconvex-stationarity": [
        Reference(
            {"F₀ − F*": 1.4161468365471424, "bound": 0.056645873461885696},
            {"start": 2.0, "steps": 50, "step": 1.0},
        )
    ],
    "sgd-robbins-monro": [
        Reference(
            {
                "constant-step floor": 0.1 / 1.9,
                "E e² at the end, constant step": 0.1 / 1.9,
                "E e² at the end": 1 / 999,
            }
        ),
        Reference({"constant-step floor": 1 / 3}, {"constant_step": 0.5}),
        Reference({"Π(1 − 1/(4ℓ)), ℓ ≤ 10⁴": 0.0816041}, rtol=1e-6),
    ],
    "adam": [
        Reference({"θ₁ after 1, −1": -0.1, "θ₂ after 1, −1": -9 / 95, "Adam ends at": 1.0}),
        Reference({"θ₂ after 1, −1": -0.0947368}, rtol=5e-7),
    ],
    "nonsmooth-proximal": [
        Reference(
            {"forward–backward at worst": 3 / 7, "sub-gradient at worst, 36 steps": 1 / 6},
            {"steps": 7},
        )
    ],
    "function-classes": [
        Reference({"L": 10, "μ": 1}),
        Reference({"L": 1, "μ": -1 / 3}, {"kind": "half tanh squared", "dimension": 1}),
    ],
    "gd-step-regimes": [
        Reference({"factor": 1.1, "τ": 0.21}, {"step": 2.1}),
        Reference(
            {"best factor": 9 / 11, "squared error at K, best step": 2 * (9 / 11) ** 20},
            {"steps": 10},
        ),
        Reference({"squared error at K, best step": 0.0361431900}, {"steps": 10}, rtol=2e-9),
    ],
    "pl-inequality": [
        Reference({"best μ": 0.1755309859, "L": 8}, rtol=2e-10),
        Reference({"where": 2.20171}, rtol=5e-7),
    ],
    "nonconvex-tanh": [
        Reference({"a*": 0.6584789485, "L(a*)": 1 / 6}, rtol=1e-10),
        Reference({"steps K": 2762}),
    ],
    "landscape-equivalent-minima": [
        Reference(
            {
                "least eigenvalue at 0": -1,
                "largest eigenvalue at 0": 1,
                "least on aw = 1": 0,
                "largest at (2, ½)": 4.25,
                "copies": 48,
            }
        )
    ],
    "implicit-bias": [
        Reference({"limit 1": 1, "limit 2": 1, "margin": sqrt(2)}, {"kind": "one equation"}),
        Reference({"limit 1": 1.5, "limit 2": 0.5}, {"kind": "one equation", "start": 1.0}),
    ],
}
