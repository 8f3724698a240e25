"""Ordinary differential equations as limits of residual networks."""
