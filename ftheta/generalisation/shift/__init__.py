"""Beyond the data: interpolation nodes, rays, hulls, shifted laws, and structure that holds everywhere."""

from .certificates import convex_test as convex_test
from .certificates import monotone_test as monotone_test
from .certificates import pieces_everywhere as pieces_everywhere
from .certificates import symplectic_test as symplectic_test
from .hull import Membership as Membership
from .hull import membership as membership
from .importance import GaussianShift as GaussianShift
from .importance import effective_rows as effective_rows
from .nodes import Interpolant as Interpolant
from .nodes import lebesgue_constant as lebesgue_constant
from .rays import Far as Far
from .rays import far as far
from .rays import settled as settled
from .runge_function import Runge as Runge
from .shears import SympNet as SympNet
from .signs import Shape as Shape
from .signs import shape_of as shape_of
