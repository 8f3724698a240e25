"""Kernels and predictions against numbers of neural-tangents 0.6.5 (JAX 0.4.20, double precision), line by line."""

import numpy as np
import pytest

from ftheta.kernels.linearisation import linearised
from ftheta.kernels.wide.closed_forms import closed_form
from ftheta.kernels.wide.layers import (
    Activation,
    AveragePool,
    Conv,
    Dense,
    Flatten,
    LayerNorm,
    Residual,
)

X = np.array([[1.0, 0.5, -0.25], [-0.5, 2.0, 0.75], [0.1, -0.3, 1.2]])
Z = np.array([[0.2, -1.0, 0.4], [1.5, 0.3, -0.6]])
IMAGES = (np.arange(2 * 4 * 5 * 2).reshape(2, 4, 5, 2) % 7 - 3) / 3
OTHER = (np.arange(4 * 5 * 2).reshape(1, 4, 5, 2) % 5 - 2) / 2

D = Dense(1.5**2, 0.3**2)
C = Conv(3, 1.3**2, 0.2**2)
relu = Activation("relu")
strided = Conv(3, 1.3**2, 0.2**2, stride=2)


def deep(name: str) -> tuple:
    return D, Activation(name), D, Activation(name), D


# the covariance of the first rows and of the second, then the same of the tangent kernel
VECTORS = {
    "Relu": (
        deep("relu"),
        (0.7515217498255418, 1.7999588558754647, 0.9149202670160733, 2.271754481469249),
    ),
    "Erf": (
        deep("erf"),
        (-0.0030653115678728887, 0.043579071092828235, -0.2689252056168017, -0.11313385030989129),
    ),
    "Gelu": (
        deep("gelu"),
        (0.39090854741852177, 1.292076675329715, 0.43303251969549705, 1.5818798986102711),
    ),
    "Sin": (
        (D, Activation("sine"), D),
        (-0.07955705410748934, 0.044788377167034835, -0.25159929963571903, -0.0023597182475273287),
    ),
    "Abs": (
        (D, Activation("abs"), D),
        (1.5979963673688529, 4.129884762682642, 1.6596776624040073, 4.196435760643),
    ),
    "LeakyRelu(0.01)": (
        (D, Activation("leaky-relu"), D),
        (0.3389974974145531, 0.8733025139763143, 0.2336116442305418, 0.683038922251551),
    ),
    "FanInSum": (
        (D, Residual((relu, Dense(0.9**2, 0.1**2))), D),
        (-0.15031198560780726, -0.04344833555676497, -0.4738147589709958, -0.32744509402655736),
    ),
    "LayerNorm": (
        (D, LayerNorm(), relu, D),
        (0.3410111676983377, 0.37867400117280214, 0.24142599666816983, 0.3122275444551148),
    ),
    'parameterization="standard"': (
        (Dense(1.5**2, 0.3**2, 3), relu, Dense(1.5**2, 0.3**2, 64)),
        (0.3488740918422132, 0.8974711906706604, 8.65697165562959, 24.174583035198687),
    ),
}

PICTURES = {
    "GlobalAvgPool": (
        (C, relu, C, relu, AveragePool(), D),
        (0.3320218928832137, 0.33420017022594317, 0.43815039565022446, 0.442070454448222),
    ),
    "Flatten": (
        (C, relu, C, relu, Flatten(), D),
        (0.3691682901675333, 0.3508769149835147, 0.5269889666025076, 0.4633196955817057),
    ),
    'padding="CIRCULAR"': (
        (Conv(3, 1.3**2, 0.2**2, padding="circular"), Activation("erf"), AveragePool(), D),
        (0.13371762636785375, 0.13272091538910982, 0.1781191367288581, 0.17607206295496375),
    ),
    "a residual block of images": (
        (C, Residual((relu, Conv(3, 0.9**2, 0.1**2))), AveragePool(), D),
        (0.3116741385460544, 0.3171404235768461, 0.5461031878126987, 0.5578065716694784),
    ),
    "strides=(2, 2)": (
        (strided, relu, Flatten(), D),
        (0.28789627874618323, 0.26972404209116957, 0.31166700197406255, 0.2696517288311564),
    ),
    "strides=(2, 2) and all pairs": (
        (strided, relu, C, AveragePool(), D),
        (0.2942107045953274, 0.28349223865756834, 0.5182174586163595, 0.4827412843609532),
    ),
    "LayerNorm of images": (
        (C, LayerNorm(), relu, AveragePool(), D),
        (0.496010879838792, 0.4953814749293072, 0.5507449484518838, 0.5491273057826336),
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_fully_connected_kernels(name):
    layers, (first, second, tangent, other) = VECTORS[name]
    found = closed_form(layers, X, Z)
    assert [found.nngp[0, 0], found.nngp[1, 1]] == pytest.approx([first, second], rel=1e-11)
    assert [found.ntk[0, 0], found.ntk[1, 1]] == pytest.approx([tangent, other], rel=1e-11)


@pytest.mark.parametrize("name", PICTURES)
def test_convolutional_kernels(name):
    layers, expected = PICTURES[name]
    found = closed_form(layers, IMAGES, OTHER)
    assert [*found.nngp[:, 0], *found.ntk[:, 0]] == pytest.approx(expected, rel=1e-11)


def test_pools_side_by_side():
    found = closed_form(
        (C, relu, AveragePool(2), C, relu, Flatten(), D), IMAGES[:, :, :4], OTHER[:, :, :4]
    )
    expected = (0.2257459203934484, 0.22778836311755288, 0.33348357884964697, 0.3427789003390714)
    assert [*found.nngp[:, 0], *found.ntk[:, 0]] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("t", "mean", "variance"),
    [
        (0.7, (0.12554301866420736, 0.5488378529491975), (0.7917588608744253, 0.9441498069253114)),
        (
            np.inf,
            (0.27264989376501836, 1.3657242070856928),
            (0.5485680480504458, 0.1653299950747833),
        ),
    ],
)
def test_training_of_an_ensemble(t, mean, variance):
    """`nt.predict.gradient_descent_mse_ensemble`: time is in units of the mean over three numbers."""
    found = linearised((D, relu, D), X, np.array([1.0, -0.5, 0.25]), test=Z)
    assert found.predict(t / 3) == pytest.approx(mean, rel=1e-11)
    assert found.spread(t / 3) ** 2 == pytest.approx(variance, rel=1e-10)
    if t < np.inf:
        assert found.at(t / 3) == pytest.approx(
            [0.39288517156437336, -0.3187156347548316, 0.10723923846887339]
        )
