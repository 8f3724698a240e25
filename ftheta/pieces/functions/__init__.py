"""Continuous piecewise-affine functions as such: partitions, convexity, compiling them to networks and back."""
