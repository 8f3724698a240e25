"""Our contestants, and the limits: products or sorts that the work cannot do without."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from protocol import Run, serve, take

from ftheta.certify.neurons.enclosing import enclose
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.neurons.lines import Start, bound_below, plain_lines
from ftheta.kernels.dispatch import ntk
from ftheta.networks.description import Dense, Description
from ftheta.networks.transformers import Gpt, next_token_loss
from ftheta.pieces import Box, Space, count_pieces, pieces
from ftheta.relu.network import ReluNetwork
from ftheta.spectra import Objective, extremes
from ftheta.subjects import Network
from ftheta.subjects.resolve import load_as
from ftheta.sweeps import Grid, Networks
from ftheta.theorems.depth.adjoint_method.adjoints import solve
from ftheta.training import fit
from ftheta.transport import transport
from ftheta.transport.line import line_cost

Work = Mapping[str, np.ndarray]


def dense_kernel(work: Work) -> Run:
    net = Network.described(_perceptron(work, "relu"))
    return lambda: ntk(net, work["x"])


def image_kernel(work: Work) -> Run:
    def apply(p: Any, x: Any) -> Any:
        for W in p[:-1]:
            x = jax.nn.relu(jax.lax.conv(x[None], W, (1, 1), "SAME")[0])
        return p[-1] @ x.ravel()

    net = Network("convolutional", apply, take(work, "p"), work["x"].shape[1:])
    return lambda: ntk(net, work["x"])


def gram_products(work: Work) -> Run:
    """Of a dense network: activations and gradients of every layer with themselves, in NumPy."""
    arrays = _activations(work) + _activations(work)[1:]
    return lambda: sum(A @ A.T for A in arrays)


def matrix_products(work: Work) -> Run:
    """Those, and what they are made of: a product with every matrix forwards, and with all but the first backwards."""
    weights = take(work, "p")[::2]
    activations = _activations(work)
    grams = gram_products(work)

    def run() -> Any:
        forwards = [A @ W.T for A, W in zip(activations, weights)]
        backwards = [D @ W for D, W in zip(forwards[1:], weights[1:])]
        return grams(), backwards

    return run


def _activations(work: Work) -> list[np.ndarray]:
    """Arrays of the shapes of the inputs and the hidden layers."""
    n = len(work["x"])
    sizes = [W.shape[1] for W in take(work, "p")[::2]]
    return [np.random.default_rng(k).normal(size=(n, size)) for k, size in enumerate(sizes)]


def hessian_eigenvalues(work: Work) -> Run:
    objective = Objective.of(
        _perceptron(work, "tanh"), (work["x"], work["y"]), "squared", dtype=np.float64
    )
    return lambda: np.sort(
        extremes(objective.hessian(), 5, "largest", tol=1e-3, products=2000).largest.values
    )[::-1]


def exact_transport(work: Work) -> Run:
    return lambda: transport(work["x"], work["y"]).value.middle


def entropic_transport(work: Work) -> Run:
    epsilon = float(work["epsilon"])
    return lambda: transport(work["x"], work["y"], epsilon=epsilon).cost.middle


def line_transport(work: Work) -> Run:
    return lambda: float(line_cost(work["x"], work["y"]).middle)


def two_sorts(work: Work) -> Run:
    return lambda: [np.sort(work["x"])[:1], np.sort(work["y"])[:1]]


def ode_gradient(work: Work) -> Run:
    def field(theta: Any, x: Any) -> Any:
        W1, b1, W2, b2 = theta
        return jnp.tanh(x @ W1.T + b1) @ W2.T + b2

    tolerance = float(work["tolerance"])

    def loss(theta: Any, x: Any) -> Any:
        return jnp.sum(solve(field, theta, x, tolerance, stored=True, solver="Dopri5") ** 2)

    jax.config.update("jax_enable_x64", True)
    both = jax.jit(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(both(take(work, "p"), work["x"]))[1][0]


def regions(work: Work) -> Run:
    weights = take(work, "p")
    net = ReluNetwork.dense(weights[::2], weights[1::2])
    return lambda: int(count_pieces(net, Space(weights[0].shape[1])).lo)


def stored_cells(work: Work) -> Run:
    """With corners, maps and facets of every cell."""
    weights = take(work, "p")
    net = ReluNetwork.dense(weights[::2], weights[1::2])
    return lambda: len(pieces(net, Box.cube(weights[0].shape[1])))


def box_bounds(work: Work) -> Run:
    """Lower bounds of all outputs over boxes by back-substitution with the lines of CROWN, rounded outward."""
    weights = take(work, "p")
    net = ReluNetwork.dense(weights[::2], weights[1::2])
    radius = float(work["radius"])

    def bound(x: np.ndarray) -> np.ndarray:
        frame, _ = enclose(net, Inputs(x - radius, x + radius))
        last = frame.last
        start = Start(np.ascontiguousarray(last.weight), last.bias.copy(), last.error.copy())
        return bound_below(
            frame.inputs, frame.layers, start, plain_lines(frame.layers, net.widths[-1])
        )

    return lambda: np.array([bound(x) for x in work["x"]])


def training(work: Work) -> Run:
    net = _perceptron(work, "relu")
    steps = int(work["steps"])
    options: dict[str, Any] = {
        "step": 1e-3,
        "steps": steps,
        "batch": 64,
        "dtype": np.float32,
        "progress": False,
    }
    return lambda: fit(net, (work["x"], work["y"]), "squared", "adam", **options).history.loss[-1]


def networks_together(work: Work) -> Run:
    """In this process: what one worker of a sweep does."""
    hidden = tuple(W.shape[0] for W in take(work, "p")[:-2:2])
    nets = Networks((work["x"], work["y"]), widths=hidden, steps=int(work["steps"]))
    grid = Grid({}, int(work["networks"]))
    cells = [grid[place] for place in range(len(grid))]
    return lambda: [outcome.result["train_loss"] for _, outcome in nets.run(cells)]  # type: ignore[index]


def gpt_training(work: Work) -> Run:
    names = ("vocabulary", "context", "width", "heads", "layers")
    vocabulary, context, width, heads, layers = (int(work[name]) for name in names)
    gpt = Gpt(vocabulary, context, width, heads, layers)
    data = gpt.windows(work["numbers"])
    start = gpt.start(np.random.default_rng(0))
    params = jax.tree.map(lambda a: np.asarray(a, np.float32), start)
    options: dict[str, Any] = {
        "step": 1e-3,
        "steps": int(work["steps"]),
        "batch": int(work["batch"]),
        "progress": False,
    }
    return lambda: fit((params, gpt.apply), data, next_token_loss, "adam", **options).history.loss[
        -1
    ]


def graph_file(work: Work) -> Run:
    """A network from the bytes of an ONNX file."""
    folder = TemporaryDirectory()
    path = Path(folder.name) / "net.onnx"
    path.write_bytes(work["bytes"].tobytes())

    def run() -> int:
        assert folder  # it lives as long as this function
        return load_as(Network, path).input_shape[-1]

    return run


def cold_check(work: Work) -> Run:
    """`ftheta check gd-strongly-convex` in processes of their own, one after the other."""
    return _start(int(work["processes"]), "-m", "ftheta", "check", "gd-strongly-convex")


def cold_jax(work: Work) -> Run:
    """Processes that import JAX and start it."""
    return _start(int(work["processes"]), "-c", "import jax; jax.devices()")


def cold_constants(work: Work) -> Run:
    """`ft.constants` of the bundled network on some rows of the digits, in a process of its own, compiling included."""
    code = (
        "import ftheta as ft; from ftheta.datasets import dataset; rows = dataset('digits');"
        f"k = {int(work['rows'])}; ft.constants(ft.load('digits-mlp'), (rows.x[:k], rows.y[:k]), 'cross-entropy')"
    )
    return _start(1, "-c", code)


def _start(processes: int, *words: str) -> Run:
    """Bytecode is kept, as for any package that was installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *words]

    def run() -> int:
        for _ in range(processes):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return processes

    return run


def _perceptron(work: Work, activation: str) -> Description:
    weights = take(work, "p")
    pairs = list(zip(weights[::2], weights[1::2]))
    hidden = [Dense(W, b, activation) for W, b in pairs[:-1]]
    return Description((*hidden, Dense(*pairs[-1])))


if __name__ == "__main__":
    kernels = (dense_kernel, image_kernel, gram_products, matrix_products)
    transports = (exact_transport, entropic_transport, line_transport, two_sorts)
    others = (hessian_eigenvalues, ode_gradient, regions, stored_cells, box_bounds, graph_file)
    trained = (training, networks_together, gpt_training)
    started = (cold_check, cold_jax, cold_constants)
    serve({f.__name__: f for f in (*kernels, *transports, *others, *trained, *started)})
