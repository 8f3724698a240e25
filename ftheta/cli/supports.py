"""`ftheta supports`: what can be asked of `ftheta verify`, in the words of the VNN-LIB standard."""

from typing import Annotated

from ftheta.logic.errors import UsageError

from .common import Flag

ELEMENT_TYPES = ("real", "float32", "float64")
OF_FLOATS = frozenset(
    ("Add", "Dropout", "Flatten", "Gemm", "Identity", "MatMul", "Relu", "Reshape", "Squeeze", "Sub")
)
"""Operators of plain chains, which are also verified as they are computed."""
_NAMES = """
    Abs Add AveragePool BatchNormalization Clip Concat Conv ConvTranspose Cos Div Dropout Elu Erf
    Exp Expand Flatten Gather Gelu Gemm GlobalAveragePool Identity LayerNormalization LeakyRelu Log
    LogSoftmax MatMul Max MaxPool Min Mul Neg Pad Pow ReduceMax ReduceMean ReduceMin ReduceSum Relu
    Reshape Sigmoid Sin Slice Softmax Softplus Split Sqrt Squeeze Sub Sum Tanh Transpose Unsqueeze
"""
OPERATORS = _NAMES.split()


def supports(
    *,
    onnx_opset_versions: Annotated[bool, Flag] = False,
    onnx_element_types: Annotated[bool, Flag] = False,
    onnx_operators: Annotated[bool, Flag] = False,
    vnnlib_versions: Annotated[bool, Flag] = False,
    hidden_node_theories: Annotated[bool, Flag] = False,
    multiple_input_output_theories: Annotated[bool, Flag] = False,
    multiple_network_theories: Annotated[bool, Flag] = False,
    multiple_node_comparison_theories: Annotated[bool, Flag] = False,
    arithmetic_complexity_theories: Annotated[bool, Flag] = False,
    optimised_disjunctive_reasoning: Annotated[bool, Flag] = False,
    serialise_assignments: Annotated[bool, Flag] = False,
) -> int:
    """Say which queries and networks can be verified, one capability per call, as the VNN-LIB standard asks.

    Parameters
    ----------
    onnx_opset_versions
        The least and the largest version of ONNX operators.
    onnx_element_types
        Types of numbers for which answers are sound.
    onnx_operators
        Operators of networks.
    vnnlib_versions
        The least and the largest version of the query language.
    hidden_node_theories
        Whether queries may be about hidden nodes (H).
    multiple_input_output_theories
        Whether networks may have several inputs.
    multiple_network_theories
        Whether queries may be about several networks.
    multiple_node_comparison_theories
        Whether a comparison may be of several nodes of a network.
    arithmetic_complexity_theories
        Bounds, comparisons of outputs, linear arithmetic, polynomials.
    optimised_disjunctive_reasoning
        Whether disjunctions are more than multiplied out.
    serialise_assignments
        Whether counter-examples are written as tensors of ONNX.
    """
    from ftheta.networks.onnx.model import OPSETS

    answers = (
        (onnx_opset_versions, (OPSETS[0], OPSETS[-1])),
        (onnx_element_types, ELEMENT_TYPES),
        (onnx_operators, [name if name in OF_FLOATS else f"{name} real" for name in OPERATORS]),
        (vnnlib_versions, ("1.0", "2.0")),
        (hidden_node_theories, ("NH", "H")),
        (multiple_input_output_theories, ("SIO",)),
        (multiple_network_theories, ("SNET", "MENET", "MINET", "MNET")),
        (multiple_node_comparison_theories, ("SNC", "MNC")),
        (arithmetic_complexity_theories, ("BND", "OUTC", "LIN", "POLY")),
        (optimised_disjunctive_reasoning, ("true",)),
        (serialise_assignments, ("false",)),
    )
    asked = [lines for is_asked, lines in answers if is_asked]
    if len(asked) != 1:
        raise UsageError(
            "One capability is asked for at a time.",
            got=f"{len(asked)} of them",
            remedy="for example ftheta supports --onnx-element-types; ftheta supports --help lists them",
        )
    print(*asked[0], sep="\n")
    return 0
