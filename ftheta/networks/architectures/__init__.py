"""Architectures as tables of layers: shapes, parameters, receptive fields, and the functions themselves."""

from .famous import FAMOUS as FAMOUS
from .famous import alexnet as alexnet
from .famous import gpt1 as gpt1
from .famous import resnet34 as resnet34
from .famous import unet as unet
from .famous import vgg16 as vgg16
from .stack import Row as Row
from .stack import Stack as Stack
from .stack import formula_field as formula_field
from .stack import table_of as table_of
