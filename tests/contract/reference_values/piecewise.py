"""Chapter piecewise."""

from math import pi, sqrt

from .reference import Reference

VALUES = {
    "hat-function": [
        Reference(
            {
                "sup |f − h|": 0,
                "integral": 1,
                "hidden neurons": 3,
                "printed formula at 2": 1,
                "iterate at 2": 1,
            }
        ),
        Reference({"iterate at 2": 0}, {"iterates": 3}),
    ],
    "relu-net-is-cpa": [
        Reference({"activation cells": 7, "linear regions": 7}, {"kind": "three lines"}),
        Reference({"activation cells": 4, "linear regions": 1}, {"kind": "identity"}),
        Reference({"activation cells": 4, "linear regions": 4}, {"kind": "|x₁| + |x₂|"}),
    ],
    "regions-deep": [
        Reference({"lower bound": 176, "product bound": 1331, "pieces": 176}),
        Reference({"Serra bound": 40, "product bound": 49}, {"width": 3, "hidden_layers": 2}),
        Reference({"pieces": 64}, {"kind": "folding"}),
    ],
    "regions-shallow": [
        *(
            Reference(
                {"regions": r, "Σ|μ|": r, "regions in general position": r},
                {"hyperplanes": n, "inputs": d},
            )
            for n, d, r in ((3, 2, 7), (4, 2, 11), (5, 2, 16), (4, 3, 15), (6, 3, 42), (10, 3, 176))
        ),
        Reference(
            {"regions": 14, "Σ|μ|": 14}, {"hyperplanes": 4, "inputs": 3, "position": "central"}
        ),
        Reference({"bounded regions": 6}),
    ],
    "relu-univariate-zoo": [
        Reference(
            {"kinks": 2, "neurons": 2, "fewest neurons possible": 2, "formula for x^0 at 1": 2}
        ),
        Reference({"kinks": 1, "neurons": 2}, {"function": "absolute value"}),
        Reference({"kinks": 0, "neurons": 2}, {"function": "identity"}),
    ],
    "max-network": [
        Reference(
            {
                "hidden layers": 3,
                "neurons": 16,
                "hidden layers of the tree": 3,
                "hidden layers of the chain": 4,
                "neurons of the tree": 16,
            }
        ),
        Reference(
            {"hidden layers": 3, "neurons": 21, "hidden layers of the chain": 7}, {"numbers": 8}
        ),
    ],
    "network-calculus": [
        Reference(
            {
                "L": 3,
                "N": 16,
                "W": 104,
                "L after padding": 5,
                "N after padding": 24,
                "W after padding": 128,
            }
        )
    ],
    "cpa-1d-one-hidden-layer": [
        Reference({"f(x)": 1}, {"at": 2.5}),
        Reference({"f(x)": 16, "kinks": 2, "neurons": 3, "slope to the right": 2}, {"at": 10}),
    ],
    "pieces-1d": [
        Reference({"product bound": 81, "pieces of the tent": 64}),
        Reference(
            {
                "pieces at widths (2, 2)": 7,
                "pieces at widths (3, 2)": 12,
                "weights of the zig-zags": 20,
            }
        ),
        Reference({"pieces": 7, "product bound": 9}, {"kind": "two by two"}),
        Reference({"pieces of the tent": 1024}, {"folds": 10}),
    ],
    "cpa-partition-composition": [
        Reference({"cells": 2, "cells listed": 3, "cells of f": 2}, {"kind": "r∘r"}),
        Reference({"cells": 4, "cells listed": 6}, {"kind": "h∘h", "after": 2}),
        Reference({"listed for r∘r": 3, "cells of r∘r": 2}),
    ],
    "convex-cpa-and-dc": [
        Reference(
            {"g(x)": 1.5, "h(x)": 1.0, "hyperplanes in h": 1, "pieces of g": 3},
            {"kind": "hat", "at": 0.5},
        ),
        Reference({"g(x)": 4.0, "h(x)": 4.0}, {"kind": "hat", "at": 2.0}),
        Reference({"g(x)": 2.0, "h(x)": 2.0}, {"kind": "hat", "at": 2.0, "ridge": "|ν|"}),
    ],
    "cpa-to-relu-compiler": [Reference({"M": 6, "L": 4})],
    "cpa-depth-bound": [
        *(
            Reference(
                {"affine maps that are enough": L, "hidden layers used": L - 1},
                {"inputs": d, "forms": 2},
            )
            for d, L in ((1, 2), (2, 3), (3, 3), (4, 4), (7, 4), (8, 5), (15, 5), (16, 6))
        ),
        *(
            Reference(
                {"hidden layers that are enough": old, "since 2025": new}, {"inputs": d, "forms": 2}
            )
            for d, old, new in ((4, 3, 2), (10, 4, 3), (28, 5, 4))
        ),
        Reference({"hidden layers needed at least": 2}),
    ],
    "one-hidden-layer-not-integrable": [
        Reference(
            {
                "integral of the ridge hat": 6,
                "hyperplanes that survive": 3,
                "limit of |f| on the ray": 0.5,
            },
            {"radius": 3},
        ),
        Reference({"g at distance 2": 1 / 3 - 4 / pi * (1 - sqrt(3) / 2)}, {"radius": 3}),
        Reference({"integral of the ridge hat": 200}, {"radius": 100}),
        Reference(
            {"hyperplanes that survive": 0, "limit of |f| on the ray": 0},
            {"kind": "zero in disguise"},
        ),
    ],
    "fem-basis-relu": [
        Reference(
            {
                "integral of the uniform hat": 1,
                "φ(½, 0)": 0.5,
                "φ(½, −½)": 0,
                "neurons in dimension 1": 3,
                "affine maps in dimension 1": 2,
                "affine maps in dimension 2": 3,
                "affine maps in dimension 3": 3,
                "Poisson: sup error": 1 / 512,
            }
        )
    ],
    "relu-symmetries-conservation": [
        Reference({"factor of a² − w²": 0.96, "copies at tanh width 3": 48}),
        Reference({"factor of a² − w²": 0}, {"tau": 0.5}),
    ],
}
