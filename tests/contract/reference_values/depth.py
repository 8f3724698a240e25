"""Chapter depth."""

from math import e, exp, log

from .reference import Reference

VALUES = {
    "neural-ode-limit": [
        Reference({"output": 2.5937424601}, {"depth": 10}, rtol=1e-10),
        Reference({"output": 2.7048138294}, {"depth": 100}, rtol=1e-10),
        Reference({"C": (e - 1) * e / 2}),
        Reference(
            {"T × error at T → ∞": e / 2}, rtol=1e-5
        ),  # extrapolated from the two largest depths
        Reference(
            {"norm of the output": 1.2177482713}, {"flow": "rotation", "depth": 100}, rtol=1e-10
        ),
    ],
    "resnet-block-34": [
        Reference(
            {
                "parameters of ResNet-34": 21_797_672,
                "weighted layers": 34,
                "(1 − c/T)^T": 0.9**10,
                "(1 + c/T)^T": 1.1**10,
            }
        ),
        Reference({"(1 − c/T)^T": 0.3486784, "(1 + c/T)^T": 2.5937425}, {"depth": 10}, rtol=2e-7),
    ],
    "flow-diffeomorphism": [
        Reference(
            {"det of the flow's DΦ there": exp(-2), "∏(1 − L_k)": (7 / 8) ** 16},
            {"flow": "growth", "rate": -2.0},
        ),
        Reference(
            {"det of the flow's DΦ there": 1.0, "exp ∫ tr Dv there": 1.0},
            {"flow": "rotation", "rate": 0.5},
        ),
    ],
    "depth-scaling-regimes": [
        Reference(
            {
                "E‖h_L‖²/‖h₀‖²": 1.01**100,
                "second moment, β = 1": 1.0001**100,
                "second moment, β = ¼": 1.1**100,
            }
        ),
        Reference(
            {"second moment, β = ½": 2.7048138, "second moment, β = ¼": 13780.6123}, rtol=3e-8
        ),
        Reference({"E‖h_L‖²/‖h₀‖²": 1.0100497}, {"beta": 1.0}, rtol=5e-8),
    ],
    "adjoint-method": [
        Reference({"∂L/∂a, continuous": -0.579160713}, rtol=1e-9),
        Reference({"∂L/∂a, discrete": (1.0625**8 - 2) * 1.0625**7}),
    ],
    "singular-limit-explosion": [
        Reference(
            {"‖θ(t)‖": log(2001) / 2, "F(θ(t))": 1 / 4002}, rtol=1e-6
        ),  # at t = 1000, by an integrator
        Reference({"‖θ(t)‖": 1.5222612, "F(θ(t))": 1 / 42}, {"until": 10.0}, rtol=1e-7),
    ],
    "resnet-local-pl": [
        Reference(
            {"m(0) for infinitely many frequencies": 2.0, "‖∇L‖²/L at V = 0": 2.0}, {"rows": 1}
        )
    ],
}
