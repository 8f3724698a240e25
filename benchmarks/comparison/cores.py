"""The cores that are compared: the work of each at several sizes, our method, the peers, and the limits of the work."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from protocol import number

from .racing import Contestant

Work = dict[str, np.ndarray]


@dataclass(frozen=True)
class Core:
    """`work(size)` are its arrays; `agree` is how far results of contestants may be apart, relative to the largest."""

    name: str
    size: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    work: Callable[[int], Work]
    ours: Contestant
    peers: tuple[Contestant, ...]
    limits: tuple[Contestant, ...] = ()
    agree: float = 1e-6
    note: str = ""


def _ours(method: str, label: str = "ftheta") -> Contestant:
    return Contestant(label, "ours", method)


def _torch(label: str, method: str, environment: str = "torch") -> Contestant:
    return Contestant(label, "by_torch", method, environment)


def _jax(label: str, method: str, environment: str) -> Contestant:
    return Contestant(label, "by_jax", method, environment)


def _numpy(label: str, method: str, environment: str) -> Contestant:
    return Contestant(label, "by_numpy", method, environment)


def _trained(label: str, method: str) -> Contestant:
    return Contestant(label, "trained_by_torch", method, "torch")


# ---- works ----------------------------------------------------------------------------------------------------------


def make_layers(
    rng: np.random.Generator, widths: tuple[int, ...], gain: float, bias: float = 0.1
) -> Work:
    arrays = []
    for m, n in pairwise(widths):
        arrays += [rng.normal(size=(n, m)) * np.sqrt(gain / m), rng.normal(size=n) * bias]
    return number("p", arrays)


def make_dense_rows(rows: int) -> Work:
    rng = np.random.default_rng(0)
    return make_layers(rng, (10, 512, 512, 1), 2.0) | {"x": rng.normal(size=(rows, 10))}


def make_images(rows: int) -> Work:
    rng = np.random.default_rng(0)
    filters = [rng.normal(size=(32, c, 3, 3)) * np.sqrt(2 / (9 * c)) for c in (3, 32, 32)]
    last = rng.normal(size=(1, 32 * 256)) / np.sqrt(32 * 256)
    return number("p", [*filters, last]) | {"x": rng.normal(size=(rows, 3, 16, 16))}


def make_loss(rows: int) -> Work:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 20))
    layers = make_layers(rng, (20, 256, 256, 128, 10), 1.0)
    return layers | {"x": x, "y": np.sin(x @ rng.normal(size=(20, 10)))}


def make_clouds(points: int) -> Work:
    """Two clouds of the plane; ε is a twentieth of the median cost."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(points, 2))
    y = rng.normal(size=(points, 2)) * [1, 2] + [1, 0]
    return {"x": x, "y": y, "epsilon": np.array(0.05 * np.median(((x[:, None] - y) ** 2).sum(-1)))}


def make_line(points: int) -> Work:
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=points), "y": rng.normal(size=points) + 0.1}


def make_field(rows: int) -> Work:
    rng = np.random.default_rng(0)
    W1 = 2 * rng.normal(size=(64, 16)) / 4
    W2 = 2 * rng.normal(size=(16, 64)) / 8
    arrays = number("p", [W1, rng.normal(size=64), W2, rng.normal(size=16)])
    return arrays | {"x": rng.normal(size=(rows, 16)), "tolerance": np.array(1e-6)}


def make_planar_network(width: int) -> Work:
    """Numbers of float32, in which some peers compute."""
    layers = make_layers(np.random.default_rng(0), (2, width, width, 1), 2.0, 0.5)
    return {name: array.astype(np.float32).astype(np.float64) for name, array in layers.items()}


def make_boxes(boxes: int) -> Work:
    rng = np.random.default_rng(0)
    layers = make_layers(rng, (784, 256, 256, 256, 256, 10), 2.0, 0.0)
    return layers | {"x": rng.uniform(size=(boxes, 784)), "radius": np.array(0.005)}


def make_regression(steps: int) -> Work:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10_000, 20))
    return make_layers(rng, (20, 128, 128, 1), 2.0) | {
        "x": x,
        "y": np.sin(x[:, :1]),
        "steps": np.array(steps),
    }


def make_processes(processes: int) -> Work:
    return {"processes": np.array(processes)}


def make_rows(rows: int) -> Work:
    return {"rows": np.array(rows)}


CELLS = {4: (24, 24), 5: (14, 14), 6: (14, 14), 7: (10, 10), 8: (9, 9)}
"""Hidden widths by the dimension of the box."""


