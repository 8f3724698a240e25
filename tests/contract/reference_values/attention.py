"""Chapter attention."""

from math import log

from .reference import Reference

VALUES = {
    "clustering-closed-forms": [
        Reference({"cosine": 0.7615941560}, {"beta": 0, "time": 1, "tokens": 2}),
        Reference({"cosine": 0.6149794590}, {"beta": 0, "time": 1, "tokens": 4}),
        Reference({"cosine": 0.5791953369}, {"beta": 1, "time": 1, "tokens": 2}),
        Reference({"cosine": 0.4794867822}, {"beta": 1, "time": 1, "tokens": 4}),
        Reference(
            {"cosine": 0.8940097769}, {"beta": 1, "time": 1, "tokens": 3, "kind": "unnormalised"}
        ),
    ],
    "transformer-block": [
        Reference(
            {
                "block at d = 768": 7_087_872,
                "GPT-1": 116_534_784,
                "parameters of a block": 12 * 32**2 + 13 * 32,
            }
        )
    ],
    "transformer-block-optimisers": [Reference({"all tokens alike": log(43)})],
    "self-attention": [
        Reference({"tokens 0, R, −R: slope": (2 * 9 + 1) / 3}),
        Reference(
            {"tokens 0, R, −R: slope": (2 * 100**2 + 1) / 3},
            {"radius": 100, "inputs": 1, "tokens": 2},
        ),
    ],
    "attention-particle-flow": [
        Reference(
            {"cosine of 4 orthonormal tokens": 0.4794867822, "clusters at the end": 1},
            {"beta": 1},
            rtol=1e-7,
        ),
        Reference(
            {"cosine of 4 orthonormal tokens": 0.6149794590},
            {"beta": 0, "tokens": 4, "time": 1},
            rtol=1e-7,
        ),
    ],
    "mean-field-attention": [
        Reference(
            {"s(t) of the scalar equation": 1 / 2, "blow-up of the scalar equation": 2},
            {"variance": 0.25, "time": 1},
            rtol=1e-8,
        )
    ],
}
