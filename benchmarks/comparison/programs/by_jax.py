"""Contestants on JAX: neural-tangents, matfree, diffrax, ott-jax."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from protocol import Run, serve, take

Work = Mapping[str, np.ndarray]
jax.config.update("jax_enable_x64", True)


def structured_kernel(work: Work) -> Run:
    return _tangents(work, "STRUCTURED_DERIVATIVES")


def contracted_kernel(work: Work) -> Run:
    return _tangents(work, "JACOBIAN_CONTRACTION")


def _tangents(work: Work, method: str) -> Run:
    import neural_tangents as nt  # type: ignore[import-not-found]

    def apply(p: Any, x: Any) -> Any:
        for W, b in zip(p[:-2:2], p[1:-2:2]):
            x = jax.nn.relu(x @ W + b)
        return x @ p[-2] + p[-1]

    p = [jnp.asarray(w.T) for w in take(work, "p")]  # it is much faster with (in, out)
    x = jnp.asarray(work["x"])
    how = getattr(nt.NtkImplementation, method)
    kernel = jax.jit(nt.empirical_ntk_fn(apply, trace_axes=(-1,), vmap_axes=0, implementation=how))
    return lambda: kernel(x, None, p).block_until_ready()


def matfree(work: Work) -> Run:
    """As many Lanczos steps as the five largest need for three digits: found before the rounds."""
    from matfree import decomp, eig  # type: ignore[import-not-found]

    p = [jnp.asarray(w) for w in take(work, "p")]
    x = jnp.asarray(work["x"])
    y = jnp.asarray(work["y"])
    flat, unravel = ravel_pytree(p)

    def loss(flat: Any) -> Any:
        p = unravel(flat)
        h = x
        for W, b in zip(p[:-2:2], p[1:-2:2]):
            h = jnp.tanh(h @ W.T + b)
        return jnp.mean(jnp.sum((h @ p[-2].T + p[-1] - y) ** 2, axis=-1))

    multiply = lambda v: jax.jvp(jax.grad(loss), (flat,), (v,))[1]
    start = jax.random.normal(jax.random.PRNGKey(0), flat.shape)

    def largest(steps: int) -> Any:
        partly = eig.eigh_partial(decomp.tridiag_sym(steps))
        found = jax.jit(lambda v: partly(multiply, v)[0])
        return lambda: np.sort(np.asarray(found(start)))[::-1][:5]

    steps = 16
    before = largest(steps)()
    while True:
        steps *= 2
        run = largest(steps)
        after = run()
        if np.abs(after / before - 1).max() < 1e-3 or steps >= 256:
            return run
        before = after


def ode_gradient(work: Work) -> Run:
    import diffrax  # type: ignore[import-not-found]

    tolerance = float(work["tolerance"])
    control = diffrax.PIDController(rtol=tolerance, atol=tolerance)
    term = diffrax.ODETerm(lambda t, x, p: jnp.tanh(x @ p[0].T + p[1]) @ p[2].T + p[3])

    @jax.jit
    @jax.grad
    def slope(p: Any, x: Any) -> Any:
        found: Any = diffrax.diffeqsolve(
            term, diffrax.Dopri5(), 0.0, 1.0, None, x, p, stepsize_controller=control
        )
        return jnp.sum(found.ys[0] ** 2)

    p = [jnp.asarray(w) for w in take(work, "p")]
    return lambda: jax.block_until_ready(slope(p, work["x"]))[0]


def entropic_transport(work: Work) -> Run:
    from ott.geometry import pointcloud  # type: ignore[import-not-found]
    from ott.problems.linear import linear_problem  # type: ignore[import-not-found]
    from ott.solvers.linear import sinkhorn  # type: ignore[import-not-found]

    solver = sinkhorn.Sinkhorn(threshold=1e-6, max_iterations=20_000)

    @jax.jit
    def solve(x: Any, y: Any) -> Any:
        return solver(
            linear_problem.LinearProblem(pointcloud.PointCloud(x, y, epsilon=work["epsilon"]))
        ).reg_ot_cost

    return lambda: jax.block_until_ready(solve(work["x"], work["y"]))


if __name__ == "__main__":
    methods = (structured_kernel, contracted_kernel, matfree, ode_gradient, entropic_transport)
    serve({f.__name__: f for f in methods})
