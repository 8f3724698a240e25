"""Every operator agrees with torch: as it is exported, and in core ATen."""

import inspect
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ftheta.networks.programs.call import Call
from ftheta.networks.programs.node import Node
from ftheta.networks.torch.model import IGNORED, X
from ftheta.networks.torch.rules import RULES

from ...thoroughness import max_examples
from .families import FAMILIES, normal
from .modules import close, side_by_side, words


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_operator_agrees_with_torch_in_float64(family):
    functions, x = FAMILIES[family]
    for part in functions.values():
        if isinstance(part, nn.Module):
            _unsettle(part)
    side_by_side(functions, x)


def _unsettle(module: nn.Module) -> None:
    """Weights and statistics that are not the ones a layer begins with."""
    torch.manual_seed(1)
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            tensor.data = torch.rand_like(tensor) + 0.5


# ---- geometry --------------------------------------------------------------------------------------------------------


def rule(name: str, x: torch.Tensor, **arguments: Any) -> np.ndarray:
    found = {k: v.numpy() if isinstance(v, torch.Tensor) else v for k, v in arguments.items()}
    with jax.enable_x64(True):
        return np.asarray(
            RULES[name](Call(Node(name, ("x",), ("y",), {}), [x.numpy()]), x.numpy(), **found)
        )


PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))
LESS = st.tuples(st.integers(0, 2), st.integers(0, 2))


@max_examples(6)
@given(
    st.tuples(st.integers(5, 8), st.integers(5, 8)),
    PAIR,
    PAIR,
    LESS,
    PAIR,
    st.sampled_from([1, 2, 4]),
)
def test_convolutions_of_any_size_stride_padding_dilation_and_groups(
    size, kernel, stride, padding, dilation, groups
):
    x = normal(1, 4, *size)
    weight = normal(4, 4 // groups, *kernel)
    bias = normal(4)
    how = {
        "weight": weight,
        "bias": bias,
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
    }
    fits = all(n + 2 * p > d * (k - 1) for n, p, d, k in zip(size, padding, dilation, kernel))
    if fits:
        close(rule("conv2d", x, **how), F.conv2d(x, *how.values()), 1e-10)
    how |= {"output_padding": tuple(min(1, max(s, d) - 1) for s, d in zip(stride, dilation))}
    y = F.conv_transpose2d(
        x, weight, bias, stride, padding, how["output_padding"], groups, dilation
    )  # type: ignore[arg-type]
    close(rule("conv_transpose2d", x, **how), y, 1e-10)


@max_examples(6)
@given(
    st.tuples(st.integers(5, 8), st.integers(5, 8)),
    PAIR,
    PAIR,
    LESS,
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_pools_of_any_size_stride_padding_and_dilation(
    size, kernel, stride, padding, dilation, ceil
):
    x = normal(1, 2, *size)
    half = tuple(min(p, k // 2) for p, k in zip(padding, kernel))
    how = {"kernel_size": kernel, "stride": stride, "padding": half, "ceil_mode": ceil}
    largest = F.max_pool2d(x, kernel, stride, half, dilation, ceil_mode=ceil)
    close(rule("max_pool2d", x, dilation=dilation, **how), largest, 1e-10)
    for count in (True, False):
        mean = F.avg_pool2d(x, kernel, stride, half, ceil, count_include_pad=count)
        close(rule("avg_pool2d", x, count_include_pad=count, **how), mean, 1e-10)
    close(
        rule("adaptive_avg_pool2d", x, output_size=kernel), F.adaptive_avg_pool2d(x, kernel), 1e-10
    )


# ---- the table itself ------------------------------------------------------------------------------------------------


def _schemas():
    """Every overload that a name of the table stands for, and that makes a tensor without writing into one given."""
    for key, rule in RULES.items():
        name, _, overload = key.partition(".")
        if name in ("_operator", "math", "torch"):
            continue
        packet = getattr(torch.ops.aten, name)
        for one in packet.overloads():
            schema = getattr(packet, one)._schema
            arguments = [a.name for a in schema.arguments]
            makes = any("Tensor" in str(value.type) for value in schema.returns)
            plain = not any(a.is_out for a in schema.arguments) and "Dimname" not in str(schema)
            mine = one == overload if overload else f"{name}.{one}" not in RULES
            if makes and plain and mine and f"{name}.{one}" not in ELSEWHERE:
                yield f"{name}.{one}", rule, arguments


ELSEWHERE = frozenset(
    words(
        "where.default copy.Dict_Tensor rrelu.default mm.dtype bmm.dtype addmm.dtype baddbmm.dtype",
        "einsum.sublist view.dtype repeat_interleave.Tensor scatter.reduce scatter.value_reduce",
    )
)
"""Overloads that no network exports, or that are refused when they are met."""


def test_rules_take_the_arguments_that_operators_have_in_torch():
    for name, rule, arguments in _schemas():
        taken = inspect.signature(rule).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            assert {X.get(a, a) for a in arguments} - IGNORED <= set(taken), name
            needed = {p.name for p in list(taken.values())[1:] if p.default is p.empty}
            assert needed <= {X.get(a, a) for a in arguments}, name
