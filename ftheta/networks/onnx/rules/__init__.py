"""Operators of ONNX in JAX: one table `operator → rule` a theme."""

from ftheta.networks.programs.call import RuleTable

from . import (
    activations,
    arithmetic,
    convolution,
    indexing,
    normalisation,
    pooling,
    products,
    recurrent,
    reductions,
    resampling,
    shapes,
)

RULES: RuleTable = {
    **arithmetic.RULES,
    **activations.RULES,
    **products.RULES,
    **shapes.RULES,
    **indexing.RULES,
    **reductions.RULES,
    **convolution.RULES,
    **pooling.RULES,
    **normalisation.RULES,
    **resampling.RULES,
    **recurrent.RULES,
}
