"""Chapter architectures."""

from math import pi, sin, sqrt

from .reference import Reference

VALUES = {
    "autoencoder-svd-rom": [
        Reference(
            {"Frobenius error": sqrt(5), "spectral error": 2, "error of the autoencoder": sqrt(5)},
            {"data": "diagonal 3 2 1", "rank": 1},
        ),
        Reference(
            {"Frobenius error": 1, "spectral error": 1}, {"data": "diagonal 3 2 1", "rank": 2}
        ),
    ],
    "perceptron-xor": [
        Reference({"mistakes": 2, "bound": 2, "best affine MSE of XOR": 0.25}),
        Reference(
            {
                f"threshold functions of {n} bits": f
                for n, f in ((1, 4), (2, 14), (3, 104), (4, 1882))
            }
        ),
    ],
    "hopfield": [
        Reference(
            {"energy of the first pattern": -1.5, "energy after one flip": 0.0},
            {"bits": 4, "stored": 1},
        ),
        Reference({"bit error": 0.0035522}, {"load": 0.138}, rtol=1e-5),
    ],
    "ista-lista": [
        Reference({"S_1(3, −½, −2) 1": 2, "S_1(3, −½, −2) 2": 0, "S_1(3, −½, −2) 3": -1}),
        Reference({"orthonormal code 1": 1.7, "orthonormal code 2": 0}),
    ],
    "gnn-message-passing": [
        Reference({"triangles of C6": 0, "triangles of 2C3": 2, "colours of C6 and 2C3": 1}),
        Reference({"entry of the two-node GCN matrix": 0.5}),
    ],
    "rnn-dynamical": [
        Reference(
            {"‖∂h_T/∂h_0‖": 0.0051537752},  # 0.9⁵⁰
            {"hidden": 1, "gain": 0.9, "steps": 50, "sigma": "identity"},
            rtol=2e-9,
        ),
        Reference({"c": 0.9 / 4}, {"sigma": "sigmoid", "steps": 10}),
    ],
    "unet": [Reference({"side 572 becomes": 388, "parameters of the published U-Net": 31_030_658})],
    "autoencoder-svd-rom-deep": [
        Reference(
            {"half a ring of 64, lost by two linear numbers": 1 - 8 / (64 * sin(pi / 64)) ** 2}
        )
    ],
    "autoencoder-svd-rom-sindy": [
        Reference(
            {
                "coefficient of x in dx/dt": -10,
                "coefficient of x in dy/dt": 28,
                "coefficient of z in dz/dt": -8 / 3,
            }
        )
    ],
}
