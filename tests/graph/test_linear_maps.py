"""Linear primitives as maps: values, transposes, sizes and signs against JAX and against one another."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from ftheta.graph import trace
from ftheta.graph.domains.linear.affine import RULES
from ftheta.graph.domains.linear.program import Program

from .table import FIXED_KERNEL, W
from .zoo import draws

MASK = draws(6, seed=3) > 0
POOL = {"base_dilation": (1, 1, 1, 2), "window_dilation": (1, 1, 1, 2)}

LINEAR = {
    "add": (lambda x, y: x + y, (6,), (6,)),
    "add a number": (lambda x, y: y + x[0], (6,), (3, 2)),
    "add a constant": (lambda x: x + draws(6), (6,)),
    "sub": (lambda x, y: x - y, (6,), (6,)),
    "sub from a constant": (lambda x: draws(6) - x, (6,)),
    "sub itself": (lambda x: x - x, (6,)),
    "neg": (lambda x: -x, (6,)),
    "mul": (lambda x: x * draws(6), (6,)),
    "mul by a number": (lambda x: 2.5 * x, (3, 2)),
    "div": (lambda x: x / draws(6), (6,)),
    "dot_general, matrix first": (lambda x: W @ x, (6,)),
    "dot_general, matrix last": (lambda x: x @ W.T, (3, 6)),
    "dot_general of stacks": (lambda x: jnp.einsum("bij,bkj->bki", x, draws(2, 5, 3)), (2, 4, 3)),
    "dot_general of stacks, reversed": (
        lambda x: jnp.einsum("bkj,bij->kbi", draws(2, 5, 3), x),
        (2, 4, 3),
    ),
    "dot_general to a number": (lambda x: jnp.vdot(x, draws(3, 2)), (3, 2)),
    "conv_general_dilated": (
        lambda x: lax.conv_general_dilated(
            x,
            jnp.asarray(FIXED_KERNEL),
            (2, 1),
            ((1, 2), (-1, 1)),
            lhs_dilation=(1, 2),
            rhs_dilation=(2, 1),
            feature_group_count=2,
        ),
        (2, 4, 5, 5),
    ),
    "conv_general_dilated, channels last": (
        lambda x: lax.conv_general_dilated(
            x,
            jnp.asarray(draws(3, 3, 2, 4)),
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        ),
        (1, 5, 4, 2),
    ),
    "conv_general_dilated, transposed": (
        lambda x: lax.conv_transpose(
            x,
            jnp.asarray(draws(3, 2, 4, 3)),
            (2, 2),
            "SAME",
            dimension_numbers=("NCHW", "HWIO", "NCHW"),
        ),
        (1, 4, 3, 3),
    ),
    "reduce_sum": (lambda x: x.sum((0, 2)), (2, 3, 4)),
    "cumsum": (lambda x: lax.cumsum(x, 1), (2, 5)),
    "cumsum, reversed": (lambda x: lax.cumsum(x, 0, reverse=True), (3, 2)),
    "reduce_window_sum": (
        lambda x: lax.reduce_window(
            x, 0.0, lax.add, (1, 1, 3, 2), (1, 1, 2, 1), ((0, 0), (0, 0), (1, 2), (0, 1)), **POOL
        ),
        (2, 2, 5, 4),
    ),
    "reshape": (lambda x: x.reshape(2, 6), (3, 4)),
    "squeeze": (lambda x: lax.squeeze(x, (1,)), (3, 1, 2)),
    "transpose": (lambda x: x.transpose(2, 0, 1), (2, 3, 4)),
    "broadcast_in_dim": (lambda x: jnp.broadcast_to(x[:, None], (3, 4, 2)), (3, 2)),
    "slice": (lambda x: x[1:, ::2], (3, 5)),
    "rev": (lambda x: x[::-1, :, ::-1], (2, 3, 4)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x], 1), (2, 3), (2, 1)),
    "split": (lambda x: jnp.split(x, 3, axis=1)[1], (2, 6)),
    "stack": (lambda x, y: jnp.stack([x, y], 1), (2, 3), (2, 3)),
    "unstack": (lambda x: jnp.unstack(x, axis=1)[2], (2, 3)),
    "tile": (lambda x: jnp.tile(x, (2, 3)), (2, 3)),
    "pad": (lambda x, y: lax.pad(x, y[0], ((2, -1, 1),)), (4,), (1,)),
    "gather": (lambda x: x[np.array([2, 0, 2])], (3, 2)),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (1, 7), (2, 2)), (3, 4)),
    "dynamic_update_slice": (lambda x, y: lax.dynamic_update_slice(x, y, (5,)), (6,), (2,)),
    "scatter": (lambda x, y: x.at[np.array([2, 0])].set(y), (3, 2), (2, 2)),
    "scatter-add": (lambda x, y: x.at[np.array([1, 1, 4])].add(y), (6,), (3,)),
    "select_n": (lambda x, y: jnp.where(MASK, x, y), (6,), (6,)),
    "copy": (lambda x: jnp.array(x, copy=True), (3,)),
    "stop_gradient": (lambda x: lax.stop_gradient(x), (3,)),
    "convert_element_type": (lambda x: x.astype(np.float32), (3,)),
    "add_any": (lambda x: jax.vjp(lambda v: (2 * v, 3 * v), x)[1]((x, x))[0], (3,)),
}


def test_every_rule_is_tried():
    named = {name.split(",")[0].split(" ")[0] for name in LINEAR}
    assert set(RULES) - named <= {"expand_dims"}


@cache
def maps_of(name):
    f, *shapes = LINEAR[name]
    args = [draws(*shape, seed=k) for k, shape in enumerate(shapes)]
    program = Program.of(trace(f, *args, fold_rounded=False))
    primitive = name.split(",")[0].split(" ")[0]
    nodes = [
        n
        for n in program.graph.nodes
        if n.primitive == primitive and n.outputs[0].id in program.varying
    ]
    assert nodes, f"{name} does not use {primitive}"
    return program, nodes


def each_map(name):
    program, nodes = maps_of(name)
    for node in nodes:
        for output, slot in enumerate(node.outputs):
            terms = program.linear_terms(node, output)
            assert terms is not None, str(node)
            yield program, node, output, slot, terms


@pytest.mark.parametrize("name", LINEAR)
def test_the_maps_add_up_to_what_jax_computes(name):
    for program, node, output, slot, terms in each_map(name):
        operands = []
        for source in node.inputs:
            known = program.constants.get(source.id)
            operands.append(
                draws(*source.shape, seed=source.id)
                if known is None
                else known.lo.astype(source.dtype)
            )
        expected = np.asarray(
            node.evaluate(*[x.astype(s.dtype) for x, s in zip(operands, node.inputs)])[output]
        )
        total = sum(
            (linear.push(operands[place][None])[0] for place, linear in terms), np.zeros(slot.shape)
        )
        assert np.allclose(total, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LINEAR)
def test_pulling_is_the_transpose_of_pushing(name):
    for _, node, _, slot, terms in each_map(name):
        for place, linear in terms:
            x = draws(3, *node.inputs[place].shape)
            A = draws(2, *slot.shape, seed=5)
            pushed = linear.push(x).reshape(3, -1)
            pulled = linear.pull(A).reshape(2, -1)
            assert np.allclose(A.reshape(2, -1) @ pushed.T, pulled @ x.reshape(3, -1).T)


@pytest.mark.parametrize("name", LINEAR)
def test_sizes_and_signs_are_those_of_the_coefficients(name):
    for _, node, _, slot, terms in each_map(name):
        for place, linear in terms:
            source = node.inputs[place]
            matrix = (
                linear.push(np.eye(source.size).reshape(-1, *source.shape))
                .reshape(source.size, slot.size)
                .T
            )
            magnitude = np.abs(draws(2, *source.shape))
            size = np.abs(matrix) @ magnitude.reshape(2, -1).T
            assert np.allclose(linear.size(magnitude).reshape(2, -1).T, size)
            assert np.all(size * (1 - 1e-13) <= linear.size(magnitude).reshape(2, -1).T)
            plus, minus = linear.split()
            parts = [
                np.zeros_like(matrix) if p is None else _matrix(p, source, slot)
                for p in (plus, minus)
            ]
            assert np.all(parts[0] >= 0) and np.all(parts[1] <= 0)
            assert np.allclose(parts[0] + parts[1], matrix)


def _matrix(linear, source, slot):
    return (
        linear.push(np.eye(source.size).reshape(-1, *source.shape))
        .reshape(source.size, slot.size)
        .T
    )


@pytest.mark.parametrize("name", LINEAR)
def test_terms_count_the_roundings(name):
    """At most `terms` entries of the matrix in a column (pull) or in a row (push) that are not 0."""
    for _, node, _, slot, terms in each_map(name):
        for place, linear in terms:
            matrix = _matrix(linear, node.inputs[place], slot)
            products = not np.isin(matrix, (0, 1, -1)).all()
            for count, entries in (
                (linear.pull_terms, matrix != 0),
                (linear.push_terms, (matrix != 0).T),
            ):
                most = int(entries.sum(0).max(initial=0))
                assert count >= (most if products else 0)
                assert count >= most or most <= 1
