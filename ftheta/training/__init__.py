"""Descent and, later, the fit loop, sweeps and their store."""

from .descent import gradient_descent as gradient_descent
