"""The same networks in JAX and in torch, and their bounds by auto_LiRPA."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray
LIRPA_METHODS = {"forward": "forward", "crown": "CROWN", "alpha-crown": "CROWN-Optimized"}
STEPS = 20  # of ascent for free slopes, as ours has by default


@dataclass(frozen=True, eq=False)
class Subject:
    """A network of one input array, as a JAX function and as a torch module of batches, and a box of inputs."""

    function: Callable[[Any], Any]
    module: Callable[[], Any]
    low: Array
    high: Array

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Outputs (count, outputs) at random points of the box and at its corners."""
        share = rng.choice([0.0, 1.0], (count, *self.low.shape))
        share = np.where(
            rng.random((count, *self.low.shape)) < 0.5, share, rng.random((count, *self.low.shape))
        )
        points = self.low + (self.high - self.low) * share
        with jax.enable_x64(True):
            return np.asarray(jax.vmap(self.function)(points)).reshape(count, -1)


def _box(rng: np.random.Generator, shape: tuple[int, ...], radius: float) -> tuple[Array, Array]:
    x = rng.standard_normal(shape).astype(np.float32).astype(np.float64)
    return x - radius, x + radius


def _weights(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Array]:
    """Numbers of float32, scaled by the number of terms."""
    return [
        (rng.standard_normal(s) / np.prod(s[1:]) ** 0.5).astype(np.float32).astype(np.float64)
        for s in shapes
    ]


def _torch(array: Array) -> Any:
    import torch

    return torch.nn.Parameter(torch.tensor(array, dtype=torch.float32), requires_grad=False)


