"""Latent variables: bounds of a likelihood, and the linear model where everything is known."""

from .bounds import elbo as elbo
from .ppca import ppca as ppca
