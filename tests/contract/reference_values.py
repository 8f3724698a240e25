"""Values that the catalogue states, each recomputed independently: knobs -> numbers of the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any


@dataclass(frozen=True)
class Reference:
    expected: Mapping[str, float]
    knobs: Mapping[str, Any] = field(default_factory=dict)
    rtol: float = 1e-9


REFERENCE: dict[str, list[Reference]] = {
    "gd-strongly-convex": [
        Reference({"gamma": 81 / 121, "error at K": 2 * (9 / 11) ** 20}, {"kappa": 10, "steps": 10}),
        Reference({"gamma": 0.6694214876, "error at K": 0.0361431900}, {"kappa": 10, "steps": 10}, rtol=2e-9),
        Reference({"gamma": 0.9607881580}, {"kappa": 100}),
    ],
    "hoeffding-chebyshev": [
        Reference(
            {"Hoeffding radius": 0.0429469408, "printed radius": 0.0858938817, "Chebyshev radius": 0.0707106781},
            {"n": 1000, "delta": 0.05},
            rtol=2e-9,
        ),
        Reference({"Hoeffding radius": 0.1358102, "Hoeffding tail": 0.0066371}, {"n": 100, "delta": 0.05}, rtol=4e-6),
        Reference({"Hoeffding tail": 0.006637120515926126}, {"n": 100, "delta": 0.05}),
    ],
    "activation-zoo": [
        Reference({"tanh: slope at x": 1.8158323094380667e-4}, {"activation": "tanh", "point": 5.0}),
        Reference(
            {f"{name}: Lipschitz constant": 1.0 for name in ("tanh", "arctan", "relu", "leaky-relu")}
            | {"sigmoid: Lipschitz constant": 0.25}
        ),
        Reference({"gelu: Lipschitz constant": 1.128904145185155}, {"activation": "gelu"}),
    ],
    "barron-rate": [
        Reference({"bound": 0.1595769121605731, "C_f": 0.7978845608028654}, {"dimension": 1, "radius": 1.0, "p": 100}),
        Reference({"C_f": 3.0843278}, {"dimension": 10, "p": 100}, rtol=2e-8),
    ],
    "hat-function": [
        Reference({"sup |f − h|": 0, "integral": 1, "hidden neurons": 3, "printed formula at 2": 1, "iterate at 2": 1}),
        Reference({"iterate at 2": 0}, {"iterates": 3}),
    ],
    "double-descent": [
        Reference(
            {
                "risk at p = 0": 1.25,
                "risk at p = 10": 2.4277777777777776,
                "risk at p = 18": 20.33,
                "risk at p = 22": 21.65,
                "risk at p = 40": 1.944736842105263,
                "risk at p = 100": 1.1132911392405063,
            }
        )
    ],
    "conv-iff-equivariant": [
        Reference(
            {
                "free parameters": 96,
                "dense parameters": 1536,
                "commutant dimension": 16,
                "largest commutator": 0,
                "distance to the convolution": 0,
            }
        ),
        Reference(
            {"eigenvalue 0": 0, "eigenvalue 1": 2, "eigenvalue 2": 4, "eigenvalue 3": 2},
            {"kernel": "Laplacian", "dimension": 1, "inputs": 1, "outputs": 1},
        ),
    ],
    "lipschitz-bounds": [
        Reference({"steepest secant": 1, "product of norms": 2}, {"kind": "absolute value"}),
        Reference(
            {"product of norms": 4, "steepest secant": 4, "norm of layer 1 by frequencies": 4},
            {"kind": "second difference", "inputs": 8},
        ),
    ],
    "autoencoder-svd-rom": [
        Reference(
            {"Frobenius error": sqrt(5), "spectral error": 2, "error of the autoencoder": sqrt(5)},
            {"data": "diagonal 3 2 1", "rank": 1},
        ),
        Reference({"Frobenius error": 1, "spectral error": 1}, {"data": "diagonal 3 2 1", "rank": 2}),
    ],
    "worked-example-graph": [
        Reference({"value": 1, "∂θ1": 2, "∂θ2": 1.5, "adjoint of θ5": 0.5}),
        Reference(
            {"value": 5.2416212208, "∂θ1": 7.8624318312, "∂θ2": 7.1575873005}, {"theta1": 1, "theta2": 1}, rtol=1e-10
        ),
        Reference(
            {"value": 13.7927705622, "∂θ1": 20.6891558433, "∂θ2": 9.8088584253}, {"theta1": 1, "theta2": 2}, rtol=1e-10
        ),
    ],
}
