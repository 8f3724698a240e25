"""ReLU networks as exact piecewise-affine functions."""
