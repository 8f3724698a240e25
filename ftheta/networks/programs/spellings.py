"""Activations as expressions of operators of ONNX, as files are written and specs are spelled out."""

from collections.abc import Mapping
from typing import Any

from ftheta.networks.activations import LEAK

Z = "z"
"""The argument of an activation, in its spelling."""

SPELLINGS: Mapping[str, Any] = {
    "relu": ("Relu", Z),
    "tanh": ("Tanh", Z),
    "sigmoid": ("Sigmoid", Z),
    "arctan": ("Atan", Z),
    "softplus": ("Softplus", Z),
    "gelu": ("Gelu", Z),
    "silu": ("Mul", Z, ("Sigmoid", Z)),
    "square": ("Mul", Z, Z),
    "leaky-relu": ("Max", Z, ("Mul", Z, float(LEAK))),
}
"""A tuple is an operator and its arguments, a number a constant.

ONNX's own LeakyRelu is none of them: its slope is a float32, and 1/100 is not.
"""
