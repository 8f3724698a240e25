"""ReLU networks as exact piecewise-affine functions: normal form, calculus, constructions, compilers.

Names are imported when they are first used, so that the exact core does not wait for JAX's tracer.
"""

from typing import TYPE_CHECKING

from ftheta.lazy import import_when_used

_HOME = {
    "ExactNetwork": "network",
    "ReluNetwork": "network",
    "Step": "network",
    "canonical": "symmetry.canonical",
    "compile_cpa": "meshes.nodal",
    "compose": "calculus",
    "compose_sparse": "calculus",
    "convex_network": "meshes.nodal",
    "count": "counts",
    "equal_by_symmetry": "symmetry.canonical",
    "exact": "exact",
    "fem_basis": "meshes.nodal",
    "firing": "counts",
    "line_network": "line.points",
    "load": "export",
    "max_affine": "maxima.maximum",
    "maximum": "maxima.maximum",
    "on_line": "line.points",
    "pad": "calculus",
    "parallel": "calculus",
    "path_norm": "symmetry.canonical",
    "polynomial": "line.sawtooth",
    "relu_form": "reading.form",
    "round_weights": "exact",
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
    from .counts import count as count
    from .counts import firing as firing
    from .exact import exact as exact
    from .exact import round_weights as round_weights
    from .export import load as load
    from .export import save as save
    from .export import to_equinox as to_equinox
    from .line.points import line_network as line_network
    from .line.points import on_line as on_line
    from .line.sawtooth import polynomial as polynomial
    from .maxima.maximum import max_affine as max_affine
    from .maxima.maximum import maximum as maximum
    from .meshes.nodal import compile_cpa as compile_cpa
    from .meshes.nodal import convex_network as convex_network
    from .meshes.nodal import fem_basis as fem_basis
    from .network import ExactNetwork as ExactNetwork
    from .network import ReluNetwork as ReluNetwork
    from .network import Step as Step
    from .reading.form import relu_form as relu_form
    from .symmetry.canonical import canonical as canonical
    from .symmetry.canonical import equal_by_symmetry as equal_by_symmetry
    from .symmetry.canonical import path_norm as path_norm

__getattr__, __dir__ = import_when_used(__name__, _HOME)
