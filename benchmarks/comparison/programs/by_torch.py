"""Contestants on torch: torch.func, torchdiffeq, curvlinops, pyhessian, geomloss, auto_LiRPA."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found]
from protocol import Run, serve, take

Work = Mapping[str, np.ndarray]


def dense_kernel(work: Work) -> Run:
    return _kernel(work, _dense)


def image_kernel(work: Work) -> Run:
    def apply(p: Any, x: Any) -> Any:
        for W in p[:-1]:
            x = torch.relu(torch.nn.functional.conv2d(x[None], W, padding=1)[0])
        return p[-1] @ x.reshape(-1)

    return _kernel(work, apply)


def _dense(p: Any, x: Any) -> Any:
    for W, b in zip(p[:-2:2], p[1:-2:2]):
        x = torch.relu(W @ x + b)
    return p[-2] @ x + p[-1]


def _kernel(work: Work, apply: Any) -> Run:
    """All Jacobians by vectorised reverse mode, and their product."""
    from torch.func import jacrev, vmap  # type: ignore[import-not-found]

    p = tuple(map(torch.tensor, take(work, "p")))
    x = torch.tensor(work["x"])

    def run() -> Any:
        flat = [J.reshape(len(x), -1) for J in vmap(jacrev(apply), (None, 0))(p, x)]
        return sum(J @ J.T for J in flat)

    return run


def _network(work: Work, activation: Any, dtype: Any = None) -> Any:
    parts: list[Any] = []
    weights = [torch.tensor(w, dtype=dtype) for w in take(work, "p")]
    for W, b in zip(weights[::2], weights[1::2]):
        layer = torch.nn.Linear(W.shape[1], W.shape[0], dtype=W.dtype)
        layer.weight.data = W
        layer.bias.data = b
        parts += [layer, activation()]
    return torch.nn.Sequential(*parts[:-1])


def _loss(outputs: Any, targets: Any) -> Any:
    return ((outputs - targets) ** 2).sum(-1).mean()


def _hessian_data(work: Work) -> tuple[Any, Any, Any]:
    torch.set_default_dtype(torch.float64)
    return _network(work, torch.nn.Tanh), torch.tensor(work["x"]), torch.tensor(work["y"])


def curvlinops(work: Work) -> Run:
    """Its Hessian as a linear operator, and SciPy's Lanczos."""
    from curvlinops import HessianLinearOperator  # type: ignore[import-not-found]
    from scipy.sparse.linalg import eigsh

    net, x, y = _hessian_data(work)
    params = list(net.parameters())
    tolerance: Any = 1e-3
    # over entries: times the number of outputs it is the loss of the others
    mean = torch.nn.MSELoss(reduction="mean")

    def run() -> Any:
        operator = HessianLinearOperator(
            net, mean, params, [(x, y)], check_deterministic=False
        ).to_scipy()
        return (
            np.sort(eigsh(operator, 5, which="LA", tol=tolerance, return_eigenvectors=False))[::-1]
            * y.shape[1]
        )

    return run


def scipy_eigsh(work: Work) -> Run:
    """Products with the Hessian by torch.func, and SciPy's Lanczos."""
    from scipy.sparse.linalg import LinearOperator, eigsh
    from torch.func import functional_call, grad, jvp  # type: ignore[import-not-found]

    net, x, y = _hessian_data(work)
    names = [name for name, _ in net.named_parameters()]
    params = tuple(p.detach() for p in net.parameters())
    sizes = [p.numel() for p in params]
    slope = grad(lambda p: _loss(functional_call(net, dict(zip(names, p)), (x,)), y))

    def multiply(v: Any) -> Any:
        parts = torch.split(torch.from_numpy(np.ravel(v)), sizes)
        moved = jvp(slope, (params,), (tuple(a.reshape(p.shape) for a, p in zip(parts, params)),))[
            1
        ]
        return torch.cat([m.reshape(-1) for m in moved]).detach().numpy()

    operator: Any = LinearOperator((sum(sizes),) * 2, matvec=multiply, dtype=np.float64)  # type: ignore[call-arg]
    tolerance: Any = 1e-3
    return lambda: np.sort(
        eigsh(operator, 5, which="LA", tol=tolerance, return_eigenvectors=False)
    )[::-1]


def pyhessian(work: Work) -> Run:
    """Power iterations end at relative changes of 1e-6: at its 1e-3 the error was ten times that of the others."""
    from pyhessian import hessian  # type: ignore[import-not-found]

    net, x, y = _hessian_data(work)

    def run() -> Any:
        torch.manual_seed(0)
        return hessian(net, _loss, data=(x, y), cuda=False).eigenvalues(
            maxIter=1000, tol=1e-6, top_n=5
        )[0]

    return run


def ode_gradient(work: Work) -> Run:
    from torchdiffeq import odeint  # type: ignore[import-not-found]

    theta = [torch.nn.Parameter(torch.tensor(p)) for p in take(work, "p")]
    x = torch.tensor(work["x"])
    times = torch.tensor([0.0, 1.0], dtype=x.dtype)
    tolerance = float(work["tolerance"])

    def field(t: Any, x: Any) -> Any:
        return torch.tanh(x @ theta[0].T + theta[1]) @ theta[2].T + theta[3]

    def run() -> Any:
        for p in theta:
            p.grad = None
        end: Any = odeint(field, x, times, rtol=tolerance, atol=tolerance, method="dopri5")[-1]
        (end**2).sum().backward()
        return theta[0].grad

    return run


def entropic_transport(work: Work) -> Run:
    """geomloss, ½‖x − y‖² and blur² = ε/2: times 2 it is the entropic value."""
    from geomloss import SamplesLoss  # type: ignore[import-not-found]

    x = torch.tensor(work["x"])
    y = torch.tensor(work["y"])
    loss = SamplesLoss(
        "sinkhorn", p=2, blur=float(work["epsilon"] / 2) ** 0.5, debias=False, scaling=0.99
    )
    return lambda: 2 * loss(x, y)


def box_bounds(work: Work) -> Run:
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm  # type: ignore[import-not-found]

    points = torch.tensor(work["x"], dtype=torch.float32)
    bounded = BoundedModule(_network(work, torch.nn.ReLU, torch.float32), points[:1], device="cpu")
    box = PerturbationLpNorm(norm=np.inf, eps=float(work["radius"]))

    def run() -> Any:
        with torch.no_grad():
            return bounded.compute_bounds(
                x=(BoundedTensor(points, box),), method="CROWN", bound_upper=False
            )[0]

    return run


if __name__ == "__main__":
    methods = (
        dense_kernel,
        image_kernel,
        curvlinops,
        scipy_eigsh,
        pyhessian,
        ode_gradient,
        entropic_transport,
        box_bounds,
    )
    serve({f.__name__: f for f in methods})
