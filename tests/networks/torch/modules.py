"""Modules exported by torch, and what torch makes of them: the second implementation of every operator."""

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import torch
from torch import nn

import ftheta as ft
from ftheta.networks.programs.importing import Imported, import_program
from ftheta.networks.programs.program import Program
from ftheta.networks.torch.model import parse

HURRIED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
Functions = Mapping[str, Callable[[torch.Tensor], Any]]


def words(*lines: str) -> list[str]:
    return " ".join(lines).split()


class Side(nn.Module):
    """Several functions of one input, beside one another; parts of a module are found for their weights."""

    def __init__(self, functions: Functions) -> None:
        super().__init__()
        self.functions = functions
        self.parts = nn.ModuleList(f for f in functions.values() if isinstance(f, nn.Module))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(f(x) for f in self.functions.values())


def exported(module: nn.Module, x: torch.Tensor, **how: Any) -> torch.export.ExportedProgram:
    return torch.export.export(module.eval(), (x,), **how)


def saved(program: torch.export.ExportedProgram) -> bytes:
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def read(program: torch.export.ExportedProgram | bytes) -> Program:
    data = program if isinstance(program, bytes) else saved(program)
    return parse(io.BytesIO(data), "program")


def ours(net: Imported, x: Any) -> np.ndarray:
    """The value at `x`; what is traced in place of the function has its shape and type."""
    assert net.outline is not None
    with jax.enable_x64(True):
        shapes = [jax.eval_shape(f, net.params, np.asarray(x)) for f in (net.apply, net.outline)]
    assert (shapes[0].shape, shapes[0].dtype) == (shapes[1].shape, shapes[1].dtype)
    return np.asarray(evaluated(lambda x: net.apply(net.params, x), np.asarray(x))[0])


def close(found: Any, expected: Any, rtol: float, name: str = "") -> None:
    """Equal to `rtol` of the largest number."""
    found = np.asarray(found)
    expected = np.asarray(expected)
    assert found.shape == expected.shape, name
    if expected.dtype.kind in "ib":
        assert np.array_equal(found, expected), name
        return
    finite = np.abs(expected[np.isfinite(expected)])
    scale = finite.max(initial=1e-30)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale, err_msg=name)


def side_by_side(functions: Functions, x: torch.Tensor, rtol: float = 1e-10) -> None:
    """Every function, as torch exports it and after its decomposition to core ATen, is what torch computes."""
    module = Side(functions).to(x.dtype if x.is_floating_point() else torch.float64).eval()
    with torch.no_grad():
        expected = dict(zip(functions, module(x)))
    program = exported(module, x)
    plain = dict(zip(functions, _parts(read(program)), strict=True))
    core = dict(zip(functions, _parts(read(program.run_decompositions())), strict=True))
    other = {
        name: part for name, part in core.items() if _operators(part) != _operators(plain[name])
    }
    for parts in (plain, other):  # compiled at once: one by one takes longer
        nets = [import_program(part, tuple(x.shape)) for part in parts.values()]
        found = evaluated(
            lambda x, nets=nets: [net.apply(net.params, x) for net in nets], x.numpy()
        )[0]
        for name, z in zip(parts, found, strict=True):
            close(z, expected[name].numpy(), rtol, name)


def _parts(program: Program) -> list[Program]:
    return [replace(program, outputs=(port,)).until(None) for port in program.outputs]


def _operators(program: Program) -> list[tuple[str, dict[str, str]]]:
    return [
        (node.op, {name: str(value) for name, value in node.attributes.items()})
        for node in program.nodes
    ]


def evaluated(function: Callable[..., Any], *inputs: np.ndarray) -> list[Any]:
    """The function at inputs that are alike, compiled in a hurry."""
    with jax.enable_x64(True):
        run = jax.jit(function).lower(inputs[0]).compile(compiler_options=HURRIED)
        return [run(x) for x in inputs]


def loaded(module: nn.Module, example: Any, **how: Any) -> ft.Network:
    net = ft.load(module, example, **how)
    assert isinstance(net, ft.Network)
    return net


def agrees(module: nn.Module, x: torch.Tensor, rtol: float) -> ft.Network:
    """The network of a module, with an example that has a batch axis, equals torch on other inputs."""
    net = loaded(module, x[:1])
    assert net.input_shape == tuple(x.shape[1:])
    with torch.no_grad():
        expected = module.eval()(x)
    for found, y in zip(evaluated(net, *x.numpy()), expected, strict=True):
        close(found, y.numpy(), rtol)
    return net
