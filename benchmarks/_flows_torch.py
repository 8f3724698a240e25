"""The same neural ODE with torchdiffeq, for `benchmarks/flows.py`; prints one JSON object."""

import json
import sys
import time

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torchdiffeq import odeint, odeint_adjoint  # pyright: ignore[reportMissingImports]


class Field(torch.nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.from_numpy(w)) for w in weights]
        )
        self.evaluations = 0

    def forward(self, t, x):
        self.evaluations += 1
        W1, b1, W2, b2 = self.weights
        return torch.tanh(x @ W1.T + b1) @ W2.T + b2


def main(path: str) -> None:
    held = np.load(path)
    weights = [held[f"w{k}"] for k in range(4)]
    x = torch.from_numpy(held["x"])
    tolerance = float(held["tolerance"])
    rounds = int(held["rounds"])
    times = torch.tensor([0.0, 1.0], dtype=x.dtype)
    found = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name, solve in {"torchdiffeq": odeint, "torchdiffeq, adjoint": odeint_adjoint}.items():
            field = Field(weights)

            def forward(solve=solve, field=field):
                return solve(field, x, times, rtol=tolerance, atol=tolerance, method="dopri5")[-1]

            def both(field=field, forward=forward):
                field.zero_grad()
                loss = (forward() ** 2).sum()
                loss.backward()
                return loss

            for what, run in {"forward": forward, "gradient": both}.items():
                run()  # warm
                field.evaluations = 0
                least = (1e9, 1e9)
                for _ in range(rounds):
                    wall = time.perf_counter()
                    cpu = time.process_time()
                    value = run()
                    least = min(least, (time.process_time() - cpu, time.perf_counter() - wall))
                norm = (
                    sum(float((w.grad**2).sum()) for w in field.weights) ** 0.5
                    if what == "gradient"
                    else 0.0
                )
                size = float((value**2).sum()) if what == "forward" else float(value)
                found[f"{name}, {threads} thread{'s' * (threads > 1)}|{what}"] = (
                    *least,
                    field.evaluations / rounds,
                    size,
                    norm,
                )
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
