import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.networks import ACTIVATIONS, Dense, Description, count, random_mlp
from ftheta.networks.files import describe, read_arrays, save

widths = st.lists(st.integers(1, 6), min_size=2, max_size=5)


def test_counts_agree_with_the_catalogue():
    rng = np.random.default_rng(0)
    small = count(random_mlp(rng, (3, 5, 2)))
    large = count(random_mlp(rng, (784, 512, 256, 10)))
    assert (small.parameters, small.connections, small.neurons) == (32, 25, 5)
    assert large.parameters == 535_818
    assert list(count(random_mlp(rng, (1, 3, 1))).depth.values()) == [2, 2, 1]


def test_a_pruned_weight_is_no_connection():
    layer = Dense(np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros(2))
    assert count(Description((layer,))).connections == 1


@given(widths, st.sampled_from(sorted(ACTIVATIONS)), st.integers(0, 99))
def test_the_realisation_is_the_formula_of_the_description(sizes, name, seed):
    rng = np.random.default_rng(seed)
    net = random_mlp(rng, sizes, name, bias=0.5)
    x = rng.normal(size=sizes[0])
    with jax.enable_x64(True):
        state = x
        for i, layer in enumerate(net.layers):
            state = layer.weight @ state + layer.bias
            if i < len(net.layers) - 1:
                state = np.asarray(ACTIVATIONS[name].function(jnp.asarray(state)))
        np.testing.assert_allclose(net.apply(net.params, x), state, rtol=1e-12, atol=1e-12)


@given(widths, st.integers(0, 99))
def test_a_weight_list_comes_back_from_its_file(tmp_path_factory, sizes, seed):
    path = tmp_path_factory.mktemp("nets") / "net.npz"
    net = random_mlp(np.random.default_rng(seed), sizes, "tanh", bias=1.0)
    save(net, path)
    back = describe(read_arrays(path), "net")
    for a, b in zip(net.layers, back.layers, strict=True):
        assert (
            np.array_equal(a.weight, b.weight)
            and np.array_equal(a.bias, b.bias)
            and a.activation == b.activation
        )


@pytest.mark.parametrize("name", sorted(set(ACTIVATIONS) - {"square"}))
def test_the_lipschitz_constant_is_reached_and_never_exceeded(name):
    activation = ACTIVATIONS[name]
    with jax.enable_x64(True):
        slopes = np.abs(jax.vmap(jax.grad(activation.function))(jnp.linspace(-20.0, 20.0, 400_001)))
    assert slopes.max() <= activation.lipschitz.hi * (1 + 1e-12)
    assert slopes.max() >= activation.lipschitz.lo * (1 - 1e-8)


def test_the_steepest_slopes_of_gelu_and_silu_are_enclosed():
    ctx.prec = 100
    root = arb(2).sqrt()
    gelu = (1 + (root / arb(2).sqrt()).erf()) / 2 + root * (-root * root / 2).exp() / (
        2 * arb.pi()
    ).sqrt()
    assert arb(ACTIVATIONS["gelu"].lipschitz.lo) < gelu and gelu < arb(
        ACTIVATIONS["gelu"].lipschitz.hi
    )

    def slope(x):
        s = 1 / (1 + (-x).exp())
        return s + x * s * (1 - s)

    peak = slope(arb("2.39935728051546766783273969681"))
    assert arb(ACTIVATIONS["silu"].lipschitz.lo) < peak and peak < arb(
        ACTIVATIONS["silu"].lipschitz.hi
    )


def test_layers_that_do_not_chain_are_refused_with_both_shapes():
    with pytest.raises(SubjectError, match=r"\(3, 2\) then \(1, 4\)"):
        Description((Dense(np.ones((3, 2)), np.zeros(3)), Dense(np.ones((1, 4)), np.zeros(1))))


def test_a_nan_is_named_with_its_place():
    with pytest.raises(SubjectError, match=r"layer 0, weight\[1, 0\]"):
        Description((Dense(np.array([[1.0], [np.nan]]), np.zeros(2)),))


def test_a_file_that_would_unpack_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ftheta.networks.reading.ALWAYS_ALLOWED", 1000)
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, W0=np.zeros((100, 100)))
    with pytest.raises(SubjectError, match="more memory than is allowed"):
        read_arrays(path)
