"""Products and convolutions as rows of features times a matrix: kernels against Jacobians multiplied by brute force."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.kernels.dispatch import ntk
from ftheta.kernels.empirical.contraction_plan import plan_contraction
from ftheta.subjects import Network


def jacobians(net, X):
    """All Jacobians, outputs by parameters, by reverse mode of the whole network."""
    with jax.enable_x64(True):
        params = jax.tree.map(jnp.asarray, net.params)
        J = jax.jit(jax.vmap(jax.jacrev(lambda p, x: jnp.ravel(net.apply(p, x))), (None, 0)))(
            params, X
        )
    flat = [np.asarray(leaf) for leaf in jax.tree.leaves(J)]
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in flat], 2)


def tokens(rng):
    """Matrices that multiply three tokens, from the left and from the right, with axes in odd orders."""

    def apply(p, x):
        h = jnp.tanh(jnp.einsum("td,hd->ht", x, p[0]))
        return jnp.einsum("ht,hko->ko", jnp.tanh(h), p[1]).sum(0) + p[2]

    return Network(
        "tokens",
        apply,
        [rng.normal(size=(40, 30)), rng.normal(size=(40, 2, 3)), rng.normal(size=3)],
        (3, 30),
    )


def recurrent(rng):
    """One matrix used twice and then, transposed, once more."""

    def apply(p, x):
        h = jnp.tanh(p["W"] @ jnp.tanh(p["W"] @ x + p["b"]) + p["b"])
        return p["v"] @ h + jnp.sum(jnp.tanh(p["U"].T @ jnp.tanh(p["U"] @ x)))

    sizes = {"W": (40, 40), "U": (6, 40), "b": (40,), "v": (2, 40)}
    return Network(
        "recurrent", apply, {name: rng.normal(size=size) / 4 for name, size in sizes.items()}, (40,)
    )


def strided(rng):
    """Strides, holes, uneven padding, channels last, a filter used twice, and an image that shrinks to one pixel."""

    def apply(p, x):
        last = ("NHWC", "HWIO", "NHWC")
        h = jax.lax.conv_general_dilated(
            x[None], p[0], (1, 2), ((1, 0), (2, 1)), dimension_numbers=last
        )
        for _ in range(2):
            h = jax.lax.conv_general_dilated(
                jnp.tanh(h), p[1], (1, 1), "SAME", rhs_dilation=(2, 1), dimension_numbers=last
            )
        h = jax.lax.conv_general_dilated(jnp.tanh(h), p[2], (1, 1), "VALID", dimension_numbers=last)
        return (h + p[3]).ravel()

    sizes = [(2, 3, 2, 4), (2, 3, 4, 4), (6, 4, 4, 5), (5,)]
    return Network("strided", apply, [rng.normal(size=size) / 2 for size in sizes], (6, 6, 2))


def grouped(rng):
    """Groups and holes between the pixels are left to XLA."""

    def apply(p, x):
        h = jax.lax.conv_general_dilated(x[None], p[0], (1,), "SAME", feature_group_count=2)
        h = jax.lax.conv_general_dilated(jnp.tanh(h), p[1], (1,), ((1, 1),), lhs_dilation=(2,))
        return h.sum((0, 2))

    return Network(
        "grouped", apply, [rng.normal(size=(4, 2, 3)), rng.normal(size=(2, 4, 3))], (4, 7)
    )


@pytest.mark.parametrize("make", [tokens, recurrent, strided, grouped])
def test_products_of_all_kinds_have_the_kernel_of_their_jacobians(make):
    rng = np.random.default_rng(0)
    net = make(rng)
    X = rng.normal(size=(3, *net.input_shape))
    Z = rng.normal(size=(2, *net.input_shape))
    both = jacobians(net, np.concatenate([X, Z]))
    J = both[:3]
    K = both[3:]
    exact = np.einsum("ikp,jlp->ijkl", J, K)
    full = ntk(net, X, Z, outputs="full", method="structured")
    assert np.abs(full - exact).max() < 1e-10 * np.abs(exact).max()
    own = np.einsum("ikp,jkp->ij", J, J) / J.shape[1]
    assert np.abs(ntk(net, X, method="structured") - own).max() < 1e-10 * np.abs(own).max()


@pytest.mark.parametrize(
    ("make", "positions", "apart"),
    [
        (tokens, [3, 1, 0], [True, True, False]),
        (recurrent, [0, 2, 0, 1], [False, True, False, True]),  # U, W, b, v
        (strided, [6 * 4, 2 * 6 * 4, 1, 0], [False, False, True, False]),
        (grouped, [0, 0], [False, False]),
    ],
)
def test_parameters_are_taken_apart_where_that_is_cheaper(make, positions, apart):
    net = make(np.random.default_rng(1))
    with jax.enable_x64(True):
        parts = plan_contraction(net.apply, net.params, np.zeros(net.input_shape)).parts
    assert [part.positions for part in parts] == positions
    assert [part.apart for part in parts] == apart