def _module(weights: list[Array], forward: Callable[..., Any]) -> Callable[[], Any]:
    """A torch module that computes `forward(torch, x, *weights)`."""

    def make() -> Any:
        import torch

        class Module(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                for k, w in enumerate(weights):
                    setattr(self, f"w{k}", _torch(w))

            def forward(self, x: Any) -> Any:
                return forward(torch, x, *[getattr(self, f"w{k}") for k in range(len(weights))])

        return Module()

    return make


def make_dense(activation: str, torch_name: str) -> Callable[[np.random.Generator], Subject]:
    """20-100-100-10."""

    def make(rng: np.random.Generator) -> Subject:
        W = _weights(rng, (100, 20), (100, 100), (10, 100))
        act = getattr(jax.nn, activation)

        def forward(torch: Any, x: Any, *w: Any) -> Any:
            turn = getattr(torch, torch_name)
            return turn(turn(x @ w[0].T) @ w[1].T) @ w[2].T

        return Subject(
            lambda x: W[2] @ act(W[1] @ act(W[0] @ x)), _module(W, forward), *_box(rng, (20,), 0.1)
        )

    return make


def make_residual(rng: np.random.Generator) -> Subject:
    """Three residual blocks of width 40 with tanh."""
    W = _weights(rng, (40, 10), (40, 40), (40, 40), (40, 40), (5, 40))

    def f(x: Any) -> Any:
        h = W[0] @ x
        for w in W[1:4]:
            h = h + jnp.tanh(w @ h)
        return W[4] @ h

    def forward(torch: Any, x: Any, *w: Any) -> Any:
        h = x @ w[0].T
        for k in (1, 2, 3):
            h = h + torch.tanh(h @ w[k].T)
        return h @ w[4].T

    return Subject(f, _module(W, forward), *_box(rng, (10,), 0.1))


def make_gated(rng: np.random.Generator) -> Subject:
    """Products: σ(Ax) · tanh(Bx), twice."""
    W = _weights(rng, (40, 10), (40, 10), (40, 40), (40, 40), (5, 40))

    def f(x: Any) -> Any:
        h = jax.nn.sigmoid(W[0] @ x) * jnp.tanh(W[1] @ x)
        return W[4] @ (jax.nn.sigmoid(W[2] @ h) * jnp.tanh(W[3] @ h))

    def forward(torch: Any, x: Any, *w: Any) -> Any:
        h = torch.sigmoid(x @ w[0].T) * torch.tanh(x @ w[1].T)
        return (torch.sigmoid(h @ w[2].T) * torch.tanh(h @ w[3].T)) @ w[4].T

    return Subject(f, _module(W, forward), *_box(rng, (10,), 0.1))


def make_softmax(rng: np.random.Generator) -> Subject:
    """Softmax of a hidden layer, times values."""
    W = _weights(rng, (16, 10), (8, 16), (5, 8))

    def forward(torch: Any, x: Any, *w: Any) -> Any:
        return torch.softmax(torch.relu(x @ w[0].T) @ w[1].T, 1) @ w[2].T

    f = lambda x: W[2] @ jax.nn.softmax(W[1] @ jax.nn.relu(W[0] @ x))
    return Subject(f, _module(W, forward), *_box(rng, (10,), 0.2))


def make_convolutional(rng: np.random.Generator) -> Subject:
    """Two convolutions with ReLU and stride 2, and a dense layer, on images of 1 × 12 × 12."""
    W = _weights(rng, (6, 1, 3, 3), (8, 6, 3, 3), (10, 8 * 2 * 2))

    def convolve(x: Any, w: Any) -> Any:
        return jax.nn.relu(jax.lax.conv_general_dilated(x, jnp.asarray(w), (2, 2), "VALID"))

    def forward(torch: Any, x: Any, *w: Any) -> Any:
        h = torch.relu(torch.nn.functional.conv2d(x, w[0], stride=2))
        h = torch.relu(torch.nn.functional.conv2d(h, w[1], stride=2))
        return h.flatten(1) @ w[2].T

    f = lambda x: W[2] @ convolve(convolve(x[None], W[0]), W[1]).ravel()
    return Subject(f, _module(W, forward), *_box(rng, (1, 12, 12), 0.05))


def make_generator(rng: np.random.Generator) -> Subject:
    """Few inputs, wide layers, many outputs: 4-512-1024-2048."""
    W = _weights(rng, (512, 4), (1024, 512), (2048, 1024))

    def forward(torch: Any, x: Any, *w: Any) -> Any:
        return torch.relu(torch.relu(x @ w[0].T) @ w[1].T) @ w[2].T

    f = lambda x: W[2] @ jax.nn.relu(W[1] @ jax.nn.relu(W[0] @ x))
    return Subject(f, _module(W, forward), *_box(rng, (4,), 0.05))


NETWORKS: dict[str, Callable[[np.random.Generator], Subject]] = {
    "relu 20-100-100-10": make_dense("relu", "relu"),
    "tanh 20-100-100-10": make_dense("tanh", "tanh"),
    "sigmoid 20-100-100-10": make_dense("sigmoid", "sigmoid"),
    "residual tanh": make_residual,
    "gated products": make_gated,
    "softmax": make_softmax,
    "convolutional": make_convolutional,
    "generator 4-512-1024-2048": make_generator,
}


def import_lirpa() -> ModuleType | None:
    if "FTHETA_AUTO_LIRPA" in os.environ:
        sys.path.insert(0, os.environ["FTHETA_AUTO_LIRPA"])
    try:
        import auto_LiRPA  # type: ignore[import-not-found]
    except ImportError:
        return None
    return auto_LiRPA


def bound_with_lirpa(lirpa: Any, subject: Subject, method: str) -> tuple[Array, Array, float]:
    """Lower and upper bounds, and the CPU seconds that they took."""
    import torch

    torch.set_num_threads(1)
    low, high = (
        torch.tensor(end[None], dtype=torch.float32) for end in (subject.low, subject.high)
    )
    options = {"optimize_bound_args": {"iteration": STEPS}}
    bounded = lirpa.BoundedModule(subject.module(), low, bound_opts=options, device="cpu")
    box = lirpa.BoundedTensor(
        (low + high) / 2, lirpa.PerturbationLpNorm(norm=np.inf, x_L=low, x_U=high)
    )
    begun = time.process_time()
    lower, upper = bounded.compute_bounds(x=(box,), method=LIRPA_METHODS[method])
    seconds = time.process_time() - begun
    return lower.detach().numpy(), upper.detach().numpy(), seconds
