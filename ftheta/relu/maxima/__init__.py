"""Maxima of affine forms as networks, and how deep they must be."""
