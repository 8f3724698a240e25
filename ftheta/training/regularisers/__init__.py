"""Regularisers for `fit`: weight decay and penalties, spectral constraints, noise, dropout and augmentation."""

from .decay import constrained as constrained
from .decay import decoupled as decoupled
from .decay import l1 as l1
from .decay import l2 as l2
from .decay import largest_row as largest_row
from .decay import penalised as penalised
from .decay import spectral as spectral
from .decay import spectral_ball as spectral_ball
from .disturbances import augmentation as augmentation
from .disturbances import disturbed as disturbed
from .disturbances import dropout as dropout
from .disturbances import noise as noise
from .disturbances import quiet as quiet
from .disturbances import with_dropout as with_dropout
from .penalties import jacobian as jacobian
from .penalties import power_iteration as power_iteration
from .penalties import spectrally_normalised as spectrally_normalised
