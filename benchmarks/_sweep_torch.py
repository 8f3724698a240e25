"""The same 64 networks in PyTorch, for `benchmarks/sweep.py`. Run by a Python that has torch; prints one JSON object.

One thread: for matrices of this size a second one costs more than it gives. Milliseconds are CPU time for one step of
all networks, and of the compilation.
"""

import json
import sys
import time
from itertools import pairwise

import torch  # pyright: ignore[reportMissingImports]

NETWORKS = 64


def networks(widths):
    torch.manual_seed(0)
    found = []
    for _ in range(NETWORKS):
        layers = []
        for a, b in pairwise(widths):
            layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
        found.append(torch.nn.Sequential(*layers[:-1]))
    return found


def eager(widths, x, y):
    """One network after the other, with the fused Adam."""
    nets = networks(widths)
    optimisers = [torch.optim.Adam(net.parameters(), 1e-3, fused=True) for net in nets]

    def step():
        for net, optimiser in zip(nets, optimisers):
            optimiser.zero_grad()
            ((net(x) - y) ** 2).sum(-1).mean().backward()
            optimiser.step()

    return step


def together(widths, x, y, compiled):
    """`torch.func.vmap` over stacked parameters; Adam written out, so that all of the step can be compiled."""
    nets = networks(widths)
    params, _ = torch.func.stack_module_state(nets)
    params = {name: p.detach() for name, p in params.items()}
    base = nets[0]

    def loss(p):
        return ((torch.func.functional_call(base, p, (x,)) - y) ** 2).sum(-1).mean()

    gradients = torch.func.vmap(torch.func.grad(loss))
    first = {name: torch.zeros_like(p) for name, p in params.items()}
    second = {name: torch.zeros_like(p) for name, p in params.items()}

    def update(params, first, second, k):
        g = gradients(params)
        m = {name: 0.9 * first[name] + 0.1 * g[name] for name in params}
        v = {name: 0.999 * second[name] + 0.001 * g[name] ** 2 for name in params}
        a = 1 - 0.9**k
        b = 1 - 0.999**k
        return (
            {
                name: params[name] - 1e-3 * (m[name] / a) / ((v[name] / b).sqrt() + 1e-8)
                for name in params
            },
            m,
            v,
        )

    update = torch.compile(update) if compiled else update
    state = [params, first, second, torch.zeros(())]

    def step():
        state[3] = state[3] + 1
        state[:3] = update(*state)

    return step


def timed(step, steps, rounds=3):
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(steps):
            step()
        best = min(best, time.process_time() - begun)
    return 1e3 * best / steps


def main(widths, rows):
    torch.set_num_threads(1)
    x = torch.randn(rows, widths[0])
    y = torch.sin(x[:, :1])
    found = {}
    with torch.no_grad():
        for name, compiled in (("torch.func vmap", False), ("vmap + torch.compile", True)):
            step = together(widths, x, y, compiled)
            begun = time.process_time()
            step()
            compiling = 1e3 * (time.process_time() - begun)
            step()
            found[name] = (compiling, timed(step, 20))
    step = eager(widths, x, y)
    step()
    found["PyTorch eager"] = (0.0, timed(step, 10))
    print(json.dumps(found))


if __name__ == "__main__":
    main(tuple(json.loads(sys.argv[1])), int(sys.argv[2]))
