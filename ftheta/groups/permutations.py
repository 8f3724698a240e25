r"""Finite groups that permute coordinates, and the linear maps that commute with them.

A representation is an integer array of shape $(|G|,n)$: row $g$ sends coordinate $p$ to `action[g, p]`. For a linear
map $W$ from one represented space to another, $W\rho(g)=\rho'(g)W$ for all $g$ says $W_{gp,gq}=W_{pq}$: $W$ is constant
on the orbits of pairs.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np


def translations(grid: Sequence[int]) -> np.ndarray:
    r"""The cyclic translations of a grid: row $\tau$ sends pixel $p$ to $p+\tau$, both numbered in row-major order."""
    cells = np.stack(np.meshgrid(*(np.arange(M) for M in grid), indexing="ij"), -1).reshape(-1, len(grid))
    moved = (cells[:, None] + cells[None]) % np.array(grid)
    return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(moved, -1, 0)), tuple(grid)))


def characters(action: np.ndarray) -> np.ndarray:
    r"""$\chi(g)$: how many coordinates $g$ leaves in place."""
    return (action == np.arange(action.shape[1])).sum(1)


def commutant_dimension(source: np.ndarray, target: np.ndarray) -> Fraction:
    r"""$\dim\{W:W\rho(g)=\rho'(g)W\}=\frac1{|G|}\sum_g\chi(g)\chi'(g)$, by characters."""
    return Fraction(int(characters(source) @ characters(target)), len(source))


def pair_orbits(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """A name for the orbit of every pair (target, source); there are as many as the commutant's dimension."""
    names = np.full((target.shape[1], source.shape[1]), np.iinfo(np.int64).max)
    for to, of in zip(target, source):
        names = np.minimum(names, to[:, None] * source.shape[1] + of[None])
    return names


def reynolds(W: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    r"""$\frac1{|G|}\sum_g\rho'(g)^{-1}W\rho(g)$: the projection of $W$ onto the maps that commute with the group."""
    return np.mean([W[np.ix_(to, of)] for to, of in zip(target, source)], axis=0)


def commutators(W: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    r"""The largest entry of $|W\rho(g)-\rho'(g)W|$ for every $g$."""
    return np.array([np.abs(W[np.ix_(to, of)] - W).max() for to, of in zip(target, source)])
