"""Sweeps: a function, or networks, over a grid of settings and seeds; every finished cell kept. See docs/sweeps.md."""

from .grid import Grid as Grid
from .networks import Networks as Networks
from .pool import Pool as Pool
from .store import Store as Store
from .sweeping import Sweep as Sweep
from .sweeping import sweep as sweep
from .table import Table as Table
