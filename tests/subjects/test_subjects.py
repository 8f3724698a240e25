from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import Status, SubjectError, UsageError
from ftheta.networks import random_mlp
from ftheta.subjects import Dataset, Measure, Network, Target, Training
from ftheta.subjects.hypotheses import curvature_of, optimum_of
from ftheta.subjects.layers import describes_this_function
from ftheta.subjects.resolve import load


def mlp(seed: int = 0) -> Network:
    return Network.described(random_mlp(np.random.default_rng(seed), (3, 4, 2)), "mlp")


def test_an_equinox_mlp_becomes_a_network_with_its_description():
    module = eqx.nn.MLP(3, 2, 8, 2, key=jax.random.key(0))
    net = load(module)
    assert (
        isinstance(net, Network)
        and net.description is not None
        and net.description.widths == (3, 8, 8, 2)
    )
    x = np.array([0.1, -0.2, 0.3])
    np.testing.assert_allclose(net(x), module(jnp.asarray(x, jnp.float32)), rtol=1e-5)
    np.testing.assert_allclose(net.description.apply(net.description.params, x), net(x), rtol=1e-5)


@pytest.mark.parametrize(
    "final, described", [(jax.nn.relu, True), (jax.nn.tanh, True), (jnp.sin, False)]
)
def test_the_description_of_an_mlp_includes_its_last_activation_or_is_not_given(final, described):
    module = eqx.nn.MLP(
        3, 2, 8, 1, activation=jax.nn.tanh, final_activation=final, key=jax.random.key(0)
    )
    net = Network.of(module, (3,))
    assert (net.description is not None) == described
    if net.description is not None:
        x = np.array([1.0, -2.0, 0.5])
        with jax.enable_x64(True):
            np.testing.assert_allclose(
                net.description.apply(net.description.params, x), net(x), rtol=1e-12
            )


def test_parameters_are_kept_in_float64_whatever_they_were():
    net = Network.of(eqx.nn.Linear(3, 2, key=jax.random.key(0)), (3,))
    assert {leaf.dtype for leaf in jax.tree.leaves(net.params)} == {np.dtype(np.float64)}
    assert net.parameters == 8 and net.output_shape == (2,)


def test_the_fingerprint_changes_with_any_weight_and_not_otherwise():
    assert mlp(0).fingerprint == mlp(0).fingerprint != mlp(1).fingerprint
    one, two = (Network.of(lambda x, c=c: c * x, (3,)) for c in (1.0, 2.0))
    assert one.fingerprint != two.fingerprint


def test_a_function_that_cannot_be_traced_is_refused_with_its_name():
    with pytest.raises(SubjectError, match="cannot trace"):
        Network.of(lambda x: float(x[0]), (3,))
    with pytest.raises(SubjectError, match="cannot trace"):
        Network.of(lambda x: jnp.ones((2, 5)) @ x, (3,))


def test_a_list_of_layers_that_is_not_the_function_is_found_out():
    told = mlp()
    for apply in (lambda p, x: told.apply(p, x) + 0.01, lambda p, x: x, lambda p, x: x * np.nan):
        other = replace(told, apply=apply)
        with jax.enable_x64(True):
            assert describes_this_function(other, {}).status is Status.FAILED
    with jax.enable_x64(True):
        assert describes_this_function(told, {}).status is Status.PROVED
        assert (
            describes_this_function(replace(told, apply=lambda p, x: told.apply(p, x)), {}).status
            is Status.SAMPLED
        )


def test_nan_parameters_are_refused():
    module = eqx.tree_at(
        lambda m: m.weight, eqx.nn.Linear(2, 1, key=jax.random.key(0)), jnp.array([[jnp.nan, 1.0]])
    )
    with pytest.raises(SubjectError, match="not finite"):
        Network.of(module, (2,))


def test_data_must_fit_the_network_and_be_finite():
    with pytest.raises(SubjectError, match="do not fit"):
        mlp().with_data(Dataset("rows", np.ones((4, 5))))
    with pytest.raises(SubjectError, match=r"x\[1, 0\]"):
        Dataset("rows", np.array([[1.0], [np.inf]]))
    with pytest.raises(SubjectError, match="one label per row"):
        Dataset("rows", np.ones((3, 1)), np.zeros(2))


