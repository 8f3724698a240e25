"""Architectures as tables of layers: shapes, parameters, receptive fields, and the functions themselves."""

from .branches import Residual as Residual
from .branches import Skip as Skip
from .famous import FAMOUS as FAMOUS
from .famous import alexnet as alexnet
from .famous import gpt1 as gpt1
from .famous import resnet34 as resnet34
from .famous import unet as unet
from .famous import vgg16 as vgg16
from .layers import Conv as Conv
from .layers import Dense as Dense
from .layers import Flatten as Flatten
from .layers import GlobalMean as GlobalMean
from .layers import Layer as Layer
from .layers import Norm as Norm
from .layers import Pool as Pool
from .layers import ReLU as ReLU
from .layers import UpConv as UpConv
from .stack import Row as Row
from .stack import Stack as Stack
from .stack import formula_field as formula_field
from .stack import table_of as table_of
from .tokens import Attention as Attention
from .tokens import Embedding as Embedding
from .tokens import LayerNorm as LayerNorm
