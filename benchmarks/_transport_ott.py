"""ott-jax on the entropic problems of `transport.py`; prints seconds and values as JSON. Compilation is not counted."""

import json
import sys
import time

import jax
import numpy as np
from ott.geometry import pointcloud  # type: ignore[import-not-found]
from ott.problems.linear import linear_problem  # type: ignore[import-not-found]
from ott.solvers.linear import sinkhorn  # type: ignore[import-not-found]


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    arrays = np.load(sys.argv[1])
    x, y = arrays["plane 1000 x"], arrays["plane 1000 y"]
    median = float(np.median(((x[:, None] - y) ** 2).sum(-1)))
    solver = sinkhorn.Sinkhorn(threshold=1e-6, max_iterations=20_000)

    @jax.jit
    def solve(x, y, epsilon):
        return solver(
            linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=epsilon))
        ).reg_ot_cost

    found = {}
    for share in (0.05, 0.01):
        jax.block_until_ready(solve(x, y, share * median))
        before = time.process_time()
        value = float(solve(x, y, share * median))
        found[f"sinkhorn {share:g}"] = [time.process_time() - before, value]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
