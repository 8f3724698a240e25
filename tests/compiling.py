"""How JAX compiles while tests run: thousands of small programs, each of which runs once or twice."""

import os
import threading

from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

HURRIED = "--xla_backend_optimization_level=0"  # `make test` sets it, nights do not
WITH_CARE = ("xla_backend_optimization_level", 1)


def share_contexts() -> None:
    """JAX makes a new MLIR context for every program that it compiles, and there are tens of thousands of small ones:
    a context for each thread serves them all, but for programs that are compiled while another is written down."""
    make = mlir.make_ir_context
    kept = threading.local()

    def context_of_thread() -> ir.Context:
        if ir.Context.current is not None:
            return make()
        if not hasattr(kept, "context"):
            kept.context = make()
        return kept.context

    mlir.make_ir_context = context_of_thread


def compile_convolutions_well() -> None:
    """Where programs are compiled in a hurry, those with convolutions are not: they would run eight times as long."""
    if HURRIED not in os.environ.get("XLA_FLAGS", ""):
        return
    plain = compiler.compile_or_get_cached

    def compile_or_get_cached(backend, computation, devices, compile_options, *others):
        if has_convolution(computation.operation):
            asked = compile_options.env_option_overrides
            compile_options.env_option_overrides = [*asked, WITH_CARE]
        return plain(backend, computation, devices, compile_options, *others)

    compiler.compile_or_get_cached = compile_or_get_cached


def has_convolution(operation: ir.Operation) -> bool:
    """Whether a convolution is written anywhere in it."""
    if operation.name == "stablehlo.convolution":
        return True
    parts = (part for region in operation.regions for block in region for part in block)
    return any(has_convolution(part.operation) for part in parts)
