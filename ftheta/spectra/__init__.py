"""Curvature: how a loss bends. See docs/spectra.md.

Names are imported when they are first used: a curvature in closed form does not wait for the measured ones.
"""

from typing import TYPE_CHECKING

from ftheta.lazy import import_when_used

_HOME = {
    "Constants": "loss_constants",
    "Density": "density",
    "Extremes": "lanczos",
    "LayerGradients": "signals",
    "Objective": "objective",
    "Operator": "operators",
    "Ritz": "lanczos",
    "Trajectory": "trajectory",
    "along_training": "trajectory",
    "constants": "loss_constants",
    "eigenvalue_range": "curvature",
    "extremes": "lanczos",
    "layer_gradients": "signals",
    "natural_objective": "objective",
    "sampled_curvature": "curvature",
    "spectral_density": "density",
    "trace": "density",
}

if TYPE_CHECKING:
    from .curvature import eigenvalue_range as eigenvalue_range
    from .curvature import sampled_curvature as sampled_curvature
    from .density import Density as Density
    from .density import spectral_density as spectral_density
    from .density import trace as trace
    from .lanczos import Extremes as Extremes
    from .lanczos import Ritz as Ritz
    from .lanczos import extremes as extremes
    from .loss_constants import Constants as Constants
    from .loss_constants import constants as constants
    from .objective import Objective as Objective
    from .objective import natural_objective as natural_objective
    from .operators import Operator as Operator
    from .signals import LayerGradients as LayerGradients
    from .signals import layer_gradients as layer_gradients
    from .trajectory import Trajectory as Trajectory
    from .trajectory import along_training as along_training

__getattr__, __dir__ = import_when_used(__name__, _HOME)
