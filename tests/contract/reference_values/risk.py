"""Chapter risk."""

from math import log, pi

from .reference import Reference

VALUES = {
    "hoeffding-chebyshev": [
        Reference(
            {
                "Hoeffding radius": 0.0429469408,
                "printed radius": 0.0858938817,
                "Chebyshev radius": 0.0707106781,
            },
            {"n": 1000, "delta": 0.05},
            rtol=2e-9,
        ),
        Reference(
            {"Hoeffding radius": 0.1358102, "Hoeffding tail": 0.0066371},
            {"n": 100, "delta": 0.05},
            rtol=4e-6,
        ),
        Reference({"Hoeffding tail": 0.006637120515926126}, {"n": 100, "delta": 0.05}),
    ],
    "population-and-empirical-risk": [
        Reference({"E R_n(θ̂)": 3 / 16, "E R(θ̂)": 5 / 16, "min R": 1 / 4}, {"n": 4}),
        Reference({"E R_n(θ̂)": (1 - 1 / 7) / 4, "E R(θ̂)": (1 + 1 / 7) / 4}, {"n": 7}),
    ],
    "loss-zoo": [
        Reference(
            {"logistic at margin 0": log(2), "cross-entropy of equal logits": log(10)},
            {"classes": 10},
        ),
        Reference({"logistic at (2, 1)": 0.126928011}, rtol=4e-9),
        Reference({"cross-entropy of equal logits": log(7)}, {"classes": 7, "margin": "hinge"}),
    ],
    "bayes-predictors": [
        Reference(
            {"mean": 2.85, "variance": 17.2275, "median": 1, "min MAE": 2.65, "log-odds": log(4)},
            {"p": 0.8},
        )
    ],
    "mle-interpretations": [
        Reference({"NLL at θ": 1.5 * log(8 * pi) + 5.25 / 8}, {"sigma": 2.0}),
        Reference({"NLL at θ": 5.4925071}, {"sigma": 2.0}, rtol=1e-8),
    ],
    "softmax-calculus": [
        Reference(
            {"cross-entropy of equal logits": log(3), "‖J‖ at (½, ½)": 0.5, "lse at large": 1e4}
        ),
        Reference({"cross-entropy of equal logits": log(5)}, {"classes": 5, "rows": 200}),
    ],
    "linear-model-convex-erm": [Reference({"θ 1": 13 / 9, "θ 2": 10 / 9})],
    "kernel-lift": [
        Reference(
            {
                "θ 1": 1,
                "θ 2": 1,
                "α 1": 0,
                "α 2": 0,
                "α 3": 1,
                "f(x 1)": 1,
                "f(x 2)": 2,
                "f(x 3)": 2,
            },
            {"ridge": 1.0},
        )
    ],
}
