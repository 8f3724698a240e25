"""Operators of ATen in JAX: one table `operator → rule` a theme.

A rule is a function `rule(call, x, …)` of the arguments that the operator has in torch, under their names there; the
first one, `self` or `input`, is `x`. A name in a table is `operator` or `operator.overload`.
"""

from ftheta.networks.programs.call import RuleTable

from . import (
    activations,
    arithmetic,
    convolution,
    creation,
    indexing,
    lengths,
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
    **creation.RULES,
    **indexing.RULES,
    **reductions.RULES,
    **convolution.RULES,
    **pooling.RULES,
    **normalisation.RULES,
    **resampling.RULES,
    **recurrent.RULES,
    **lengths.RULES,
}