def test_images_are_reshaped_to_a_network_that_takes_vectors():
    net = Network.described(random_mlp(np.random.default_rng(0), (64, 3)), "net")
    assert net.with_data(Dataset("images", np.ones((5, 8, 8)))).data.x.shape == (5, 64)  # type: ignore[union-attr]


def test_a_function_of_scalars_becomes_a_target_named_after_its_arguments():
    target = load(lambda a, b: a * b, takes=(Target,))
    assert isinstance(target, Target) and target.arguments == ("a", "b") and target.dimension == 2


def test_a_measure_needs_weights_of_sum_one():
    with pytest.raises(SubjectError, match="sum 1"):
        Measure("m", np.ones((2, 1)), np.array([0.5, 0.6]))


def test_the_optimum_of_a_convex_objective_is_found_with_its_error():
    centre = np.array([1.0, -2.0])

    def objective(theta):
        return jnp.sum(jnp.log(jnp.cosh(theta - centre))) + 0.1 * jnp.sum((theta - centre) ** 2)

    with jax.enable_x64(True):
        found, doubt = optimum_of(Training("softly convex", objective, np.zeros(2)))
        lo, hi = curvature_of(Training("softly convex", objective, np.zeros(2), centre))
    np.testing.assert_allclose(found, centre, atol=1e-10)
    assert doubt < 1e-10 and 0.2 <= lo.lo <= hi.hi <= 1.2 + 1e-12


def test_a_training_takes_lists():
    given: dict[str, Any] = {"start": [1.0, 2], "optimum": [0, 0], "hessian": [[1, 0], [0, 1]]}
    lists = Training("lists", lambda t: t @ t / 2, **given)
    assert (
        lists.start.dtype == np.float64 and lists.optimum is not None and lists.hessian is not None
    )
    arrays = Training(
        "arrays", lambda t: t @ t / 2, np.array([1.0, 2.0]), np.zeros(2), hessian=np.eye(2)
    )
    results = [ft.check("gd-strongly-convex", subject) for subject in (lists, arrays)]
    assert results[0].verdict == results[1].verdict and results[0].numbers == results[1].numbers


@pytest.mark.parametrize(
    "given",
    [
        {"objective": 3.0},
        {"start": ["a", "b"]},
        {"start": [[1.0], [1.0, 2.0]]},
        {"start": [np.nan, 0.0]},
        {"start": None},
        {"optimum": [0.0]},
        {"optimum": "origin"},
        {"hessian": [1.0, 1.0]},
        {"hessian": [[1.0]]},
    ],
)
def test_a_training_of_other_things_is_refused_at_once(given):
    good = {"name": "mine", "objective": lambda t: t @ t / 2, "start": [1.0, 2.0]}
    with pytest.raises(SubjectError) as caught:
        Training(**{**good, **given})
    assert caught.value.where == "mine"


def test_a_theorem_is_checked_by_its_id_or_itself():
    from ftheta.theorems.optimisation.gd_strongly_convex import gd_strongly_convex as theorem

    by_id = ft.check("gd-strongly-convex", kappa=7)
    itself = ft.check(theorem, kappa=7)
    assert by_id.numbers == itself.numbers and by_id.verdict == itself.verdict
    others: list[Any] = [None, 5, theorem.measure, ["gd-strongly-convex"]]
    for other in others:
        with pytest.raises(UsageError, match="which theorem"):
            ft.check(other)


def test_a_trained_description_can_be_called():
    rng = np.random.default_rng(0)
    net = random_mlp(rng, (3, 4, 2))
    x = rng.normal(size=(5, 3))
    trained = ft.fit(net, (x, rng.normal(size=(5, 2))), steps=3).network
    wrapped = Network.described(trained, "trained")
    for rows in (x[0], x, x[0].tolist()):
        value = trained(rows)
        assert value.dtype == np.float64
        np.testing.assert_array_equal(value, wrapped(np.asarray(rows)))
