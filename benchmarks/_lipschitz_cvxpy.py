"""LipSDP (one multiplier a neuron) written down in cvxpy, for the Python that FTHETA_CVXPY_PYTHON names.

Called with a file of matrices `W0`, `W1`, … and a solver; prints the bound and the processor seconds as JSON. It needs
numpy and cvxpy alone. The bound is that of the solver, not rounded outward.
"""

import json
import sys
import time
from typing import Any

import numpy as np


def main() -> None:
    import cvxpy as cp  # type: ignore[import-not-found]

    with np.load(sys.argv[1]) as file:
        weights = [file[f"W{k}"] for k in range(len(file.files))]
    start = time.process_time()
    bound = lipsdp(cp, weights, sys.argv[2])
    print(
        json.dumps(
            {"bound": bound, "seconds": time.process_time() - start, "version": cp.__version__}
        )
    )


def lipsdp(cp: Any, weights: list[np.ndarray], solver: str) -> float:
    r"""The least $\sqrt\rho$ with $A^\top TB+B^\top TA-2B^\top TB+\mathrm{diag}(-\rho1,0,W^\top W)\preceq0$. Here $A$
    takes the states to what enters all neurons, $B$ to what leaves them."""
    sizes = [weights[0].shape[1], *(len(W) for W in weights[:-1])]
    ends = np.cumsum([0, *sizes])
    neurons = sum(sizes[1:])
    A = np.zeros((neurons, ends[-1]))
    for k, W in enumerate(weights[:-1]):
        A[ends[k + 1] - sizes[0] : ends[k + 2] - sizes[0], ends[k] : ends[k + 1]] = W
    B = np.eye(ends[-1])[sizes[0] :]
    last = np.zeros((ends[-1], ends[-1]))
    last[ends[-2] :, ends[-2] :] = weights[-1].T @ weights[-1]
    first = np.zeros(ends[-1])
    first[: sizes[0]] = 1.0
    t = cp.Variable(neurons, nonneg=True)
    rho = cp.Variable(nonneg=True)
    T = cp.diag(t)
    M = A.T @ T @ B + B.T @ T @ A - 2 * B.T @ T @ B - rho * np.diag(first) + last
    problem = cp.Problem(cp.Minimize(rho), [(M + M.T) / 2 << 0])
    problem.solve(solver=solver)
    return float(np.sqrt(rho.value))


if __name__ == "__main__":
    main()
