"""Curvature: how a loss bends. See docs/spectra.md."""

from .constants import Constants as Constants
from .constants import constants as constants
from .curvature import eigenvalue_range as eigenvalue_range
from .curvature import sampled_curvature as sampled_curvature
from .density import Density as Density
from .density import spectral_density as spectral_density
from .density import trace as trace
from .lanczos import Extremes as Extremes
from .lanczos import Ritz as Ritz
from .lanczos import extremes as extremes
from .objective import Objective as Objective
from .objective import natural_objective as natural_objective
from .operators import Operator as Operator
from .signals import LayerGradients as LayerGradients
from .signals import layer_gradients as layer_gradients
from .trajectory import Trajectory as Trajectory
from .trajectory import along_training as along_training
