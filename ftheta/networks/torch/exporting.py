"""A PyTorch module as a program: `torch.export`, saved to memory, and read as a `.pt2` file is.

torch is imported here and nowhere else, and only for someone who has a module of it in hand. The module is exported in
evaluation mode and handed back in the mode it was in.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.programs.importing import Imported, import_program
from ftheta.networks.programs.interpret import rules_for_all
from ftheta.networks.programs.program import Program

from .model import parse

if TYPE_CHECKING:
    import torch


def import_module(module: torch.nn.Module, example: Any, until: str | None = None) -> Imported:
    """The network that a module is, for one input like `example`: an array, a tensor, or a shape.

    The example may be what one would pass to the module, a batch of any number of inputs, or one input alone: it is
    passed as it is and, if the module does not take it, with a batch axis before it. Of a module of several inputs it
    is a tuple of tensors or arrays, and these are one vector to the network.
    """
    import torch

    where = type(module).__name__
    training = _training_parts(module)
    with _evaluating(module), torch.enable_grad():
        if (
            isinstance(example, tuple)
            and example
            and all(isinstance(part, torch.Tensor | np.ndarray) for part in example)
        ):
            inputs = tuple(_as_tensor(part, module) for part in example)
            found = import_exported(_export_module(module, inputs, where), where, until)
            return replace(found, training_parts=training)
        fitting, batch = _fitting(module, example, where)
        exported = _export_module(module, (fitting,), where)
        found = import_exported(
            exported, where, until, tuple(fitting.shape[1:] if batch else fitting.shape)
        )
    return replace(found, training_parts=training)


def _training_parts(module: torch.nn.Module) -> tuple[str, ...]:
    """The parts in training mode that would compute something else in evaluation mode: dropout, batch statistics."""
    from torch.nn.modules.batchnorm import _NormBase  # the base of all that keep running statistics
    from torch.nn.modules.dropout import _DropoutNd

    def differs(part: torch.nn.Module) -> bool:
        rate = part.p if isinstance(part, _DropoutNd) else getattr(part, "dropout", 0.0)
        # attention and recurrent layers have one of their own
        drops = isinstance(rate, (int, float)) and rate > 0
        return drops or (isinstance(part, _NormBase) and part.track_running_stats)

    return tuple(
        f"{name}: {part}"
        for name, part in module.named_modules()
        if part.training and differs(part)
    )


def import_exported(
    exported: torch.export.ExportedProgram,
    where: str,
    until: str | None = None,
    shape: tuple[int, ...] | None = None,
) -> Imported:
    """The network that an exported program is. It is read as it stands or, if that cannot be, in core ATen."""
    try:
        program = _save_exported(exported, where).until(until)
    except SubjectError:
        program = None
    if program is None or not rules_for_all(program):
        program = _save_exported(exported.run_decompositions(), where).until(until)
    return import_program(program, shape)


def _save_exported(exported: torch.export.ExportedProgram, where: str) -> Program:
    import torch

    file = io.BytesIO()
    try:
        torch.export.save(exported, file)
    except Exception as error:
        raise _export_error("torch cannot save this exported program.", where, error, "") from error
    return parse(file, where)


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode for a while; every part is in its own mode again afterwards."""
    import torch

    modes = {part: part.training for part in module.modules()}
    fast = torch.backends.mha.get_fastpath_enabled()
    try:
        module.eval()
        # the fast path hides attention in one operator of its own
        torch.backends.mha.set_fastpath_enabled(False)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for part, mode in modes.items():
            part.training = mode


def _export_module(
    module: torch.nn.Module, examples: tuple[torch.Tensor, ...], where: str
) -> torch.export.ExportedProgram:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are about running the exported program in torch
            return torch.export.export(module, examples)
    except Exception as error:
        raise _export_error(
            "torch.export cannot trace this module.",
            where,
            error,
            "its forward must not branch on numbers of the input; see torch.export's documentation",
        ) from error


def _export_error(what: str, where: str, error: Exception, remedy: str) -> SubjectError:
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return SubjectError(
        what, where=where, got=f"{type(error).__name__}: {first[:300]}", remedy=remedy
    )


