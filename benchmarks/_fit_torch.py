"""The same training in PyTorch, for `benchmarks/fit.py`. Run by a Python that has torch; prints one JSON object.

Data, initial weights and the order of the rows are those of the other loops, read from a file. Every loop runs on one
thread and on two: for matrices of this size a second one mostly costs more than it gives.
"""

import json
import sys
import time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

LOOPS = {
    "PyTorch eager": {"fused": False, "compiled": False},
    "PyTorch eager, fused Adam": {"fused": True, "compiled": False},
    "torch.compile": {"fused": False, "compiled": True},
}


def step_of(weights, fused: bool):
    layers = []
    for w, b in zip(weights[::2], weights[1::2]):
        layers += [torch.nn.Linear(w.shape[1], w.shape[0]), torch.nn.ReLU()]
        with torch.no_grad():
            layers[-2].weight.copy_(torch.from_numpy(w))
            layers[-2].bias.copy_(torch.from_numpy(b))
    net = torch.nn.Sequential(*layers[:-1])
    optimiser = torch.optim.Adam(net.parameters(), 1e-3, fused=fused)

    def step(x, y):
        optimiser.zero_grad()
        loss = ((net(x) - y) ** 2).sum(-1).mean()
        loss.backward()
        optimiser.step()
        return loss

    return step


def timed(step, x, y, rows) -> tuple[tuple[float, float], float]:
    """Wall and CPU seconds of one step for each row of `rows`, and the last loss."""
    wall = time.perf_counter()
    cpu = time.process_time()
    loss = None
    for batch in rows:
        loss = step(x[batch], y[batch])
    return (time.perf_counter() - wall, time.process_time() - cpu), float(
        "nan"
    ) if loss is None else float(loss)


def main(path: str) -> None:
    held = np.load(path)
    x, y, rows = (torch.from_numpy(held[name]) for name in ("x", "y", "rows"))
    weights = [held[f"leaf{k}"] for k in range(len(held.files) - 3)]
    found = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, how in LOOPS.items():
            torch._dynamo.reset()
            step = step_of(weights, how["fused"])
            step = torch.compile(step) if how["compiled"] else step
            timed(step_of(weights, how["fused"]), x, y, rows[:20])  # warm
            compiling, _ = timed(step, x, y, rows[:3]) if how["compiled"] else ((0.0, 0.0), 0.0)
            training, loss = timed(step, x, y, rows)
            found[f"{name}, {threads} thread{'s' * (threads > 1)}"] = (compiling, training, loss)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
