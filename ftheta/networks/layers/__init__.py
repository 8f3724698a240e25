"""The vocabulary of layers: each with its shape rule, parameters, cost, receptive field and function."""

from .branches import Residual as Residual
from .branches import Skip as Skip
from .contractions import ConvexPotential as ConvexPotential
from .contractions import GroupSort as GroupSort
from .contractions import UnitDense as UnitDense
from .grids import Conv as Conv
from .grids import Flatten as Flatten
from .grids import GlobalMean as GlobalMean
from .grids import Norm as Norm
from .grids import Pool as Pool
from .grids import ReLU as ReLU
from .grids import UpConv as UpConv
from .layer import Dense as Dense
from .layer import Layer as Layer
from .tokens import GELU as GELU
from .tokens import Attention as Attention
from .tokens import Embedding as Embedding
from .tokens import LayerNorm as LayerNorm
