"""The same eigenvalues by the peers, for `benchmarks/spectra.py`.

Run by a Python that has torch; prints one JSON object. Weights and data are read from the file that the
benchmark wrote.
"""

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found]


def network(arrays: Any) -> torch.nn.Sequential:
    parts: list[torch.nn.Module] = []
    depth = sum(name.startswith("W") for name in arrays)
    for i in range(depth):
        W, b = (torch.tensor(arrays[f"{part}{i}"]) for part in "Wb")
        layer = torch.nn.Linear(W.shape[1], W.shape[0], dtype=W.dtype)
        with torch.no_grad():
            layer.weight.copy_(W)
            layer.bias.copy_(b)
        parts += [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*parts[:-1])


def loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return ((outputs - targets) ** 2).sum(-1).mean()


def timed(run: Callable[[], list[float]], rounds: int) -> dict[str, Any]:
    """The eigenvalues, and the smallest CPU seconds of a few rounds."""
    seconds = []
    values = []
    for _ in range(rounds):
        before = time.process_time()
        values = run()
        seconds.append(time.process_time() - before)
    return {"values": values, "seconds": min(seconds)}


def main(path: str, k: int, steps: int, rounds: int) -> None:
    arrays = np.load(path)
    net = network(arrays)
    x = torch.tensor(arrays["x"])
    y = torch.tensor(arrays["y"])
    torch.set_default_dtype(x.dtype)
    found: dict[str, Any] = {}
    if importlib.util.find_spec("hessian_eigenthings"):
        from hessian_eigenthings.algorithms import lanczos  # type: ignore[import-not-found]
        from hessian_eigenthings.operators import HessianOperator  # type: ignore[import-not-found]

        def by_lanczos(most: int) -> list[float]:
            operator = HessianOperator(
                net, [(x, y)], lambda model, batch: loss(model(batch[0]), batch[1])
            )
            return lanczos(operator, k=k, max_iter=most, which="LA", seed=0).eigenvalues.tolist()

        found["hessian-eigenthings, as many steps"] = timed(lambda: by_lanczos(steps), rounds)
        found["hessian-eigenthings, its default"] = timed(lambda: by_lanczos(2 * k), rounds)
    if importlib.util.find_spec("pyhessian"):
        from pyhessian import hessian  # type: ignore[import-not-found]

        def by_power() -> list[float]:
            torch.manual_seed(0)
            return hessian(net, loss, data=(x, y), cuda=False).eigenvalues(top_n=k)[0]

        found["pyhessian"] = timed(by_power, rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
