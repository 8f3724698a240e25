"""Chapter equivariance."""

from .reference import Reference

VALUES = {
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
    "group-equivariant-linear-maps": [
        Reference(
            {
                "equivariant maps": 2,
                "group order": 24,
                "textbook projection": 2.5,
                "textbook projection, spread": 0,
            }
        ),
        Reference(
            {"equivariant maps": 8, "by null space": 8}, {"action": "permutations of nodes", "n": 2}
        ),
        Reference(
            {"equivariant maps": 14, "by null space": 14},
            {"action": "permutations of nodes", "n": 3},
        ),
        Reference(
            {"equivariant maps": 15, "orbits of pairs": 15},
            {"action": "permutations of nodes", "n": 4},
        ),
    ],
    "subsampling-receptive-field": [
        Reference(
            {"receptive field": 195, "support of the gradient": 195, "jump": 32},
            {"architecture": "AlexNet"},
        ),
        Reference({"receptive field": 212, "jump": 32}, {"architecture": "VGG-16"}),
        Reference(
            {"receptive field": 899, "support of the gradient": 899}, {"architecture": "ResNet-34"}
        ),
    ],
    "cnn-alexnet-activations": [
        Reference(
            {"parameters of AlexNet": 60_965_224, "last side": 6}
            | {
                f"side after convolution {k}": side
                for k, side in enumerate((55, 27, 13, 13, 13), 1)
            }
        ),
        Reference(
            {"parameters of AlexNet, ungrouped": 62_378_344}, {"table": "AlexNet, ungrouped"}
        ),
    ],
    "pde-net-stencils": [
        Reference(
            {f"[1, −2, 1]: moment {k}": m for k, m in enumerate((0, 0, 2, 0, 2))}
            | {f"[−½, 0, ½]: moment {k}": m for k, m in enumerate((0, 1, 0, 1))}
        ),
        Reference({"[1, −2, 1]/h² of cos at 0, h = 0.1": -0.9991669444}, rtol=5e-11),
    ],
}
