"""`constants`: what the theorems of optimisation ask of a loss, measured on your network and data."""

from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import jax
import numpy as np

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError
from ftheta.networks.description import Description
from ftheta.training.losses import Loss, PerExample

from .density import Density, spectral_density
from .lanczos import DENSE, Extremes, extremes
from .objective import Objective
from .signals import LayerGradients, layer_gradients
from .trajectory import Trajectory, along_training

EXACT_KERNEL = 2048  # rows × outputs up to which all eigenvalues of the tangent kernel are computed
CONVEX = ("squared", "half-squared", "absolute", "huber", "cross-entropy", "logistic", "hinge")
SIGNAL_ROWS = 64


@dataclass(frozen=True, eq=False)
class Constants:
    r"""The constants of $\mathcal L$ at the parameters $\theta$ of the network.

    `hessian` are the ends of the spectrum with their residuals, `kernel` those of the tangent kernel $JJ^\top$,
    `density` its outline and trace (None where not asked), `layers` the gradients by layer where the layers are known,
    `path` what was seen along a training run where one was asked for. `step` is $\tau$.
    """

    objective: Objective
    loss: float
    gradient: float
    hessian: Extremes
    kernel: Extremes
    density: Density | None = None
    layers: LayerGradients | None = None
    path: Trajectory | None = None
    step: float | None = None
    optimum: float = 0.0
    affine: bool = field(default=False)

    # -- the constants ------------------------------------------------------------------------------------------

    @property
    def smoothness(self) -> Enclosure:
        r"""$\max_i|\lambda_i|$ of the Hessian here: the local Lipschitz constant of the gradient."""
        return self.hessian.norm()

    @property
    def top(self) -> Enclosure:
        return self.hessian.top()

    @property
    def lowest(self) -> Enclosure:
        r"""$\lambda_{\min}$ of the Hessian here."""
        return self.hessian.bottom()

    @property
    def strong_convexity(self) -> Enclosure | None:
        r"""$\mu$ with $\nabla^2\mathcal L\succeq\mu I$ everywhere: known for linear models, convex losses; else None.

        The ridge gives $2\gamma$; the Hessian of a squared loss is the same everywhere, so its least eigenvalue counts.
        """
        if not self.affine or self.objective.loss.name not in CONVEX:
            return None
        floor = 2 * self.objective.ridge
        if self.objective.loss.name in ("squared", "half-squared") and self.hessian.complete:
            return Enclosure.between(
                max(self.lowest.lo, floor), max(self.lowest.hi, floor), Basis.FLOAT
            )
        return Enclosure.at_least(floor)

    @property
    def pl(self) -> Enclosure:
        r"""$\frac12\|\nabla\mathcal L\|^2/(\mathcal L-\mathcal L^*)$ here; no less than with the `optimum` given."""
        excess = self.loss - self.optimum
        return Enclosure.at_least(self.gradient**2 / 2 / excess) if excess > 0 else Enclosure(0.0)

    @property
    def pl_by_kernel(self) -> Enclosure | None:
        r"""$\mu$ of the PL inequality with $\mathcal L^*=0$ here, from $\lambda_{\min}(JJ^\top)$; squared losses."""
        scale = {"squared": 2.0, "half-squared": 1.0}.get(self.objective.loss.name)
        if scale is None or self.objective.ridge or not self.kernel.complete:
            return None
        least = self.kernel.bottom()
        factor = scale / len(self.objective.examples)
        return Enclosure.between(
            max(least.lo, 0.0) * factor, max(least.hi, 0.0) * factor, Basis.FLOAT
        )

    @property
    def condition(self) -> Enclosure | None:
        r"""$\lambda_{\max}/\lambda_{\min}$ where the Hessian is positive definite."""
        return self.top / self.lowest if self.lowest.lo > 0 else None

    @property
    def stable_step(self) -> Enclosure | None:
        r"""$2/\lambda_{\max}$, above which gradient descent leaves the top eigenvector."""
        return Enclosure.exact(2) / self.top if self.top.lo > 0 else None

    @property
    def edge(self) -> Enclosure | None:
        r"""$\tau\lambda_{\max}$: the edge of stability is at 2."""
        return None if self.step is None else self.top * Enclosure.exact(self.step)

    # -- as text ------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return _describe(self)

    __repr__ = __str__


