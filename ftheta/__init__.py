"""The mathematics of deep learning, running.

Everything public is one attribute away and imported when it is first used, so that `import ftheta` is light.
"""

import builtins
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ftheta.calling import let_accept_modules

_HOME = {
    "Ball": "ftheta.certify.bounds",
    "Close": "ftheta.verifying.relations",
    "Convex": "ftheta.certify.behaviour.properties",
    "Dataset": "ftheta.subjects",
    "Decreases": "ftheta.verifying.relations",
    "Family": "ftheta.subjects",
    "Measure": "ftheta.subjects",
    "Monotone": "ftheta.certify.behaviour.properties",
    "Network": "ftheta.subjects",
    "Outputs": "ftheta.certify.properties",
    "Polytope": "ftheta.certify.bounds",
    "Robust": "ftheta.certify.properties",
    "Target": "ftheta.subjects",
    "Training": "ftheta.subjects",
    "Enclosure": "ftheta.logic",
    "Result": "ftheta.logic",
    "Verdict": "ftheta.logic",
    "approximate": "ftheta.approximation",
    "attack": "ftheta.certify.perturbations",
    "audit": "ftheta.auditing",
    "barron_norm": "ftheta.approximation.spectral_norm",
    "bounds": "ftheta.certify.bounds",
    "certified_radius": "ftheta.stability.radii",
    "check": "ftheta.checking",
    "check_gradient": "ftheta.graph",
    "compile_cpa": "ftheta.relu",
    "constants": "ftheta.spectra",
    "count_pieces": "ftheta.pieces",
    "decompile": "ftheta.pieces",
    "diffuse": "ftheta.flows.diffusion.models",
    "distance": "ftheta.transport",
    "elbo": "ftheta.latent",
    "equal": "ftheta.pieces",
    "equivariance_defect": "ftheta.groups",
    "equivariant_maps": "ftheta.groups",
    "fem_basis": "ftheta.relu",
    "fit": "ftheta.training",
    "flow": "ftheta.flows.models",
    "langevin": "ftheta.flows.diffusion.langevin",
    "lightning_callback": "ftheta.watching",
    "lipschitz": "ftheta.certify.ladder",
    "list": "ftheta.report.listing",
    "load": "ftheta.subjects.resolve",
    "mean_field": "ftheta.particles",
    "nngp": "ftheta.kernels",
    "ntk": "ftheta.kernels",
    "ppca": "ftheta.latent",
    "range": "ftheta.verifying.relations",
    "reach": "ftheta.verifying.relations",
    "relu_form": "ftheta.relu",
    "risk": "ftheta.risks",
    "risk_bounds": "ftheta.risks.bounds",
    "robustness": "ftheta.stability.accuracy",
    "save": "ftheta.report.save",
    "show": "ftheta.report.listing",
    "simplify": "ftheta.verifying.channels",
    "smooth": "ftheta.stability.smoothing",
    "sweep": "ftheta.sweeps",
    "theorems": "ftheta.catalogue",
    "verify": "ftheta.verifying",
    "watch": "ftheta.watching",
}

_TAKE_MODULES = frozenset(
    {
        "attack",
        "bounds",
        "certified_radius",
        "check",
        "constants",
        "count_pieces",
        "decompile",
        "equal",
        "equivariance_defect",
        "fit",
        "lipschitz",
        "ntk",
        "range",
        "reach",
        "risk_bounds",
        "robustness",
        "simplify",
        "smooth",
        "verify",
    }
)
"""Functions of a network, which take a module of torch in its place."""

_PACKAGES = ("graph", "groups", "pieces", "transport")  # all but groups can be called

if TYPE_CHECKING:
    import ftheta.groups as groups  # noqa: F401
    from ftheta.approximation import approximate as approximate
    from ftheta.approximation.spectral_norm import barron_norm as barron_norm
    from ftheta.auditing import audit as audit
    from ftheta.catalogue import theorems as theorems
    from ftheta.certify.behaviour.properties import Convex as Convex
    from ftheta.certify.behaviour.properties import Monotone as Monotone
    from ftheta.certify.bounds import Ball as Ball
    from ftheta.certify.bounds import Polytope as Polytope
    from ftheta.certify.bounds import bounds as bounds
    from ftheta.certify.ladder import lipschitz as lipschitz
    from ftheta.certify.perturbations import attack as attack
    from ftheta.certify.properties import Outputs as Outputs
    from ftheta.certify.properties import Robust as Robust
    from ftheta.checking import check as check
    from ftheta.flows.diffusion.langevin import langevin as langevin
    from ftheta.flows.diffusion.models import diffuse as diffuse
    from ftheta.flows.models import flow as flow
    from ftheta.graph import check_gradient as check_gradient
    from ftheta.graph import tableau as graph  # noqa: F401
    from ftheta.groups import equivariance_defect as equivariance_defect
    from ftheta.groups import equivariant_maps as equivariant_maps
    from ftheta.kernels import nngp as nngp
    from ftheta.kernels import ntk as ntk
    from ftheta.latent import elbo as elbo
    from ftheta.latent import ppca as ppca
    from ftheta.logic import Enclosure as Enclosure
    from ftheta.logic import Result as Result
    from ftheta.logic import Verdict as Verdict
    from ftheta.particles import mean_field as mean_field
    from ftheta.pieces import count_pieces as count_pieces
    from ftheta.pieces import decompile as decompile
    from ftheta.pieces import equal as equal
    from ftheta.pieces import pieces as pieces
    from ftheta.relu import compile_cpa as compile_cpa
    from ftheta.relu import fem_basis as fem_basis
    from ftheta.relu import relu_form as relu_form
    from ftheta.report.listing import list as list
    from ftheta.report.listing import show as show
    from ftheta.report.save import save as save
    from ftheta.risks import risk as risk
    from ftheta.risks.bounds import risk_bounds as risk_bounds
    from ftheta.spectra import constants as constants
    from ftheta.stability.accuracy import robustness as robustness
    from ftheta.stability.radii import certified_radius as certified_radius
    from ftheta.stability.smoothing import smooth as smooth
    from ftheta.subjects import Dataset as Dataset
    from ftheta.subjects import Family as Family
    from ftheta.subjects import Measure as Measure
    from ftheta.subjects import Network as Network
    from ftheta.subjects import Target as Target
    from ftheta.subjects import Training as Training
    from ftheta.subjects.resolve import load as load
    from ftheta.sweeps import sweep as sweep
    from ftheta.training import fit as fit
    from ftheta.transport import distance as distance
    from ftheta.transport import transport as transport
    from ftheta.verifying import verify as verify
    from ftheta.verifying.channels import simplify as simplify
    from ftheta.verifying.relations import Close as Close
    from ftheta.verifying.relations import Decreases as Decreases
    from ftheta.verifying.relations import range as range
    from ftheta.verifying.relations import reach as reach
    from ftheta.watching import lightning_callback as lightning_callback
    from ftheta.watching import watch as watch


if "IPython" in sys.modules:  # results show themselves as cards in a notebook
    from ftheta.report.notebook import install

    install()


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"ftheta.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'ftheta' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    if name not in _TAKE_MODULES:
        return found
    globals()[name] = _accept_modules(found)  # the same object at the next use
    return globals()[name]


def _accept_modules(function: Any) -> Any:
    from ftheta.subjects.accepting import accept_modules

    return accept_modules(function)


let_accept_modules(_accept_modules)


def __dir__() -> "builtins.list[str]":
    return sorted([*_HOME, *_PACKAGES])
