"""Chapter gradients."""

from .reference import Reference

VALUES = {
    "worked-example-graph": [
        Reference({"value": 1, "∂θ1": 2, "∂θ2": 1.5, "adjoint of θ5": 0.5}),
        Reference(
            {"value": 5.2416212208, "∂θ1": 7.8624318312, "∂θ2": 7.1575873005},
            {"theta1": 1, "theta2": 1},
            rtol=1e-10,
        ),
        Reference(
            {"value": 13.7927705622, "∂θ1": 20.6891558433, "∂θ2": 9.8088584253},
            {"theta1": 1, "theta2": 2},
            rtol=1e-10,
        ),
    ],
    "forward-mode-and-finite-differences": [
        Reference(
            {"one-sided difference": 1.00501670842, "forward mode": 1.0, "evaluations": 5},
            {"epsilon": 0.01},
        ),
        Reference({"evaluations": 2}, {"dimension": 1}),
    ],
    "reverse-mode": [Reference({"forward multiplications": 830, "backward multiplications": 1460})],
    "backprop-mlp": [Reference({"neuron ∂w1": 1.5, "neuron ∂w2": 3.0, "neuron ∂w3": 4.5})],
    "training-loop": [
        Reference(
            {"θ 1": 13 / 9, "θ 2": 10 / 9, "least squares loss": 4 / 27, "loss at K": 4 / 27}
        ),
        Reference({"loss at the start": 14 / 3}, {"steps": 5}),
    ],
    "gradient-product-bound": [
        # no unit is ever on
        Reference(
            {"dead units": 8, "gradient of layer 1": 0, "bound of layer 1": 0},
            {"activation": "relu", "shift": -10.0, "gain": 0.1, "depth": 3, "width": 4},
        )
    ],
    "signal-propagation-init": [
        Reference({"factor fitted": 0.5}, {"gain": 1.0}, rtol=0.01),  # simulated
        Reference({"factor fitted": 1.0}, {"gain": 2.0}, rtol=0.01),
    ],
}
