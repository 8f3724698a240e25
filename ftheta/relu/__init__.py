"""ReLU networks as exact piecewise-affine functions: normal form, calculus, constructions, compilers.

Names are imported when they are first used, so that the exact core does not wait for JAX's tracer.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "ExactNetwork": "exact",
    "ReluNetwork": "network",
    "Step": "network",
    "canonical": "canonical",
    "compile_cpa": "nodal",
    "compose": "calculus",
    "compose_sparse": "calculus",
    "convex_network": "nodal",
    "count": "counts",
    "equal_by_symmetry": "canonical",
    "exact": "exact",
    "fem_basis": "nodal",
    "firing": "counts",
    "line_network": "line",
    "load": "export",
    "max_affine": "maximum",
    "maximum": "maximum",
    "on_line": "line",
    "pad": "calculus",
    "parallel": "calculus",
    "path_norm": "canonical",
    "polynomial": "sawtooth",
    "relu_form": "form",
    "rounded": "exact",
    "save": "export",
    "stack": "calculus",
    "to_equinox": "export",
}

if TYPE_CHECKING:
    from .calculus import compose as compose
    from .calculus import compose_sparse as compose_sparse
    from .calculus import pad as pad
    from .calculus import parallel as parallel
    from .calculus import stack as stack
    from .canonical import canonical as canonical
    from .canonical import equal_by_symmetry as equal_by_symmetry
    from .canonical import path_norm as path_norm
    from .counts import count as count
    from .counts import firing as firing
    from .exact import ExactNetwork as ExactNetwork
    from .exact import exact as exact
    from .exact import rounded as rounded
    from .export import load as load
    from .export import save as save
    from .export import to_equinox as to_equinox
    from .form import relu_form as relu_form
    from .line import line_network as line_network
    from .line import on_line as on_line
    from .maximum import max_affine as max_affine
    from .maximum import maximum as maximum
    from .network import ReluNetwork as ReluNetwork
    from .network import Step as Step
    from .nodal import compile_cpa as compile_cpa
    from .nodal import convex_network as convex_network
    from .nodal import fem_basis as fem_basis
    from .sawtooth import polynomial as polynomial


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ftheta.relu' has no attribute {name!r}")
    return getattr(import_module(f"ftheta.relu.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