def make_boxed_network(dimension: int) -> Work:
    """As networks of torch begin, in numbers of float32."""
    rng = np.random.default_rng(0)
    arrays = []
    for m, n in pairwise((dimension, *CELLS[dimension], 1)):
        side = m**-0.5
        arrays += [rng.uniform(-side, side, shape).astype(np.float32) for shape in ((n, m), n)]
    return number("p", [array.astype(np.float64) for array in arrays])


def make_networks(steps: int) -> Work:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 2))
    settings = {"networks": np.array(64), "steps": np.array(steps)}
    return make_layers(rng, (2, 64, 64, 1), 2.0) | {"x": x, "y": np.sin(x[:, :1])} | settings


def make_text(steps: int) -> Work:
    """Random tokens, and the sizes of a GPT of 0.8 million parameters."""
    sizes = {"vocabulary": 256, "context": 64, "width": 128, "heads": 4, "layers": 4, "batch": 16}
    numbers = np.random.default_rng(0).integers(256, size=1024)
    return {name: np.array(size) for name, size in (sizes | {"steps": steps}).items()} | {
        "numbers": numbers
    }


def make_graph_file(nodes: int) -> Work:
    """An ONNX file: sums and hyperbolic tangents in turn."""
    from onnx import TensorProto, helper, numpy_helper

    names = ["x", *(f"v{k}" for k in range(nodes - 1)), "y"]
    chain = [
        helper.make_node("Add", [names[k], "c"], [names[k + 1]])
        if k % 2
        else helper.make_node("Tanh", [names[k]], [names[k + 1]])
        for k in range(nodes)
    ]
    ends = [helper.make_tensor_value_info(end, TensorProto.FLOAT, [1, 4]) for end in ("x", "y")]
    c = numpy_helper.from_array(np.full(4, 0.1, np.float32), "c")
    graph = helper.make_graph(chain, "chain", ends[:1], ends[1:], [c])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return {"bytes": np.frombuffer(model.SerializeToString(), np.uint8)}


# ---- the table ------------------------------------------------------------------------------------------------------

