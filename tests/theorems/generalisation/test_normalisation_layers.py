"""Batch, layer and weight normalisation: against PyTorch's and equinox's, and what they do to slopes and lengths."""

from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.logic import UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.running import run
from ftheta.theorems.generalisation.normalisation_layers import normalisation_layers
from ftheta.theorems.generalisation.normalisation_layers.normalisation import (
    Running,
    batch_norm,
    change_under_scaling,
    invariant_blocks,
    layer_norm,
    normalised_loss,
    normalised_mlp,
    restrict,
    weight_norm,
)
from ftheta.theorems.generalisation.normalisation_layers.units_and_batches import (
    average_batch_variance,
    rayleigh,
)

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(16, 5)) * [1.0, 2.0, 3.0, 4.0, 5.0] + 3


def test_layer_norm_is_that_of_equinox():
    with jax.enable_x64(True):
        peer = eqx.nn.LayerNorm(5, eps=1e-3, use_weight=False, use_bias=False, dtype=jnp.float64)
        assert np.allclose(
            layer_norm(jnp.asarray(Z), 1e-3), jax.vmap(peer)(jnp.asarray(Z)), atol=1e-12
        )


def test_batch_norm_and_its_running_statistics_are_those_of_torch():
    torch = pytest.importorskip("torch")
    peer = torch.nn.BatchNorm1d(5, eps=1e-3, momentum=0.3, affine=False, dtype=torch.float64)
    running = Running(np.zeros(5), np.ones(5))
    with jax.enable_x64(True):
        for batch in (Z[:8], Z[8:]):
            trained = peer(torch.tensor(batch)).numpy()
            assert np.allclose(batch_norm(jnp.asarray(batch), 1e-3), trained, atol=1e-10)
            running = running.after(jnp.asarray(batch), 0.3)
        assert np.allclose(running.mean, peer.running_mean) and np.allclose(
            running.variance, peer.running_var
        )
        evaluated = peer.eval()(torch.tensor(Z)).numpy()
        assert np.allclose(batch_norm(jnp.asarray(Z), 1e-3, running), evaluated, atol=1e-10)


def test_weight_norm_gives_rows_of_length_one():
    assert np.allclose(np.linalg.norm(weight_norm(Z), axis=1), 1)


def test_the_statement_in_rationals():
    result = run(normalisation_layers, steps=10)
    numbers = result.example_numbers
    assert [judged.judgement.verdict for judged in result.examples[:4]] == [Verdict.PROVED] * 4
    assert result.as_printed[0].judgement.verdict is Verdict.REFUTED
    value, slope = rayleigh([Fraction(1), Fraction(0)], [Fraction(2), Fraction(1)])
    assert value == Fraction(4, 5) and slope == [Fraction(4, 25), Fraction(-8, 25)]
    assert Fraction(5128, 1000) in numbers["‖w₁‖² of one unit"]
    assert numbers["LN(1, 2, 3, 4)₁"].middle == pytest.approx(-3 / np.sqrt(5))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_batches_underestimate_the_variance_by_one_over_m(m):
    seen, whole = average_batch_variance((Fraction(0), Fraction(1), Fraction(3), Fraction(-2)), m)
    assert seen == whole * (1 - Fraction(1, m))


@pytest.mark.parametrize("kind", ["batch", "layer", "weight"])
def test_slopes_are_orthogonal_and_shrink_as_weights_grow(kind):
    with jax.enable_x64(True):
        objective, w = normalised_loss(kind, np.random.default_rng(1))
        objective = jax.jit(objective)
        slope = jax.jit(jax.grad(objective))
        g = np.asarray(slope(w))
        assert change_under_scaling(objective, w) < 1e-12
        assert abs(g @ w) < 1e-12 * np.linalg.norm(g) * np.linalg.norm(w)
        assert np.allclose(7 * np.asarray(slope(7 * w)), g, rtol=1e-9)
        damped, _ = normalised_loss(kind, np.random.default_rng(1), epsilon=0.1)
        assert change_under_scaling(jax.jit(damped), w) > 1e-3


def test_blocks_that_are_scaled_alone_or_together_are_found():
    x = jnp.asarray(Z)

    def risk(p):
        # weight and bias must be scaled together
        hidden = layer_norm(x @ p["first"]["w"] + p["first"]["b"])
        return jnp.mean((jnp.tanh(hidden) @ weight_norm(p["last"]) - 1.0) ** 2) + jnp.sum(
            p["free"] ** 2
        )

    with jax.enable_x64(True):
        draw = lambda *shape: RNG.normal(size=shape)
        params = {
            "first": {"w": draw(5, 4), "b": draw(4)},
            "last": draw(4),
            "free": draw(2),
            "zero": np.zeros(3),
        }
        kept, rest = invariant_blocks(risk, params, 1e-9)
        names = {b.name for b in kept}
        assert names == {"['last']", "['first'][all]"} and [b.name for b in rest] == ["['free']"]
        objective, w = restrict(risk, params, kept)
        assert w.size == 5 * 4 + 4 + 4 and float(objective(w)) == pytest.approx(float(risk(params)))
        assert abs(np.asarray(jax.grad(objective)(w)) @ w) < 1e-12


def test_training_statistics_stray_from_running_ones_at_half_order():
    result = run(normalisation_layers, steps=10, seed=3)
    assert result.examples[4].claim.kind == "rate"
    assert result.examples[4].judgement.verdict is Verdict.CONSISTENT


def test_a_normalised_network_trains_and_is_judged():
    x = RNG.normal(size=(40, 3))
    y = np.sin(x[:, 0])
    params, apply = normalised_mlp(np.random.default_rng(0), (3, 8, 8, 1), "weight", "tanh")
    fit = ft.fit((params, apply), (x, y), "squared", "adam", step=0.02, steps=150)
    assert fit.loss < 0.3 * fit.history.loss[0]
    net = ft.Network("normalised", apply, params, (3,)).with_data(ft.Dataset("rows", x, y))
    found = run(normalisation_layers, net, steps=20)
    ignored = {row[0] for row in found.tables[0].rows if row[1] == "yes"}
    assert found.verdict is Verdict.CONSISTENT and ignored == {"['weights'][0]", "['weights'][1]"}


def test_an_epsilon_in_the_layers_needs_a_tolerance_and_then_nothing_is_refuted():
    x = RNG.normal(size=(30, 3))
    params, apply = normalised_mlp(
        np.random.default_rng(0), (3, 8, 1), "layer", "tanh", epsilon=1e-5
    )
    net = ft.Network("normalised", apply, params, (3,)).with_data(
        ft.Dataset("rows", x, np.sin(x[:, 0]))
    )
    assert run(normalisation_layers, net).verdict is Verdict.INAPPLICABLE
    assert run(normalisation_layers, net, steps=20, tolerance=1e-3).verdict is Verdict.CONSISTENT


def test_a_plain_network_and_one_without_data_are_not_covered():
    net = ft.Network.described(random_mlp(RNG, (3, 6, 1), "tanh"))
    assert run(normalisation_layers, net).verdict is Verdict.INAPPLICABLE
    data = ft.Dataset("rows", RNG.normal(size=(10, 3)), RNG.normal(size=10))
    assert run(normalisation_layers, net.with_data(data)).verdict is Verdict.INAPPLICABLE


def test_batch_normalisation_of_a_network_by_name_is_refused():
    with pytest.raises(UsageError):
        normalised_mlp(RNG, (2, 3, 1), "batch")  # type: ignore[arg-type]
