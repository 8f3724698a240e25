"""Contestants on NumPy: POT, SciPy, scikit-learn, relucent, onnxruntime."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from protocol import Run, serve, take

Work = Mapping[str, np.ndarray]


def pot_exact(work: Work) -> Run:
    import ot  # type: ignore[import-not-found]

    return lambda: ot.emd2([], [], ot.dist(work["x"], work["y"]), numItermax=10**9)


def pot_entropic(work: Work) -> Run:
    """With the cost of the points, as the others have it."""
    import ot  # type: ignore[import-not-found]

    weights = np.full(len(work["x"]), 1 / len(work["x"]))
    epsilon = float(work["epsilon"])

    def run() -> Any:
        C = ot.dist(work["x"], work["y"])
        return ot.sinkhorn2(
            weights, weights, C, epsilon, method="sinkhorn_log", stopThr=1e-6, numItermax=20_000
        )

    return run


def pot_line(work: Work) -> Run:
    import ot  # type: ignore[import-not-found]

    return lambda: ot.emd2_1d(work["x"], work["y"], metric="euclidean")


def scipy_line(work: Work) -> Run:
    from scipy.stats import wasserstein_distance

    return lambda: wasserstein_distance(work["x"], work["y"])


def scipy_assignment(work: Work) -> Run:
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    def run() -> Any:
        C = cdist(work["x"], work["y"], "sqeuclidean")
        return C[linear_sum_assignment(C)].mean()

    return run


def relucent(work: Work) -> Run:
    """All regions of the plane by a search from neighbour to neighbour, in this process."""
    import relucent as package  # type: ignore[import-not-found]

    weights = take(work, "p")
    net: Any = package.mlp(widths=[weights[0].shape[1], *[W.shape[0] for W in weights[::2]]])
    layers = [layer for layer in net.layers.values() if hasattr(layer, "weight")]
    for layer, W, b in zip(layers, weights[::2], weights[1::2]):
        layer.weight = W.astype(layer.weight.dtype)
        layer.bias = b.reshape(layer.bias.shape).astype(layer.bias.dtype)

    def run() -> Any:
        cells = package.Complex(net)
        cells.bfs(nworkers=1, verbose=0)
        return len(cells)

    return run


def sklearn_training(work: Work) -> Run:
    """As many steps of Adam on batches of as many rows, in an order of its own and from a start of its own."""
    from sklearn.neural_network import MLPRegressor

    x = work["x"].astype(np.float32)
    y = work["y"].astype(np.float32).ravel()
    epochs = max(1, round(int(work["steps"]) * 64 / len(x)))
    hidden = tuple(W.shape[0] for W in take(work, "p")[:-2:2])
    options: dict[str, Any] = {
        "batch_size": 64,
        "max_iter": epochs,
        "tol": 0.0,
        "alpha": 0.0,
        "random_state": 0,
    }

    def run() -> Any:
        net = MLPRegressor(hidden_layer_sizes=hidden, n_iter_no_change=epochs + 1, **options)
        return net.fit(x, y).loss_

    return run


def onnxruntime_session(work: Work) -> Run:
    """It has read and checked the graph, and could run it as it stands."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    file = work["bytes"].tobytes()
    return lambda: len(onnxruntime.InferenceSession(file, options).get_inputs())


def onnx_bytes(work: Work) -> Run:
    import onnx

    file = work["bytes"].tobytes()
    return lambda: len(onnx.load_model_from_string(file).graph.node)


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    methods = (
        pot_exact,
        pot_entropic,
        pot_line,
        scipy_line,
        scipy_assignment,
        relucent,
        sklearn_training,
        onnxruntime_session,
        onnx_bytes,
    )
    serve({f.__name__: f for f in methods})
