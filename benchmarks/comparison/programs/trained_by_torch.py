"""Training loops on torch: a small network, many of them, and a tiny GPT; eager and compiled."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# compiled before the rounds, every time: what an earlier run left on disk is not asked for
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"

import torch  # type: ignore[import-not-found]
from protocol import Run, serve, take
from torch import nn  # type: ignore[import-not-found]

Work = Mapping[str, np.ndarray]
STEP = 1e-3
MEANS = (0.9, 0.999)  # of Adam
SAFE = 1e-8


def training(work: Work) -> Run:
    return _train(work, fused=False, compiled=False)


def fused_training(work: Work) -> Run:
    return _train(work, fused=True, compiled=False)


def compiled_training(work: Work) -> Run:
    """Loss and gradient by one compiled program, and the fused Adam."""
    return _train(work, fused=True, compiled=True)


def _train(work: Work, fused: bool, compiled: bool) -> Run:
    x = torch.tensor(work["x"], dtype=torch.float32)
    y = torch.tensor(work["y"], dtype=torch.float32)
    net = _perceptron(take(work, "p"))
    start = {name: p.clone() for name, p in net.state_dict().items()}
    loss = lambda rows, targets: ((net(rows) - targets) ** 2).sum(-1).mean()
    loss = torch.compile(loss) if compiled else loss

    def run() -> Any:
        net.load_state_dict(start)
        optimiser = torch.optim.Adam(net.parameters(), STEP, fused=fused)
        order = np.random.default_rng(0)
        found = torch.zeros(())
        for _ in range(int(work["steps"])):
            batch = torch.from_numpy(order.integers(len(x), size=64))
            optimiser.zero_grad()
            found = loss(x[batch], y[batch])
            found.backward()
            optimiser.step()
        return found.detach()

    return run


def _perceptron(weights: list[np.ndarray]) -> Any:
    parts: list[Any] = []
    for W, b in zip(weights[::2], weights[1::2]):
        layer = nn.Linear(W.shape[1], W.shape[0])
        layer.weight.data = torch.tensor(W, dtype=torch.float32)
        layer.bias.data = torch.tensor(b, dtype=torch.float32)
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


# ---- many networks at once -------------------------------------------------------------------------------------------


def each_network(work: Work) -> Run:
    """One after the other, with the fused Adam."""
    x, y, count, steps = _read_networks(work)

    def train_one() -> Any:
        net = _perceptron(take(work, "p"))
        optimiser = torch.optim.Adam(net.parameters(), STEP, fused=True)
        for _ in range(steps):
            optimiser.zero_grad()
            ((net(x) - y) ** 2).sum(-1).mean().backward()
            optimiser.step()
        return net(x)[0, 0].detach()

    return lambda: torch.stack([train_one() for _ in range(count)])


def stacked_networks(work: Work) -> Run:
    return _train_stacked(work, compiled=False)


def compiled_networks(work: Work) -> Run:
    return _train_stacked(work, compiled=True)


def _train_stacked(work: Work, compiled: bool) -> Run:
    """`torch.func.vmap` over stacked parameters; Adam written out, so that all of a step can be compiled."""
    from torch.func import functional_call, grad, stack_module_state, vmap  # type: ignore[import-not-found]

    x, y, count, steps = _read_networks(work)
    nets = [_perceptron(take(work, "p")) for _ in range(count)]
    stacked, _ = stack_module_state(nets)
    start = {name: p.detach() for name, p in stacked.items()}
    gradients = vmap(grad(lambda p: ((functional_call(nets[0], p, (x,)) - y) ** 2).sum(-1).mean()))

    def update(params: Any, first: Any, second: Any, k: Any) -> Any:
        slopes = gradients(params)
        first = {name: MEANS[0] * m + (1 - MEANS[0]) * slopes[name] for name, m in first.items()}
        second = {
            name: MEANS[1] * v + (1 - MEANS[1]) * slopes[name] ** 2 for name, v in second.items()
        }
        small = 1 - MEANS[0] ** k
        large = 1 - MEANS[1] ** k
        moved = {
            name: p - STEP * (first[name] / small) / ((second[name] / large).sqrt() + SAFE)
            for name, p in params.items()
        }
        return moved, first, second

    update = torch.compile(update) if compiled else update

    def run() -> Any:
        with torch.no_grad():
            zeros = {name: torch.zeros_like(p) for name, p in start.items()}
            params, first, second = start, zeros, zeros
            for k in range(steps):
                params, first, second = update(params, first, second, torch.tensor(k + 1.0))
        return next(iter(params.values()))[:, 0, 0]

    return run


def _read_networks(work: Work) -> tuple[Any, Any, int, int]:
    x, y = (torch.tensor(work[name], dtype=torch.float32) for name in ("x", "y"))
    return x, y, int(work["networks"]), int(work["steps"])


# ---- a tiny GPT ------------------------------------------------------------------------------------------------------


class _Gpt(nn.Module):
    """Pre-norm blocks of torch, a causal mask, and scores by the embeddings."""

    def __init__(self, vocabulary: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(0.02 * torch.randn(context, width))
        gelu = nn.GELU(approximate="tanh")
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 4 * width, 0.0, gelu, batch_first=True, norm_first=True
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.mask = nn.Transformer.generate_square_subsequent_mask(context)

    def forward(self, numbers: Any) -> Any:
        x = self.tokens(numbers) + self.positions
        for block in self.blocks:
            x = block(x, src_mask=self.mask, is_causal=True)
        return self.norm(x) @ self.tokens.weight.T


def gpt_training(work: Work) -> Run:
    return _train_gpt(work, lambda loss: loss, fused=False)


def fused_gpt_training(work: Work) -> Run:
    return _train_gpt(work, lambda loss: loss, fused=True)


def compiled_gpt_training(work: Work) -> Run:
    return _train_gpt(work, torch.compile, fused=True)


def _train_gpt(work: Work, prepare: Callable[[Any], Any], fused: bool) -> Run:
    torch.manual_seed(0)
    sizes = {
        name: int(work[name]) for name in ("vocabulary", "context", "width", "heads", "layers")
    }
    model = _Gpt(**sizes)
    optimiser = torch.optim.Adam(model.parameters(), STEP, fused=fused)
    numbers = torch.tensor(work["numbers"])
    windows = numbers.unfold(0, sizes["context"] + 1, 1)
    loss = prepare(
        lambda rows: nn.functional.cross_entropy(
            model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
        )
    )

    def run() -> Any:
        order = np.random.default_rng(0)
        found = torch.zeros(())
        for _ in range(int(work["steps"])):
            batch = torch.from_numpy(order.integers(len(windows), size=int(work["batch"])))
            optimiser.zero_grad(set_to_none=True)
            found = loss(windows[batch])
            found.backward()
            optimiser.step()
        return found.detach()

    return run


if __name__ == "__main__":
    one = (training, fused_training, compiled_training)
    many = (each_network, stacked_networks, compiled_networks)
    texts = (gpt_training, fused_gpt_training, compiled_gpt_training)
    serve({f.__name__: f for f in (*one, *many, *texts)})
