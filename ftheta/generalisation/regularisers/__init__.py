"""What keeps a fit from following the noise: penalties, early stopping, noise, dropout, augmentation, normalisation.

See docs/generalisation.md.
"""

from .ablations import Recipe as Recipe
from .ablations import ablation as ablation
from .ablations import recipes as recipes
from .averages import augmented_ridge as augmented_ridge
from .averages import dropout_fit as dropout_fit
from .averages import dropout_loss as dropout_loss
from .averages import noise_fit as noise_fit
from .averages import noise_loss as noise_loss
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
from .filters import Spectrum as Spectrum
from .filters import cross_validated as cross_validated
from .filters import descent_filter as descent_filter
from .filters import folds_of as folds_of
from .filters import kernel_ridge_path as kernel_ridge_path
from .filters import ridge_filter as ridge_filter
from .filters import ridge_path as ridge_path
from .normalisation import batch_norm as batch_norm
from .normalisation import invariant_blocks as invariant_blocks
from .normalisation import layer_norm as layer_norm
from .normalisation import normalised_mlp as normalised_mlp
from .normalisation import weight_norm as weight_norm
from .penalties import jacobian as jacobian
from .penalties import power_iteration as power_iteration
from .penalties import spectrally_normalised as spectrally_normalised
from .tradeoff import Tradeoff as Tradeoff