def run_rows(found: Any, rows: np.ndarray) -> list[Any]:
    """What torch itself makes of each row, as pairs of the row in the type of the module and its output."""
    import torch

    exported = hasattr(found, "run_decompositions")
    module: Any = found.module() if exported else found
    example = rows[0] if exported else rows[:1]
    mode = nullcontext() if exported else _evaluating(module)
    with mode, torch.no_grad():
        first, _ = _fitting(module, example, type(found).__name__)
        fed = [torch.as_tensor(row).to(first.dtype).reshape(first.shape) for row in rows]
        pairs = [(x, _output(module, x.to(first.device))) for x in fed]
    if not all(isinstance(y, torch.Tensor) for _, y in pairs):
        raise SubjectError("The module does not return one tensor.")
    return [(x.cpu().numpy(), y.cpu().numpy()) for x, y in pairs]


# ---- the example -----------------------------------------------------------------------------------------------------


def _fitting(module: torch.nn.Module, example: Any, where: str) -> tuple[torch.Tensor, bool]:
    """An input that the module takes, and whether its first axis is a batch, which then has one row."""
    complaints = []
    for x in _readings(module, example, where):
        for given, added in ((x, False), (x[None], True)):
            try:
                y = _output(module, given)
            except Exception as error:
                complaints.append((given, error))
                continue
            if added:
                return given, True
            rows = given.ndim > 1 and (len(given) == 1 or _by_rows(module, given, y))
            return (given[:1] if rows else given), rows
    told = [
        f"{tuple(x.shape)} of {str(x.dtype).removeprefix('torch.')}: {_line(error)}"
        for x, error in complaints[:2]
    ]
    raise SubjectError(
        "The module does not take the example, with or without a batch axis before it.",
        where=where,
        got="; ".join(told),
        remedy="give an input as you would pass it to the module: load(module, torch.zeros(1, 3, 224, 224))",
    )


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _output(module: torch.nn.Module, x: torch.Tensor) -> Any:
    import torch

    with torch.no_grad():
        return module(x)


def _by_rows(module: torch.nn.Module, x: torch.Tensor, y: Any) -> bool:
    """Whether the first row of the output is the output of the first row: then the first axis is a batch."""
    import torch

    if not isinstance(y, torch.Tensor) or y.ndim == 0 or len(y) != len(x):
        return False
    try:
        alone = _output(module, x[:1])
    except Exception:
        return False
    return alone.shape == y[:1].shape and bool(
        torch.allclose(alone.double(), y[:1].double(), rtol=1e-4, atol=1e-5)
    )


def _as_tensor(part: Any, module: torch.nn.Module) -> torch.Tensor:
    """A tensor as it is; an array of reals in the type of the module, one of whole numbers as indices."""
    import torch

    if isinstance(part, torch.Tensor):
        return part
    if part.dtype.kind != "f":
        return torch.as_tensor(part, dtype=torch.int64)
    return torch.as_tensor(part, dtype=_state(module).dtype)


def _state(module: torch.nn.Module) -> torch.Tensor:
    """A tensor of the module's type and place."""
    import torch

    numbers = (*module.parameters(), *module.buffers())
    return next((number for number in numbers if number.is_floating_point()), torch.zeros(()))


def _readings(module: torch.nn.Module, example: Any, where: str) -> Iterator[torch.Tensor]:
    """The example as a tensor of the module's type and place; a shape alone may be meant for reals or for indices."""
    import torch

    state = _state(module)
    if isinstance(example, (tuple, list)) and len(example) == 1 and hasattr(example[0], "shape"):
        example = example[0]
    if isinstance(example, (tuple, list)) and all(
        isinstance(n, (int, np.integer)) for n in example
    ):
        shape = tuple(int(n) for n in example)
        if any(n < 1 for n in shape):
            raise SubjectError(
                "The example has a shape that is not allowed.", where=where, got=shape
            )
        values = np.random.default_rng(0).normal(size=shape)
        yield torch.as_tensor(values, dtype=state.dtype, device=state.device)
        yield torch.zeros(shape, dtype=torch.int64, device=state.device)
        return
    try:
        given = (
            example if isinstance(example, torch.Tensor) else torch.as_tensor(np.asarray(example))
        )
    except (TypeError, ValueError) as error:
        raise SubjectError(
            "A network takes one array.",
            where=where,
            got=f"an example that is a {type(example).__name__}",
        ) from error
    given = given.detach().to(state.device)
    real = given.to(state.dtype)
    whole = given.to(torch.int64)
    yield from (real, whole) if given.is_floating_point() else (whole, real)
