r"""Finite groups that permute coordinates, and the linear maps that commute with them.

A representation is an integer array of shape $(|G|,n)$: row $g$ sends coordinate $p$ to `action[g, p]`. For a linear
map $W$ from one represented space to another, $W\rho(g)=\rho'(g)W$ for all $g$ says $W_{gp,gq}=W_{pq}$: $W$ is constant
on the orbits of pairs.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ftheta.shapes import Int, Real


def translations(grid: Sequence[int]) -> Int[np.ndarray, "pixels pixels"]:
    r"""The cyclic translations of a grid: row $\tau$ sends pixel $p$ to $p+\tau$, both numbered in row-major order."""
    cells = np.stack(np.meshgrid(*(np.arange(M) for M in grid), indexing="ij"), -1).reshape(
        -1, len(grid)
    )
    moved = (cells[:, None] + cells[None]) % np.array(grid)
    return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(moved, -1, 0)), tuple(grid)))


def characters(action: Int[np.ndarray, "g d"]) -> Int[np.ndarray, "g"]:
    r"""$\chi(g)$: how many coordinates $g$ leaves in place."""
    return (action == np.arange(action.shape[1])).sum(1)


def commutant_dimension(source: Int[np.ndarray, "g d"], target: Int[np.ndarray, "g e"]) -> Fraction:
    r"""$\dim\{W:W\rho(g)=\rho'(g)W\}=\frac1{|G|}\sum_g\chi(g)\chi'(g)$, by characters."""
    return Fraction(int(characters(source) @ characters(target)), len(source))


def pair_orbits(
    source: Int[np.ndarray, "g d"], target: Int[np.ndarray, "g e"]
) -> Int[np.ndarray, "e d"]:
    """A name for the orbit of every pair (target, source); there are as many as the commutant's dimension."""
    names = np.full((target.shape[1], source.shape[1]), np.iinfo(np.int64).max)
    for to, of in zip(target, source):
        names = np.minimum(names, to[:, None] * source.shape[1] + of[None])
    return names


def reynolds(
    W: Real[np.ndarray, "e d"], source: Int[np.ndarray, "g d"], target: Int[np.ndarray, "g e"]
) -> Real[np.ndarray, "e d"]:
    r"""$\frac1{|G|}\sum_g\rho'(g)^{-1}W\rho(g)$: the projection of $W$ onto the maps that commute with the group."""
    return np.mean([W[np.ix_(to, of)] for to, of in zip(target, source)], axis=0)


def commutators(
    W: Real[np.ndarray, "e d"], source: Int[np.ndarray, "g d"], target: Int[np.ndarray, "g e"]
) -> Real[np.ndarray, "g"]:
    r"""The largest entry of $|W\rho(g)-\rho'(g)W|$ for every $g$."""
    return np.array([np.abs(W[np.ix_(to, of)] - W).max() for to, of in zip(target, source)])