CORES = (
    Core(
        "tangent kernel, dense 10-512-512-1",
        "rows",
        (64, 128, 256, 512),
        (64, 128, 256),
        make_dense_rows,
        _ours("dense_kernel"),
        (
            _torch("torch.func", "dense_kernel"),
            _jax("neural-tangents, structured", "structured_kernel", "neural-tangents"),
            _jax("neural-tangents, contraction", "contracted_kernel", "neural-tangents"),
        ),
        (_ours("gram_products", "Gram products"), _ours("matrix_products", "all matrix products")),
        # n rows: 1,029 n² multiplications for the halves of five Gram matrices, 530,000 n for what they are made of
        note="of 256 rows Gram products are a third of the multiplications that the kernel consists of, of 512 a half: "
        "the fair limit is all products",
    ),
    Core(
        "tangent kernel, 3 × conv 3×3×32 on 16×16",
        "rows",
        (32, 64, 128, 256),
        (8, 16, 32),
        make_images,
        _ours("image_kernel"),
        (_torch("torch.func", "image_kernel"),),
    ),
    Core(
        "exact transport in the plane",
        "points",
        (500, 1000, 2000, 4000),
        (250, 500, 1000),
        make_clouds,
        _ours("exact_transport"),
        (
            _numpy("POT", "pot_exact", "pot"),
            _numpy("SciPy assignment", "scipy_assignment", "scipy"),
        ),
    ),
    Core(
        "entropic transport, ε = 0.05 median",
        "points",
        (250, 500, 1000, 2000),
        (250, 500, 1000),
        make_clouds,
        _ours("entropic_transport"),
        (
            _numpy("POT", "pot_entropic", "pot"),
            _jax("ott-jax", "entropic_transport", "ott-jax"),
            _torch("geomloss", "entropic_transport", "geomloss"),
        ),
        agree=np.inf,
        note="each its own value (cost, or cost with entropy) at a threshold of 1e-6: the values are not compared",
    ),
    Core(
        "transport on the line",
        "points",
        (10_000, 100_000, 1_000_000),
        (10_000, 100_000, 1_000_000),
        make_line,
        _ours("line_transport"),
        (_numpy("POT", "pot_line", "pot"), _numpy("SciPy", "scipy_line", "scipy")),
        (_ours("two_sorts", "two sorts"),),
    ),
    Core(
        "gradient of a neural ODE, 16-64-16",
        "rows",
        (64, 256, 1024),
        (64, 256, 1024),
        make_field,
        _ours("ode_gradient"),
        (
            _torch("torchdiffeq", "ode_gradient", "torchdiffeq"),
            _jax("diffrax", "ode_gradient", "diffrax"),
        ),
        agree=1e-3,
        note="ours is diffrax with our field: a ratio of 1 is expected",
    ),
    Core(
        "linear regions of the plane, 2-w-w-1",
        "width w",
        (8, 12, 16, 24),
        (6, 8, 12),
        make_planar_network,
        _ours("regions"),
        (_numpy("relucent", "relucent", "relucent"),),
        agree=0.0,
    ),
    Core(
        "bounds over boxes, 784-256⁴-10",
        "boxes",
        (25, 50, 100),
        (5, 10, 20),
        make_boxes,
        _ours("box_bounds"),
        (_torch("auto_LiRPA, CROWN", "box_bounds", "auto-lirpa"),),
        agree=0.1,
        note="ours in float64 and rounded outward, auto_LiRPA in float32 and not",
    ),
    Core(
        "training 20-128-128-1, Adam, batch 64",
        "steps",
        (1000, 2000, 4000),
        (500, 1000, 2000),
        make_regression,
        _ours("training"),
        (
            _trained("PyTorch eager", "training"),
            _trained("PyTorch, fused Adam", "fused_training"),
            _trained("torch.compile, fused Adam", "compiled_training"),
            _numpy("scikit-learn", "sklearn_training", "scikit-learn"),
        ),
        agree=np.inf,
        note="orders of the rows differ, so losses are not compared; scikit-learn takes whole epochs",
    ),
    Core(
        "top 5 Hessian eigenvalues, 105,354 parameters",
        "rows",
        (500, 1000, 2000),
        (16, 32, 64),
        make_loss,
        _ours("hessian_eigenvalues"),
        (
            _torch("curvlinops", "curvlinops", "curvlinops"),
            _torch("SciPy + torch.func", "scipy_eigsh", "torchdiffeq"),
            _torch("pyhessian", "pyhessian", "pyhessian"),
            _jax("matfree", "matfree", "matfree"),
        ),
        agree=5e-3,
        note="residuals or changes of 1e-3; float64",
    ),
    Core(
        "a tiny GPT, Adam, batch 16",
        "steps",
        (10, 20, 40),
        (4, 8),
        make_text,
        _ours("gpt_training"),
        (
            _trained("PyTorch eager", "gpt_training"),
            _trained("PyTorch, fused Adam", "fused_gpt_training"),
            _trained("torch.compile, fused Adam", "compiled_gpt_training"),
        ),
        agree=np.inf,
        note="weights and orders of the rows differ, so losses are not compared",
    ),
    Core(
        "64 networks 2-64-64-1 at once, 256 rows",
        "steps",
        (50, 100, 200),
        (10, 20, 40),
        make_networks,
        _ours("networks_together"),
        (
            _trained("vmap + torch.compile", "compiled_networks"),
            _trained("torch.func vmap", "stacked_networks"),
            _trained("PyTorch, one after the other", "each_network"),
        ),
        agree=np.inf,
        note="ours as one worker of a sweep trains them, each from weights of its own",
    ),
    Core(
        "cells of a box, stored, d-w-w-1",
        "dimensions",
        (4, 5, 6, 7, 8),
        (4, 5, 6),
        make_boxed_network,
        _ours("stored_cells"),
        (),
        (Contestant("sketch, which stores nothing", "by_sketch", "counted_cells"),),
        note="no package is known that does it; growth is in the dimension, and widths differ",
    ),
    Core(
        "an ONNX file is read",
        "nodes",
        (5_000, 10_000, 20_000),
        (1_000, 2_000, 4_000),
        make_graph_file,
        _ours("graph_file"),
        (_numpy("onnxruntime, without optimising", "onnxruntime_session", "onnxruntime"),),
        (Contestant("onnx, the bytes alone", "by_numpy", "onnx_bytes", "onnxruntime"),),
        agree=np.inf,
    ),
    Core(
        "cold check of gd-strongly-convex",
        "processes",
        (1, 2),
        (1,),
        make_processes,
        _ours("cold_check"),
        (),
        (_ours("cold_jax", "import jax, and start it"),),
        agree=np.inf,
        note="all of the process: Python, imports, compiling",
    ),
    Core(
        "cold constants of the digits network",
        "rows",
        (100, 200),
        (50,),
        make_rows,
        _ours("cold_constants"),
        (),
        (),
        agree=np.inf,
        note="all of the process: Python, imports, compiling; no package is known that has them in one call",
    ),
)
