"""Who meets whom in a round of pairs, and what the largest of M numbers costs, drawn."""

import numpy as np

from ftheta.logic import Axis, Curves, Dag, Series, Vertex
from ftheta.relu.maxima.maximum import Shape, hidden_layers, neurons


def draw_bracket(x: np.ndarray, shape: Shape) -> Dag:
    """Who meets whom at one input, with the larger number going on."""
    now = [(f"x{i}", int(v)) for i, v in enumerate(x)]
    vertices = [Vertex(id, f"x{i + 1}", f"{v}") for i, (id, v) in enumerate(now)]
    edges = []
    level = 0
    while len(now) > 1:
        pairs = len(now) // 2 if shape == "tree" else 1
        level = level + 1
        met = []
        for i in range(pairs):
            (a, u) = now[2 * i]
            (b, v) = now[2 * i + 1]
            name = f"m{level}.{i}"
            vertices.append(Vertex(name, "max", f"{max(u, v)}"))
            edges += [(a, name), (b, name)]
            met.append((name, max(u, v)))
        now = met + now[2 * pairs :]
    return Dag(f"the {shape}: the larger of each pair goes on", tuple(vertices), tuple(edges))


def draw_growth(M: int) -> Curves:
    """Hidden layers and neurons against how many numbers there are."""
    x = sorted({2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, M})
    series = [
        Series("layers, chain", x, [hidden_layers(m, "chain") for m in x], "bound"),
        Series("layers, tree", x, [hidden_layers(m) for m in x], "measured"),
        Series("neurons, chain", x, [neurons(m, "chain") for m in x], "other"),
        Series("neurons, tree", x, [neurons(m) for m in x], "other"),
    ]
    return Curves(
        "what the largest of M numbers costs",
        Axis("M", "log"),
        Axis("how many", "log"),
        tuple(series),
    )
