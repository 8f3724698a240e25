"""Closed-form kernels of infinitely wide networks: outputs (NNGP) and derivatives of the parameters (NTK)."""

from .closed_forms import closed_form as closed_form
from .closed_forms import fully_connected as fully_connected
from .duals import dual as dual
from .from_weights import architecture_of as architecture_of
from .layers import Activation as Activation
from .layers import Architecture as Architecture
from .layers import AveragePool as AveragePool
from .layers import Conv as Conv
from .layers import Dense as Dense
from .layers import Flatten as Flatten
from .layers import Kernels as Kernels
from .layers import LayerNorm as LayerNorm
from .layers import Residual as Residual
