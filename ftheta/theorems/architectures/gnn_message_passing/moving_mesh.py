r"""Mesh nodes of an interval that move by messages from their neighbours until the error is spread evenly.

Node $i$ moves half of the way to $\frac{m_-x_{i-1}+m_+x_{i+1}}{m_-+m_+}$, where $m_\pm$ is the mean of the monitor
$|u''|^{2/5}$ over the cell on either side. Half steps keep the order of the nodes; at rest $m_{i+1/2}(x_{i+1}-x_i)$ is
the same for all cells (equidistribution). For linear interpolation in $L^2$ this monitor is the best: the error times
$N^2$ tends to $\|u''\|_{2/5}/\sqrt{120}$, against $\|u''\|_2/\sqrt{120}$ for equal cells.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.logic import UsageError

GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(8)
FLOOR = 1e-3  # of the mean monitor: cells stay finite where u is straight


@dataclass(frozen=True)
class InteriorLayer:
    r"""$u(x)=\tanh(s(x-c))$ on $[0,1]$: a layer of width $1/s$."""

    steepness: float = 20.0
    centre: float = 0.4

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.tanh(self.steepness * (x - self.centre))

    def bend(self, x: np.ndarray) -> np.ndarray:
        r"""$u''=-2s^2\tanh\,\mathrm{sech}^2$."""
        t = self(x)
        return -2 * self.steepness**2 * t * (1 - t * t)


def monitor(u: InteriorLayer, x: np.ndarray) -> np.ndarray:
    r"""$|u''|^{2/5}$, raised by a small part of its mean over the interval."""
    fine = np.linspace(0, 1, 2001)
    mean = float((np.abs(u.bend(fine)) ** 0.4).mean())
    return np.abs(u.bend(x)) ** 0.4 + FLOOR * mean


def cell_weights(u: InteriorLayer, x: np.ndarray) -> np.ndarray:
    """The mean of the monitor over every cell."""
    middle = (x[1:] + x[:-1]) / 2
    half = np.diff(x) / 2
    return (monitor(u, middle[:, None] + half[:, None] * GAUSS) @ WEIGHTS) / 2


def move(u: InteriorLayer, x: np.ndarray) -> np.ndarray:
    """One round of messages: every inner node moves half of the way to the weighted mean of its neighbours."""
    m = cell_weights(u, x)
    aim = (m[:-1] * x[:-2] + m[1:] * x[2:]) / (m[:-1] + m[1:])
    return np.concatenate([x[:1], (x[1:-1] + aim) / 2, x[-1:]])


def relocate(u: InteriorLayer, cells: int, rounds: int) -> np.ndarray:
    """The meshes after 0, …, K rounds from equal cells, one per row."""
    if cells < 2:
        raise UsageError(
            "A mesh to move needs an inner node.",
            got=f"{cells} cells",
            remedy="give at least 2 cells",
        )
    meshes = [np.linspace(0, 1, cells + 1)]
    for _ in range(rounds):
        meshes.append(move(u, meshes[-1]))
    return np.array(meshes)


def equidistribute(u: InteriorLayer, cells: int) -> np.ndarray:
    """The mesh at rest, by the inverse of the integral of the monitor: no messages."""
    fine = np.linspace(0, 1, 20_001)
    m = monitor(u, fine)
    mass = np.concatenate([[0.0], np.cumsum((m[1:] + m[:-1]) / 2)])
    return np.interp(np.linspace(0, mass[-1], cells + 1), mass, fine)


def interpolation_error(u: InteriorLayer, x: np.ndarray) -> float:
    r"""$\|u-u_h\|_{L^2(0,1)}$ of the linear interpolant at the nodes, by Gauss quadrature with 8 points per cell; it is
    the error of linear finite elements for $-u''=f$ too, which are exact at the nodes."""
    middle = (x[1:] + x[:-1]) / 2
    half = np.diff(x) / 2
    points = middle[:, None] + half[:, None] * GAUSS
    left = u(x[:-1])[:, None]
    right = u(x[1:])[:, None]
    line = left + (right - left) * (1 + GAUSS) / 2
    return float(np.sqrt((((u(points) - line) ** 2) @ WEIGHTS * half).sum()))


def bend_norm(u: InteriorLayer, power: float) -> float:
    r"""$\|u''\|_p=(\int_0^1|u''|^p)^{1/p}$, for $p<1$ too."""
    fine = np.linspace(0, 1, 200_001)
    return float(np.trapezoid(np.abs(u.bend(fine)) ** power, fine) ** (1 / power))


def spread(u: InteriorLayer, x: np.ndarray) -> float:
    """Largest over smallest share of the monitor in a cell: 1 when the mesh is at rest."""
    shares = cell_weights(u, x) * np.diff(x)
    return float(shares.max() / shares.min())
