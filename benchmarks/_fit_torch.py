"""The same training in PyTorch, for `benchmarks/fit.py`. Run by a Python that has torch; prints one JSON object.

One thread: for matrices of this size a second one costs more than it gives.
"""

import json
import sys
import time
from itertools import pairwise

import torch  # pyright: ignore[reportMissingImports]

EXAMPLES, ROWS, WIDTHS = 10_000, 64, (20, 128, 128, 1)


def step_of(fused: bool):
    torch.manual_seed(0)
    layers = []
    for a, b in pairwise(WIDTHS):
        layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    optimiser = torch.optim.Adam(net.parameters(), 1e-3, fused=fused)

    def step(x, y):
        optimiser.zero_grad()
        loss = ((net(x) - y) ** 2).sum(-1).mean()
        loss.backward()
        optimiser.step()
        return loss

    return step


def timed(step, steps: int) -> tuple[float, float]:
    """Wall and CPU seconds of so many steps in shuffled epochs."""
    x = torch.randn(EXAMPLES, WIDTHS[0])
    y = torch.sin(x[:, :1])
    wall, cpu = time.perf_counter(), time.process_time()
    done = 0
    while done < steps:
        order = torch.randperm(EXAMPLES)[: EXAMPLES // ROWS * ROWS]
        for rows in order.split(ROWS)[: steps - done]:
            step(x[rows], y[rows])
            done += 1
    return time.perf_counter() - wall, time.process_time() - cpu


def main(steps: int) -> None:
    torch.set_num_threads(1)
    found = {}
    for name, fused in (("PyTorch eager", False), ("PyTorch eager, fused Adam", True)):
        step = step_of(fused)
        timed(step, 20)
        found[name] = ((0.0, 0.0), timed(step, steps))
    step = torch.compile(step_of(False))
    found["torch.compile"] = (timed(step, 3), timed(step, steps))
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
