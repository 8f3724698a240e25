"""Nodes and numbers as people write them: `u · √s`, 0.25, array (3, 4)."""

from typing import Any

import numpy as np

from ftheta.graph.graph import Graph, Node

FORMULAS = {
    "add": "{} + {}",
    "add_any": "{} + {}",
    "sub": "{} − {}",
    "mul": "{} · {}",
    "div": "{} / {}",
    "neg": "−{}",
    "exp": "e^{}",
    "sqrt": "√{}",
    "abs": "|{}|",
    "square": "{}²",
    "pow": "{}^{}",
    "dot_general": "{} {}",
}


def formula(graph: Graph, node: Node) -> str:
    """What a node computes, from the names of its operands."""
    names = [
        _shown(graph.constants[s.id]) if s.id in graph.constants else s.name for s in node.inputs
    ]
    form = FORMULAS.get(node.primitive, "")
    if node.primitive == "integer_pow":
        return f"{names[0]}^{node.params['y']}"
    known = form.count("{}") == len(names)
    return form.format(*names) if known else f"{node.label or node.primitive}({', '.join(names)})"


def cell(x: Any) -> float | str:
    """A number as it is, an array by its shape and norm."""
    array = np.asarray(x)
    if array.shape == ():
        number = float(array)
        return number if np.isfinite(number) else str(number)
    return f"array {array.shape}, norm {np.linalg.norm(array.astype(np.float64).ravel()):.6g}"


def text(content: float | str) -> str:
    """Words as they are, numbers with six digits (and no minus sign before zero)."""
    return content if isinstance(content, str) else f"{content + 0.0:.6g}"


def _shown(constant: Any) -> str:
    array = np.asarray(constant)
    return f"{array.item():.6g}" if array.shape == () else "constant"
