"""The same tangent kernels by torch.func, for `benchmarks/width.py`.

Run by a Python that has torch; prints the seconds by method as one JSON object and writes the kernels beside it.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found]
from torch.func import jacrev, vmap  # type: ignore[import-not-found]


def dense(p: tuple[Any, ...], x: Any) -> Any:
    for W, b in zip(p[:-2:2], p[1:-2:2]):
        x = torch.relu(W @ x + b)
    return p[-2] @ x + p[-1]


def convolutional(p: tuple[Any, ...], x: Any) -> Any:
    for W in p[:-1]:
        x = torch.relu(torch.nn.functional.conv2d(x[None], W, padding=1)[0])
    return p[-1] @ x.reshape(-1)


def kernel(apply: Callable[..., Any], p: tuple[Any, ...], x: Any) -> Any:
    jacobians = vmap(jacrev(apply), (None, 0))(p, x)
    flat = [J.reshape(len(x), -1) for J in jacobians]
    return sum(J @ J.T for J in flat)


def main(name: str, given: str, found: str, rounds: int) -> None:
    arrays = np.load(given)
    p = tuple(torch.tensor(arrays[f"p{i}"]) for i in range(len(arrays.files) - 1))
    x = torch.tensor(arrays["x"])
    apply = {"dense": dense, "convolutional": convolutional}[name]
    result = kernel(apply, p, x)
    seconds = []
    for _ in range(rounds):
        before = time.process_time()
        result = kernel(apply, p, x)
        seconds.append(time.process_time() - before)
    label = "torch.func, Jacobian contraction"
    arrays: Any = {label: result.numpy()}
    np.savez(found, **arrays)
    print(json.dumps({label: min(seconds)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
