"""Limits: many neurons, wide layers, many samples."""
