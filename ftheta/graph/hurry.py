"""Options for programs that take longer to compile than to run: several times less of the one, more of the other; and
for those that run for so long that a thorough compiler pays, whatever the process asks for."""

import os
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import jax

_HURRIED = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}
# for what runs for a second: half of the time of a run for twice that of compiling
_SETTLED = _HURRIED | {"xla_backend_optimization_level": 2}
# XLA's own choice
_THOROUGH = {"xla_backend_optimization_level": 3, "xla_cpu_use_fusion_emitters": True}

_LEVEL = "--xla_backend_optimization_level="


@cache
def quick_compiler_options() -> Mapping[str, int | bool]:
    """For `compiler_options` of `jax.jit`: those of the wanted options that this version of XLA knows."""
    return _keep_known(_HURRIED)


@cache
def settled_compiler_options() -> Mapping[str, int | bool]:
    """For `compiler_options` of `jax.jit`, of programs that run for a second where others are compiled quickly."""
    return _keep_known(_SETTLED)


@cache
def thorough_compiler_options() -> Mapping[str, int | bool]:
    """For `compiler_options` of `jax.jit`: as XLA compiles by itself, also where XLA_FLAGS ask for a quick compiler."""
    return _keep_known(_THOROUGH)


def _keep_known(options: Mapping[str, int | bool]) -> Mapping[str, int | bool]:
    if _are_known(options):
        return MappingProxyType(dict(options))
    return MappingProxyType(
        {name: value for name, value in options.items() if _are_known({name: value})}
    )


def compiles_quickly() -> bool:
    """Whether programs of this process are compiled so."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    levels = [flag.removeprefix(_LEVEL) for flag in flags if flag.startswith(_LEVEL)]
    return levels[-1:] == ["0"]  # the last word on a flag counts


def compile_quickly() -> None:
    """Let every program of this process be compiled so, from now on, and without the lines that it was written in.

    XLA reads its flags once, before the first program: where one was compiled already, nothing changes. What the user
    has said in XLA_FLAGS stays as it is. A flag that this version of XLA does not know ends the process here.
    """
    quick = [f"--{name}={str(value).lower()}" for name, value in _HURRIED.items()]
    # the last word on a flag counts
    os.environ["XLA_FLAGS"] = " ".join([*quick, os.environ.get("XLA_FLAGS", "")])
    jax.devices()  # makes XLA read them
    jax.config.update("jax_traceback_in_locations_limit", 0)


def _are_known(options: Mapping[str, int | bool]) -> bool:
    try:
        jax.jit(lambda: 0.0, compiler_options=dict(options)).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
