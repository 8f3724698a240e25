"""The filters of a network, and whether it is one of them, slid along, or diffuses."""

from functools import lru_cache
from typing import Any

import numpy as np

from ftheta.logic import FthetaError
from ftheta.networks.architectures import table_of
from ftheta.networks.layers.grids import Conv

from .heat import Diffusion, diffusion_of
from .stencils import Stencil, filters_of

READ = 8  # filters that are read
SIDE = 64  # of the ring on which a diffusion is run


@lru_cache(maxsize=2)
def read_filters(net: Any) -> list[Stencil] | FthetaError:
    """The largest filters of the first convolution of a network, or why there are none."""
    try:
        return stencils_of(filters_of(net))
    except FthetaError as error:
        return error


def read_diffusion(net: Any, steps: int) -> Diffusion | None:
    """The residual layers u + q*u of a network whose first convolution is one filter that diffuses."""
    found = read_filters(net)
    if isinstance(found, FthetaError) or len(found) > 1:
        return None
    return diffusion_of(found[0], SIDE if found[0].dimension == 1 else SIDE // 2, steps)


def stencils_of(filters: np.ndarray) -> list[Stencil]:
    """The filters with the largest weights, from (outputs, inputs, *window)."""
    flat = filters.reshape(-1, *filters.shape[2:])
    order = np.argsort(-np.abs(flat).reshape(len(flat), -1).sum(1), kind="stable")
    return [Stencil(flat[k]) for k in order[:READ]]


def is_one_layer(net: Any) -> bool:
    """Whether the network is a table of one convolution of one channel on a ring: a filter, slid along."""
    table = table_of(net)
    alone = (
        table is not None
        and table.circular
        and len(table.layers) == 1
        and isinstance(table.layers[0], Conv)
    )
    return alone and net.input_shape[0] == 1 and net.output_shape == net.input_shape