def constants(
    net: Any,
    data: Any = None,
    loss: str | Loss | PerExample = "squared",
    *,
    ridge: float = 0.0,
    step: float | None = None,
    steps: int = 0,
    optimiser: Any = "gd",
    k: int = 5,
    probes: int = 0,
    optimum: float = 0.0,
    tol: float = 1e-3,
    products: int = 400,
    seed: int = 0,
) -> Constants:
    r"""The constants of the mean loss of `net` on `data`, at its parameters; matrix-free.

    Parameters
    ----------
    net, data, loss
        As for `fit`: a `Network`, `Description`, equinox module or pair `(params, apply)`; a `Dataset` or `(x, y)`.
    ridge
        $\gamma$ of $\mathcal L+\gamma\|\theta\|^2$.
    step, steps, optimiser
        The step $\tau$ to hold against $2/\lambda_{\max}$; with `steps`, the run whose constants are followed.
    k, tol, products
        Eigenvalues at the upper end, the relative residual asked of each, and the most products with the Hessian.
    probes
        Random vectors for the density of the eigenvalues and the trace; none if 0.
    optimum
        A lower bound of the least loss.
    """
    if step is not None and not step > 0:
        raise UsageError("The step must be a positive number.", got=step)
    objective = Objective.of(net, data, loss, ridge=ridge)
    rng = np.random.default_rng(seed)
    value, slope = objective.value_and_gradient()
    hessian = objective.hessian()
    ends = extremes(hessian, min(k, hessian.size), "both", tol=tol, products=products, rng=rng)
    return Constants(
        objective,
        value,
        float(np.linalg.norm(slope)),
        ends,
        kernel_ends(objective, rng, tol=tol, products=products),
        spectral_density(hessian, probes=probes, rng=rng) if probes else None,
        signals(objective, _description(net)),
        along_training(objective, optimiser, step=step, steps=steps, optimum=optimum, tol=tol)
        if steps
        else None,
        step,
        optimum,
        _affine(_description(net)),
    )


def kernel_ends(
    objective: Objective, rng: np.random.Generator, *, tol: float = 1e-3, products: int = 400
) -> Extremes:
    """The ends of the tangent kernel: all of it where it is small, by Lanczos elsewhere."""
    size = len(objective.examples) * objective.outputs
    matrix = objective.kernel_matrix() if size <= EXACT_KERNEL else None
    operator = objective.tangent_kernel()
    if matrix is not None:
        from .operators import Operator

        operator = Operator(size, lambda v: matrix @ v, matrix)
    dense = EXACT_KERNEL if matrix is not None else DENSE
    return extremes(operator, 1, "both", tol=tol, products=products, rng=rng, dense=dense)


def signals(
    objective: Objective, description: Description | None, rows: int = SIGNAL_ROWS
) -> LayerGradients | None:
    """Gradients by layer on the first rows, where the layers are known."""
    if description is None or objective.examples.x[0].shape != (description.widths[0],):
        return None
    x = objective.examples.x[:rows]
    y = objective.examples.y[:rows]
    with jax.enable_x64(True):
        slope = jax.jit(jax.vmap(jax.grad(objective.loss.of)))
        return layer_gradients(description, x, lambda outputs: np.asarray(slope(outputs, y)))


def _description(net: Any) -> Description | None:
    found = net if isinstance(net, Description) else getattr(net, "description", None)
    return found if isinstance(found, Description) else None


def _affine(description: Description | None) -> bool:
    """Whether the outputs are an affine function of the parameters."""
    return (
        description is not None
        and len(description.layers) == 1
        and description.layers[0].activation == "identity"
    )


# ---- in words, one constant a line -------------------------------------------------------------------------------


