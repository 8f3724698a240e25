"""Descent and the fit loop. See docs/training.md."""

from . import regularisers as regularisers
from .batches import Batches as Batches
from .checkpoint import Checkpoint as Checkpoint
from .descent import gradient_descent as gradient_descent
from .fitting import fit as fit
from .losses import LOSSES as LOSSES
from .losses import Loss as Loss
from .optimisers import OPTIMISERS as OPTIMISERS
from .program import Problem as Problem
from .program import State as State
from .run import Fit as Fit
from .stopping import Stop as Stop
