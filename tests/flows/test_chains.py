"""Networks read as chains of residual blocks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.flows.chains import Chain, make_euler_steps, make_flow, residual_chain

from ..networks.onnx.graphs import model, node, read


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def agrees(chain: Chain, apply: Any, params: Any, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).normal(size=shape)
    ours, own = jax.jit(lambda params, x: (chain.output(params, x), apply(params, x)))(params, x)
    np.testing.assert_allclose(ours, own, rtol=1e-12, atol=1e-12)


def looped(params: Any, x: Any) -> Any:
    for W, b in params:
        x = x + jax.nn.relu(W @ x + b) / 3
    return x


def scanned(params: Any, x: Any) -> Any:
    return jax.lax.scan(lambda x, layer: (x - jnp.tanh(layer[0] @ x + layer[1]), None), x, params)[
        0
    ]


def pre_norm(params: Any, x: Any) -> Any:
    x = params["in"] @ x
    for U, V in params["blocks"]:
        normal = (x - x.mean()) / jnp.sqrt(x.var() + 1e-5)
        x = x + V @ jax.nn.gelu(U @ normal)
    return params["out"] @ x


def weights(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.normal(size=shape) for shape in shapes]


def test_a_python_loop_and_a_scan_are_one_stage_each():
    rng = np.random.default_rng(0)
    layers = [tuple(weights(rng, (4, 4), (4,))) for _ in range(5)]
    stacked = tuple(np.stack(part) for part in zip(*layers))
    for apply, params in ((looped, layers), (scanned, stacked)):
        chain = residual_chain(apply, params, (4,))
        assert (
            [len(stage) for stage in chain.stages] == [5]
            and chain.blocks == 5
            and not chain.plain_nodes
        )
        W = next(w for w in chain.weights(params)[0] if w.shape == (5, 4, 4))
        np.testing.assert_array_equal(W, stacked[0])
        agrees(chain, apply, params, (4,))


def test_layers_before_between_and_after_the_blocks_are_plain():
    rng = np.random.default_rng(0)
    params: dict[str, Any] = {"in": rng.normal(size=(6, 3)), "out": rng.normal(size=(2, 6))}
    params["blocks"] = [weights(rng, (8, 6), (6, 8)) for _ in range(4)]
    chain = residual_chain(pre_norm, params, (3,))
    assert [(stage.residual, len(stage)) for stage in chain.stages] == [
        (False, 1),
        (True, 4),
        (False, 1),
    ]
    agrees(chain, pre_norm, params, (3,))


def test_a_convolutional_residual_network_keeps_its_stages_apart():
    kernels = weights(
        np.random.default_rng(0), *((d, c, 3, 3) for c, d in ((1, 2), (2, 2), (2, 3), (3, 3)))
    )

    def apply(kernels: Any, x: Any) -> Any:
        convolved = lambda K, x: jax.lax.conv_general_dilated(x[None], K, (1, 1), "SAME")[0]
        x = convolved(kernels[0], x)
        for K in kernels[1:]:
            v = jax.nn.relu(convolved(K, x))
            # the third changes the number of channels
            x = jax.nn.relu(x + v if v.shape == x.shape else v)
        return x.sum((1, 2))

    chain = residual_chain(apply, kernels, (1, 4, 4))
    assert chain.blocks == 2 and [stage.shape for stage in chain.stages if stage.residual] == [
        (2, 4, 4),
        (3, 4, 4),
    ]
    agrees(chain, apply, kernels, (1, 4, 4))


def test_a_plain_network_has_no_blocks():
    W = np.random.default_rng(0).normal(size=(3, 4, 4))
    plain = lambda params, x: jax.lax.scan(lambda x, W: (jnp.tanh(W @ x), None), x, params)[0]
    assert residual_chain(plain, W, (4,)).blocks == 0


def test_a_skip_that_is_not_the_identity_is_no_residual_block():
    W = np.random.default_rng(0).normal(size=(2, 4, 4))
    assert residual_chain(lambda W, x: W[0] @ x + jnp.tanh(W[1] @ x), W, (4,)).blocks == 0


def test_a_skip_over_everything_makes_one_block():
    W = np.random.default_rng(0).normal(size=(2, 4, 4))
    nested = lambda W, x: x + jnp.tanh(W[0] @ (x + jnp.tanh(W[1] @ x)))
    chain = residual_chain(nested, W, (4,))
    assert chain.blocks == 1
    agrees(chain, nested, W, (4,))


def test_refined_steps_tend_to_the_flow_and_the_flow_runs_backwards():
    A = np.random.default_rng(0).normal(size=(2, 2))
    field = lambda theta, x: theta @ x
    x = np.array([1.0, -0.5])
    values, vectors = np.linalg.eig(A)
    exact = (vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors)).real @ x
    there = make_flow(40)(field, A, x)
    np.testing.assert_allclose(there, exact, rtol=1e-6)
    np.testing.assert_allclose(make_flow(40, -1.0)(field, A, there), x, rtol=1e-6)
    errors = [np.linalg.norm(make_euler_steps(m)(field, A, x) - exact) for m in (100, 200)]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)


def test_gradients_flow_from_the_parameters_through_the_chain():
    rng = np.random.default_rng(0)
    params = [tuple(weights(rng, (3, 3), (3,))) for _ in range(4)]
    chain = residual_chain(looped, params, (3,))
    x = rng.normal(size=3)
    ours = jax.grad(lambda p: chain.output(p, x).sum())(params)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12),
        ours,
        jax.grad(lambda p: looped(p, x).sum())(params),
    )


def test_the_blocks_of_an_onnx_file_are_one_stage():
    made = []
    tensors = {}
    x = "x"
    for k, (W, b) in enumerate(zip(*weights(np.random.default_rng(0), (9, 3, 3), (9, 3)))):
        tensors |= {f"W{k}": W.T, f"b{k}": b, f"s{k}": np.array(0.1)}
        made += [
            node("MatMul", x, f"W{k}", out=(f"m{k}",)),
            node("Add", f"m{k}", f"b{k}", out=(f"a{k}",)),
        ]
        made += [
            node("Tanh", f"a{k}", out=(f"t{k}",)),
            node("Mul", f"s{k}", f"t{k}", out=(f"v{k}",)),
        ]
        x, before = f"x{k}", x
        made.append(node("Add", before, f"v{k}", out=(x,)))
    net = read(model(made, ["batch", 3], tensors, outputs=(x,)))
    chain = residual_chain(net.apply, net.params, net.input_shape)
    assert [len(stage) for stage in chain.stages if stage.residual] == [9] and chain.blocks == 9
    W = next(w for w in chain.weights(net.params)[chain.residual_stages[0]] if w.shape == (9, 3, 3))
    assert {np.linalg.norm(w).round(5) for w in W} == {
        np.linalg.norm(tensors[f"W{k}"]).round(5) for k in range(9)
    }
