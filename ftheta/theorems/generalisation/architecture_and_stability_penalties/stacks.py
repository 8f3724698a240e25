r"""Products of layers with and without skip connections: $\sigma_{\min}(\prod(I+M_\ell))\ge\prod(1-\|M_\ell\|)$."""

from dataclasses import dataclass

import numpy as np

from ftheta.certify.norms import spectral_norm

DEPTH = 24
WIDTH = 8


@dataclass(frozen=True, eq=False)
class Stacks:
    r"""Smallest singular values after each layer: of $\prod(I+M_\ell)$ (`skipped`), of `plain` layers of norm 1, and
    the `floor` $\prod(1-\|M_\ell\|)$."""

    skipped: np.ndarray
    plain: np.ndarray
    floor: np.ndarray


def stack_layers(layers: np.ndarray) -> Stacks:
    r"""Square matrices, one per layer, scaled to $\|M_\ell\|=\frac14$ beside a skip and to norm 1 without."""
    width = layers.shape[-1]
    plain = np.eye(width)
    skipped = np.eye(width)
    floor = 1.0
    rows = []
    for layer in layers:
        M = layer / (4 * spectral_norm(layer).hi)
        plain = 4 * M @ plain
        skipped = (np.eye(width) + M) @ skipped
        floor *= 1 - spectral_norm(M).hi
        rows.append((_smallest(skipped), _smallest(plain), floor))
    return Stacks(*np.array(rows).T)


def _smallest(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])
