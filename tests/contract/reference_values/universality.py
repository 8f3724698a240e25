"""Chapter universality."""

from math import pi, sqrt

from .reference import Reference

VALUES = {
    "barron-rate": [
        Reference(
            {"bound": 0.1595769121605731, "C_f": 0.7978845608028654},
            {"dimension": 1, "radius": 1.0, "p": 100},
        ),
        Reference({"C_f": 3.0843278}, {"dimension": 10, "p": 100}, rtol=2e-8),
    ],
    "yarotsky-square": [
        *(
            Reference(
                {"error of the square": 4.0 ** -(m + 1), "neurons of the square": 3 * m},
                {"levels": m},
            )
            for m in (1, 2, 3)
        ),
        Reference({"f_m at the point": 0.1}, {"levels": 2, "point": 0.3}),
    ],
    "depth-separation": [
        Reference({"nodes of f": 18, "layers of f": 12, "pieces of f": 64, "∫|f − ½|": 0.25}),
        Reference(
            {"nodes of f": 33, "layers of f": 22, "pieces of f": 2048, "∫|f − ½|": 0.25},
            {"layers": 3},
        ),
        Reference({"pieces of g": 1, "∫|f − g|": 0.25, "bound by crossings": 0.125}, {"kind": "½"}),
    ],
    "sparse-connection-approximation": [
        Reference({"W": 20, "L": 4, "pieces": 25, "α": 2}),
        Reference({"W": 24, "L": 6, "pieces": 64}, {"a": 4, "k": 3}),
    ],
    "stone-weierstrass": [
        Reference({"B_n |x − ½| at ½": 252 / 2048, "B_n x² − x² at ½": 1 / 40}, {"n": 10}),
        Reference({"B_n x² − x² at ½": 1 / 160}, {"n": 40}),
    ],
    "uat-cybenko-hornik": [
        Reference({"error of n jumps for x": 1 / 20}, {"cells": 10}),
        Reference({"error of n jumps for x": 1 / 48}),
    ],
    "uat-nonpolynomial-iff": [Reference({"floor of parabolas": 1 / 8}, {"width": 2})],
    "uat-step2-mollification": [
        Reference({"ReLU smoothed at 0": 0.125}, {"width": 0.5}),
        Reference({"ReLU smoothed at 0": 0.0625}, {"width": 0.25, "neurons": 4}),
    ],
    "uat-step3-monomials": [
        # the catalogue prints 1.0100585845; ((e^0.01 − 1)/0.01)² = 1.01005858419695…
        Reference(
            {"quotient of exp at 1": 1.0100585841969507, "tanh‴(0)": -2}, {"power": 2, "step": 0.01}
        ),
        Reference({"ϱ^(k)(b)": -2}, {"activation": "tanh", "power": 3}),
    ],
    "barron-norm": [
        Reference(
            {"Gaussian in d": 0.7978845608, "hat up to Λ": 3.3024871446045765},
            {"dimension": 1, "cut": 100.0},
        ),
        Reference({"Gaussian in d": 1.2533141373}, {"dimension": 2}),
        Reference({"Gaussian in d": 1.5957691216}, {"dimension": 3}),
        Reference({"Gaussian in d": 3.0843278}, {"dimension": 10}, rtol=2e-8),
        Reference({"C_f": 3.75}, {"name": "waves", "points": 64}),
    ],
    "no-free-lunch": [
        Reference({"mean error": 1 / 2}, {"learner": name, "points": 6, "train": 3})
        for name in ("nearest neighbour", "majority", "contrarian", "trained network")
    ],
    "uat-step1-ridge-exponentials": [
        Reference({"terms": 2}, {"name": "cosh(x₁ + x₂)", "reach": 1})
    ],
    "concatenated-activation": [  # 68,456 functions before those of (4, 4), and the ramp is number 57,204 among them
        Reference(
            {"functions": 9**5, "bits of n": (68_456 + 57_204).bit_length()},
            {"name": "ramp", "m": 4, "q": 4},
        )
    ],
    "maiorov-pinkus-counts": [
        Reference({"connections": 39, "neurons": 12, "printed neurons": 27}, {"dimension": 1}),
        Reference({"connections": 117, "neurons": 21, "printed neurons": 180}, {"dimension": 2}),
        Reference({"connections": 237, "neurons": 30, "printed neurons": 567}, {"dimension": 3}),
    ],
    "sobolev-vs-barron": [Reference({"‖∇f‖²": sqrt(pi) / 2, "∫|ω|²|f̂|² without (2π)^d": pi**1.5})],
}
