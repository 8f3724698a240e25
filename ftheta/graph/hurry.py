"""Options for programs that take longer to compile than to run: several times less of the one, more of the other."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import jax

_HURRIED = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


@cache
def quick_compiler_options() -> Mapping[str, int | bool]:
    """For `compiler_options` of `jax.jit`: those of the wanted options that this version of XLA knows."""
    return MappingProxyType({name: value for name, value in _HURRIED.items() if _known(name, value)})


def _known(name: str, value: int | bool) -> bool:
    try:
        jax.jit(lambda: 0.0, compiler_options={name: value}).lower().compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True
