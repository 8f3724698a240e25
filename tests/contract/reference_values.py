"""Values that the catalogue states, each recomputed independently: knobs -> numbers of the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
}
