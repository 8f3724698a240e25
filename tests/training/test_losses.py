"""Losses against their formulas and against optax; labels and data that cannot be used are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import ftheta as ft
from ftheta.logic import SubjectError, UsageError
from ftheta.training import LOSSES, Batches, fit
from ftheta.training.losses import classes, same_size, signs

from .problems import linear, mlp, regression

MARGINS = np.array([-3.0, -1.0, -0.2, 0.0, 0.5, 1.0, 4.0])


@pytest.fixture(autouse=True)
def doubles():
    with jax.enable_x64(True):
        yield


def test_losses_have_the_values_of_the_catalogue_and_of_optax():
    of = {name: loss.of for name, loss in LOSSES.items()}
    p = np.array([1.0, -2.0, 0.5])
    t = np.array([0.5, 1.0, 0.5])
    assert (
        of["squared"](p, t) == 9.25
        and of["half-squared"](p, t) == 4.625
        and of["absolute"](p, t) == 3.5
    )
    assert of["huber"](p, t) == pytest.approx(float(optax.losses.huber_loss(p, t).sum()), rel=1e-14)
    assert of["logistic"](0.0, 1.0) == pytest.approx(np.log(2), rel=1e-15)
    assert of["logistic"](2.0, 1.0) == pytest.approx(0.126928011, abs=1e-9)
    assert of["cross-entropy"](np.zeros(7), np.eye(7)[3]) == pytest.approx(np.log(7), rel=1e-15)
    for m in MARGINS:
        assert of["hinge"](m, 1.0) == max(0, 1 - m) and of["hinge"](m, -1.0) == max(0, 1 + m)
    soft = np.array([0.2, 0.5, 0.3])
    assert of["cross-entropy"](p, soft) == pytest.approx(
        float(optax.losses.softmax_cross_entropy(p, soft)), rel=1e-14
    )


@pytest.mark.parametrize("name", ["logistic", "cross-entropy"])
def test_losses_do_not_overflow(name):
    target = 1.0 if name == "logistic" else np.array([1.0, 0.0])
    for size in (1e3, -1e3):
        prediction = size if name == "logistic" else np.array([size, 0.0])
        value, slope = jax.value_and_grad(LOSSES[name].of)(prediction, target)
        assert value == pytest.approx(max(0.0, -size), abs=1e-12) and np.isfinite(slope).all()


def test_labels_become_targets():
    assert classes(np.array([0, 2]), (3,)).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert classes(np.array([[0.0], [1.0]]), (2,)).tolist() == [[1, 0], [0, 1]]
    assert classes(np.array([[0.3, 0.7]]), (2,)).tolist() == [[0.3, 0.7]]
    assert (
        signs(np.array([0, 1]), (1,)).tolist()
        == [[-1], [1]]
        == signs(np.array([-1.0, 1.0]), (1,)).tolist()
    )
    assert same_size(np.array([1, 2]), ()).shape == (2,) and same_size(
        np.array([1, 2]), (1,)
    ).shape == (2, 1)


def test_a_classifier_learns_the_classes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2)) + np.repeat(np.array([[0, 4], [4, 0], [-4, -4]]), 30, axis=0)
    y = np.repeat([0, 1, 2], 30)
    right = {"right": lambda p, t: jnp.mean(jnp.argmax(p, 1) == jnp.argmax(t, 1))}
    trained = fit(
        mlp(2, 3),
        ft.Dataset("three clouds", x, y),
        "cross-entropy",
        step=0.05,
        steps=201,
        metrics=right,
    )
    assert trained.history.metrics["right"][-1] > 0.97 and trained.history.evaluated.tolist() == [
        0,
        100,
        200,
    ]


def test_a_function_is_a_loss():
    quantile = lambda prediction, target: jnp.maximum(
        0.9 * (target - prediction), -0.1 * (target - prediction)
    )
    y = np.arange(100.0)
    trained = fit(
        (np.array(0.0), lambda p, x: p),
        (np.ones((100, 1)), y),
        quantile,
        "gd",
        step=2.0,
        steps=2000,
    )
    assert 87 <= trained.params <= 92  # the 0.9 quantile, within one step


def refused(match: str, net=None, data=None, **how) -> str:
    with pytest.raises((UsageError, SubjectError), match=match) as caught:
        fit(
            mlp() if net is None else net,
            regression() if data is None else data,
            **{"steps": 1, **how},
        )
    return str(caught.value)


def test_losses_that_are_not_one_number_are_refused():
    assert "shape (1,)" in refused("one real number", loss=lambda p, t: (p - t) ** 2)
    refused("one real number", loss=lambda p, t: jnp.argmax(p))
    refused("cannot be evaluated", loss=lambda p, t: p @ jnp.ones((7, 7)))
    refused("Unknown loss", loss="sqared")


def test_labels_out_of_range_are_refused():
    x, _ = regression(4)
    said = refused("classes 0, …, 2", mlp(3, 3), (x, [0, 1, 3, 2]), loss="cross-entropy")
    assert "y[2]" in said and "4 outputs" in said
    refused("classes 0, …, 2", mlp(3, 3), (x, [0, -1, 1, 2]), loss="cross-entropy")
    refused("classes 0, …, 2", mlp(3, 3), (x, [0, 0.5, 1, 2]), loss="cross-entropy")
    refused("sum 1", mlp(3, 3), (x, np.ones((4, 3))), loss="cross-entropy")
    refused("Binary labels", mlp(), (x, [0, 1, 2, 1]), loss="logistic")
    refused("one class per row", mlp(3, 3), (x, np.ones((4, 2))), loss="cross-entropy")


def test_data_that_cannot_be_used_are_refused():
    x, y = regression(10)
    refused("non-empty", data=(np.zeros((0, 3)), np.zeros(0)))
    refused("one target per row", data=(x, y[:9]))
    assert "x[4, 1]" in refused(
        "finite", data=(np.where(np.arange(30).reshape(10, 3) == 13, np.nan, x), y)
    )
    assert "y[0]" in refused("finite", data=(x, np.where(np.arange(10) == 0, np.inf, y)))
    refused("do not fit the network", data=(x[:, :2], y))
    refused("does not take the rows", net=(np.ones(4), linear), data=(x, y))
    refused("size of the predictions", data=(x, np.ones((10, 2))))
    refused("no targets", data=ft.Dataset("rows alone", x))
    refused("pair", data=x)
    refused("real numbers", data=(x, np.array(list("abcdefghij"))))


def test_senseless_arguments_are_refused():
    for step in (0, -0.1, np.nan, np.inf, "fast"):
        refused("step must be a positive", step=step)
    refused("has its own step", optimiser=optax.sgd(0.1), step=0.1)
    refused("Unknown optimiser", optimiser="adamm")
    refused("larger than the data", batch=51)
    refused("whole number of rows", batch=0)
    with pytest.raises(UsageError, match="kept or dropped"):
        Batches(2, last="forget")  # type: ignore[arg-type]
    refused("how long", steps=None)
    refused("how long", epochs=2)
    refused("`steps` must be", steps=-1)
    refused("`seed` must be", seed=-1)
    refused("`every` must be", every=0)
    refused("`evaluate_every` must be", metrics={"m": lambda p, t: 0.0}, evaluate_every=0)
    refused("one number", metrics={"m": lambda p, t: p})
    refused("floating point", dtype=int)


def test_what_is_not_a_network_is_refused():
    refused("not clear how to train", net=42)
    refused("no parameters", net=((), lambda p, x: x))
    refused("not finite", net=(np.array([1.0, np.nan, 1.0]), linear))
    refused("real parameters", net=(np.ones(3, complex), linear))


def test_an_embedding_takes_whole_numbers():
    table = np.random.default_rng(0).normal(size=(5, 2))
    numbers = np.array([[0], [1], [2], [3], [4]])
    trained = fit((table, lambda p, x: p[x[0]]), (numbers, np.zeros((5, 2))), steps=300, step=0.05)
    assert trained.loss < 1e-3
