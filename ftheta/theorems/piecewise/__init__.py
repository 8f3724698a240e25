"""Piecewise-affine functions and ReLU networks"""
