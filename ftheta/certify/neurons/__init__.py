"""Verification by splitting neurons: linear relaxations with optimised slopes, for ReLU networks of many inputs."""
