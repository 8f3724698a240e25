"""Descent and the fit loop. See docs/training.md.

Names are imported when they are first used: many a theorem needs one module of this room and none of its readers and
writers.
"""

from typing import TYPE_CHECKING

from ftheta.lazy import import_when_used

_HOME = {
    "Batches": "batches",
    "Checkpoint": "checkpoint",
    "Fit": "run",
    "LOSSES": "losses",
    "Loss": "losses",
    "OPTIMISERS": "optimisers",
    "Problem": "program",
    "RobustLoss": "robust",
    "State": "program",
    "Stop": "stopping",
    "fit": "fitting",
    "gradient_descent": "descent",
    "regularisers": "",
}

if TYPE_CHECKING:
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
    from .robust import RobustLoss as RobustLoss
    from .run import Fit as Fit
    from .stopping import Stop as Stop

__getattr__, __dir__ = import_when_used(__name__, _HOME)