def _describe(c: Constants) -> str:
    """The card of a loss: every constant with how well it is known."""
    o = c.objective
    ridge = f" + {o.ridge:g}‖θ‖²" if o.ridge else ""
    head = f"{o.model.name} ({o.size:,} parameters) on {o.examples.name} ({len(o.examples):,} rows)"
    rows = [*_curvature(c), *_convexity(c), *_descent(c), *_kernel(c), *_density(c), *_path(c)]
    lines = [f"  {name:<24}{value}" for name, value in rows]
    lines += [f"  {c.layers.diagnosis}"] if c.layers is not None else []
    return "\n".join([f"{head}, {o.loss.name} loss{ridge}", *lines])


def _curvature(c: Constants) -> list[tuple[str, str]]:
    h = c.hessian
    spent = "" if h.converged else f"; {h.products} products were not enough"
    rest = ", ".join(f"{v:.5g}" for v in h.largest.values[1:])
    radius = max(h.largest.residuals, default=0.0)
    known = (
        "all were computed" if h.complete else f"an eigenvalue within {radius:.2g} of each{spent}"
    )
    return [
        ("loss", f"{c.loss:.6g}, gradient {c.gradient:.4g}"),
        ("smoothness max|λ|", _number(c.smoothness)),
        ("largest eigenvalue", _number(c.top)),
        ("the next", f"{rest} ({known})" if rest else "–"),
        ("lowest curvature", _number(c.lowest)),
    ]


def _convexity(c: Constants) -> list[tuple[str, str]]:
    if c.strong_convexity is not None:
        mu = c.strong_convexity
        kind = "strongly convex everywhere" if mu.lo > 0 else "convex everywhere"
        rows = [("convexity", f"{kind}: linear model, μ {_number(mu)}")]
    elif c.hessian.range[0] < 0:
        rows = [("convexity", "not convex: there is negative curvature here")]
    else:
        rows = [("convexity", "convex to second order here; nothing is said of other points")]
    return rows + ([("condition number", _number(c.condition))] if c.condition is not None else [])


def _descent(c: Constants) -> list[tuple[str, str]]:
    rows = [("PL ratio here", f"{_number(c.pl)} (loss above {c.optimum:g})")]
    if c.pl_by_kernel is not None:
        rows.append(("PL from the kernel", _number(c.pl_by_kernel)))
    if c.stable_step is not None:
        rows.append(("largest stable step", _number(c.stable_step)))
    if c.edge is not None:
        side = "stable" if c.edge.hi < 2 else "unstable" if c.edge.lo > 2 else "at the edge"
        rows.append(("step × λ_max", f"{_number(c.edge)}: {side}"))
    return rows


def _kernel(c: Constants) -> list[tuple[str, str]]:
    k = c.kernel
    how = "all were computed" if k.complete else f"{k.products} products"
    lo, hi = k.range
    return [
        ("tangent kernel", f"{k.size:,} eigenvalues from {max(lo, 0.0):.4g} to {hi:.4g} ({how})")
    ]


def _density(c: Constants) -> list[tuple[str, str]]:
    return [] if c.density is None else [("trace of the Hessian", _number(c.density.trace))]


def _path(c: Constants) -> list[tuple[str, str]]:
    p = c.path
    if p is None:
        return []
    rows = [
        (
            "along the run",
            f"{p.at[-1]:,} steps, loss {p.loss[0]:.4g} → {p.loss[-1]:.4g}; stopped by: {p.ended}",
        ),
        ("  λ_max", f"{p.top[0]:.4g} → {p.top[-1]:.4g}, at most {p.top.max():.4g}"),
        ("  gradient Lipschitz", f"at least {p.lipschitz.max(initial=0.0):.4g}"),
        ("  least PL ratio", f"{p.pl.min():.4g}"),
    ]
    return (
        rows
        if p.step is None
        else [*rows, ("  step × λ_max", f"{p.edge[0]:.4g} → {p.edge[-1]:.4g}")]
    )


def _number(e: Enclosure) -> str:
    """A value with what is known of it."""
    if e.width <= 1e-6 * abs(e.middle):
        return f"{e.middle:.6g}"
    if not isfinite(e.hi):
        return f"at least {e.lo:.5g}"
    nominal = "" if e.nominal is None else "nominal "
    sure = "" if e.level is None else f" ({nominal}confidence {e.level:g})"
    return f"between {e.lo:.5g} and {e.hi:.5g}{sure}"
