"""Whether the network was handed over as it is to be used."""

import numpy as np

from ftheta.logic import Enclosure, Fact
from ftheta.subjects import Network

from ..judging import judge
from ..part import Part

SHOWN = 3  # layers that are named


def evaluation_mode(net: Network, rng: np.random.Generator) -> Part:
    """Layers in training mode: dropout that is on, batch normalisation by the statistics of the batch."""
    parts = net.training_parts
    value = Enclosure.exact(len(parts))
    fact = Fact(
        "layers in training mode", value, "dropout and batch normalisation", "training_layers"
    )
    named = ", ".join(parts[:SHOWN]) + (
        f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    )
    layers = "layer is" if len(parts) == 1 else "layers are"
    says = f"Handed over in training mode: {len(parts)} {layers} not as in use ({named})."
    means = "Used like this its predictions are random or depend on the other rows; all numbers here are without that."
    return Part((fact,), findings=judge("training-mode", value, says, means=means))
