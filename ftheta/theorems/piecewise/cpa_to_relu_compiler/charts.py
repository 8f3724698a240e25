"""The pieces of a function, and how they become weights, drawn."""

from dataclasses import replace

from ftheta.logic import Chart, Dag, Vertex
from ftheta.pieces.functions.composition import Listing
from ftheta.relu.counts import count
from ftheta.relu.network import ExactNetwork
from ftheta.theorems.charts_cells import draw_cells

from .compiler import Compiled
from .sources import Source


def draw_pieces(source: Source, made: Compiled) -> Chart:
    """The function on the cells where both of its convex parts are affine."""
    cells = [replace(piece, rows=piece.rows[:1]) for piece in made.refined]
    return draw_cells(Listing(cells, source.frame), "f on the cells of g and h", source.axes)


def draw_pipeline(made: Compiled) -> Dag:
    """What is made of what, with the sizes on the way."""
    g = made.convex
    h = made.ridge_layer
    n = made.sizes
    told = [
        ("f", "f", f"{n['pieces']} pieces"),
        ("g", "g = f + h", f"max of {n['M']}"),
        ("tree", "tree of maxima", _size(g)),
        ("net", "[1, −1]", f"{_size(made.network)}, W = {n['W']}"),
    ]
    edges = [("f", "g"), ("g", "tree"), ("tree", "net")]
    if h is not None:
        pad = max(0, len(g.steps) - len(h.steps))
        told += [
            ("h", "h", f"{n['hyperplanes in h']} ridges"),
            ("pad", f"one layer, padded by {pad}", _size(h)),
        ]
        edges += [("f", "h"), ("h", "g"), ("h", "pad"), ("pad", "net")]
    return Dag("from pieces to weights", tuple(Vertex(*v) for v in told), tuple(edges))


def _size(net: ExactNetwork) -> str:
    return f"L = {len(net.steps)}, N = {count(net).neurons}"
