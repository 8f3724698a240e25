"""The same tangent kernels by neural-tangents, for `benchmarks/width.py`.

Run by a Python with neural-tangents and the JAX that it needs; prints the seconds by method as one JSON object and
writes the kernels beside it.
"""

import json
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import neural_tangents as nt  # type: ignore[import-not-found]
import numpy as np

jax.config.update("jax_enable_x64", True)


def dense(p: list[Any], x: Any) -> Any:
    for W, b in zip(p[:-2:2], p[1:-2:2]):
        x = jax.nn.relu(x @ W + b)
    return x @ p[-2] + p[-1]


def main(name: str, given: str, found: str, rounds: int) -> None:
    arrays = np.load(given)
    # it is much faster with (in, out)
    p = [jnp.asarray(arrays[f"p{i}"].T) for i in range(len(arrays.files) - 1)]
    x = jnp.asarray(arrays["x"])
    apply = {"dense": dense}[name]
    methods = {"structured": nt.NtkImplementation.STRUCTURED_DERIVATIVES}
    methods["Jacobian contraction"] = nt.NtkImplementation.JACOBIAN_CONTRACTION
    kernels = {}
    costs = {}
    for word, method in methods.items():
        function = jax.jit(
            nt.empirical_ntk_fn(apply, trace_axes=(-1,), vmap_axes=0, implementation=method),
            static_argnums=(),
        )
        run = lambda f=function: f(x, None, p).block_until_ready()
        label = f"neural-tangents {nt.__version__}, {word}"
        kernels[label], seconds = run(), []
        for _ in range(rounds):
            before = time.process_time()
            run()
            seconds.append(time.process_time() - before)
        costs[label] = min(seconds)
    arrays: Any = {label: np.asarray(k) for label, k in kernels.items()}
    np.savez(found, **arrays)
    print(json.dumps(costs))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
