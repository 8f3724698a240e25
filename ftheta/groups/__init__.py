"""Symmetry: groups that permute coordinates, translations of grids, and the linear maps that commute with them."""

from .convolution import convolve as convolve
from .convolution import symbol as symbol
from .linearity import Kind as Kind
from .linearity import kind_of as kind_of
from .linearity import superposition_gap as superposition_gap
from .permutations import commutant_dimension as commutant_dimension
from .permutations import commutators as commutators
from .permutations import pair_orbits as pair_orbits
from .permutations import reynolds as reynolds
from .permutations import translations as translations
from .responses import Layout as Layout
from .responses import Responses as Responses
from .responses import layout_of as layout_of
from .responses import respond as respond
