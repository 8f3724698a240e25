r"""Gradients layer by layer: how large they are, how large they can be, and which units let none through.

Layer $j$ is $F_j(x)=\sigma_j(W_jx+b_j)$, $D_j=\mathrm{diag}\,\sigma_j'$. For one row, with $g=\nabla_{x^{L+1}}\ell$,
$$\|\nabla_{\theta_j}\ell\|\le\|J_{\theta_j}F_j\|\prod_{i>j}\|J_xF_i\|\,\|g\|,\qquad
\|J_{\theta_j}F_j\|=\max|\sigma_j'|\sqrt{\|x^j\|^2+1},\quad\|J_xF_i\|=\|D_iW_i\|_2,$$
and the gradient of the mean loss is at most the mean of these bounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np

from ftheta.certify.norms import spectral_norm
from ftheta.logic.table import Table
from ftheta.networks.activations import activation
from ftheta.networks.backprop import forward_pass
from ftheta.networks.description import Description
from ftheta.shapes import Float, Real

DECOMPOSED = 256  # the smaller side of a matrix up to which ‖DW‖ is computed for every row; beyond, ‖D‖‖W‖ bounds it
WORK = 4e9  # multiplications spent on these norms, about
SATURATED = 0.05  # of the steepest slope: below it a unit lets hardly anything through
FLAT_ENDS = ("tanh", "sigmoid", "arctan")
# factors a layer from which a depth of twenty matters
VANISHING = 0.8
EXPLODING = 1.25


@dataclass(frozen=True, eq=False)
class LayerGradients:
    r"""Of the mean loss over some rows, layer by layer: $\|\nabla_{\theta_j}\mathcal L\|$ and its product bound.

    `factors[j]` is the largest $\|J_xF_j\|$ over the rows, `slopes[j]` are the $\sigma_j'$ (rows, units), `sizes[j]` is
    the root mean square of the numbers that enter layer $j$, `adjoints[j]` that of $\|\nabla_{x^{j+1}}\ell\|$.
    """

    description: Description
    norms: Float[np.ndarray, "layers"]
    bounds: Float[np.ndarray, "layers"]
    factors: Float[np.ndarray, "layers"]
    slopes: list[Float[np.ndarray, "_ _"]]
    sizes: Float[np.ndarray, "layers"]
    adjoints: Float[np.ndarray, "layers"]

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.norms)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.slopes[0])

    @cached_property
    def rate(self) -> float:
        """The factor by which the norm changes from a layer to the one below it, fitted; NaN where there is none."""
        j = np.arange(self.depth)
        kept = self.norms > 0
        if kept.sum() < 2:
            return float("nan")
        return float(np.exp(-np.polyfit(j[kept], np.log(self.norms[kept]), 1)[0]))

    @cached_property
    def dead(self) -> list[int]:
        """Units of each layer with slope 0 on every row: nothing reaches their weights."""
        return [int((s == 0).all(axis=0).sum()) for s in self.slopes]

    @cached_property
    def saturated(self) -> list[float]:
        """Of the units of each layer that flatten at both ends, the share that is nearly flat, over all rows."""
        shares = []
        for layer, s in zip(self.description.layers, self.slopes):
            steepest = activation(layer.activation).lipschitz.hi
            flat = np.abs(s) < SATURATED * steepest
            shares.append(float(flat.mean()) if layer.activation in FLAT_ENDS else 0.0)
        return shares

    @property
    def units(self) -> list[int]:
        """The number of units of each layer."""
        return [s.shape[1] for s in self.slopes]

    @cached_property
    def verdict(self) -> str:
        """In one word: `vanish`, `explode`, `overflow`, `are zero` or `are healthy`."""
        if not all(np.isfinite(v).all() for v in (self.norms, self.sizes, self.adjoints)):
            return "overflow"
        if not self.norms[0] > 0:
            return "are zero"
        if self.depth > 2 and self.rate < VANISHING and self.norms[0] < 0.1 * self.norms[-1]:
            return "vanish"
        grows = self.depth > 2 and self.rate > EXPLODING and self.norms[0] > 10 * self.norms[-1]
        ways = (self.sizes, self.adjoints[::-1])  # forwards and backwards
        return "explode" if grows or any(_explodes(way) for way in ways) else "are healthy"

    @cached_property
    def diagnosis(self) -> str:
        """What is wrong and what to do, in plain words."""
        return " ".join([self._flow(), *self._idle(), *self._advice()])

    def _flow(self) -> str:
        first = float(self.norms[0])
        last = float(self.norms[-1])
        if self.verdict == "overflow":
            return f"Numbers leave the range of float64 on their way: signals of size {self.sizes[0]:.3g} explode."
        if self.verdict == "are zero":
            return "The gradient of the first layer is zero: nothing reaches it."
        if self.depth == 1:
            return f"There is one layer; its gradient has norm {first:.3g}."
        told = (
            f"the gradient of layer 1 has norm {first:.3g}, that of layer {self.depth} {last:.3g}"
        )
        if self.verdict == "vanish" or (self.verdict == "explode" and first > 10 * last):
            return f"Gradients {self.verdict} towards the input, by a factor of {self.rate:.3g} per layer: {told}."
        if self.verdict == "explode":
            forwards = _explodes(self.sizes)
            way, where = (self.sizes, "output") if forwards else (self.adjoints[::-1], "input")
            what = "Signals" if forwards else "Derivatives"
            return (
                f"{what} explode towards the {where}, by a factor of {_growth(way):.3g} per layer, "
                f"from {way[0]:.3g} to {way[-1]:.3g}: {told}."
            )
        spread = float(self.norms.max() / self.norms.min())
        alike = (
            "of similar size in all layers"
            if spread <= 10
            else f"within a factor of {spread:.2g} of one another"
        )
        return f"Gradients are {alike}: {told}."

    def _idle(self) -> list[str]:
        """Dead layers first, then the three layers with the largest share of idle units."""
        found = []
        whole = [
            j for j, (dead, units) in enumerate(zip(self.dead, self.units), 1) if dead == units
        ]
        for j, (share, dead, units) in enumerate(zip(self.saturated, self.dead, self.units), 1):
            if 0 < dead < units:
                verb = "is" if dead == 1 else "are"
                found.append(
                    (
                        dead / units,
                        f"{dead} of {units} units of layer {j} {verb} dead on all {self.rows} rows.",
                    )
                )
            if share > 0.2:
                found.append((share, f"{share:.0%} of the values of layer {j} are saturated."))
        layers = f"layer{'s' * (len(whole) > 1)} {_format_ranges(whole)}"
        blocked = f"All units of {layers} are dead on all {self.rows} rows."
        return [blocked] * bool(whole) + [text for _, text in sorted(found, reverse=True)[:3]]

    def _advice(self) -> list[str]:
        advice = []
        if self.verdict == "vanish":
            flat = any(layer.activation == "sigmoid" for layer in self.description.layers[:-1])
            advice.append(
                "sigmoid passes on a quarter at most: take tanh, ReLU or residual blocks" * flat
            )
            advice.append(
                "residual blocks or, before training, larger initial weights (He for ReLU, Glorot for tanh)"
                * (not flat)
            )
        if self.verdict in ("explode", "overflow"):
            smaller = "before training, smaller initial weights (He for ReLU, Glorot for tanh)"
            advice.append(f"normalisation, clipped gradients or, {smaller}")
        if max(self.saturated) > 0.2:
            advice.append("smaller weights or scaled inputs, so that units leave their flat ends")
        if any(dead == units for dead, units in zip(self.dead, self.units)):
            advice.append(
                "training again from other initial weights with biases of 0: a dead layer does not recover"
            )
        elif sum(self.dead) > 0.1 * sum(self.units):
            advice.append("leaky ReLU or a smaller step, so that dead units learn again")
        return [f"Try: {'; '.join(filter(None, advice))}."] if advice else []

    @property
    def table(self) -> Table:
        """One row per layer: gradient, bound, largest factor, saturated share, dead units."""
        rows = [
            (
                j + 1,
                layer.activation,
                self.norms[j],
                self.bounds[j],
                self.factors[j],
                self.saturated[j],
                self.dead[j],
            )
            for j, layer in enumerate(self.description.layers)
        ]
        columns = (
            "layer",
            "activation",
            "gradient",
            "bound",
            "largest ‖J_x F‖",
            "saturated",
            "dead units",
        )
        return Table("gradients by layer", columns, tuple(rows))


def _growth(sizes: np.ndarray) -> float:
    """The factor from one to the next, by the geometric mean."""
    return (
        float((sizes[-1] / sizes[0]) ** (1 / (len(sizes) - 1)))
        if len(sizes) > 1 and sizes[0] > 0
        else 1.0
    )


def _explodes(sizes: np.ndarray) -> bool:
    return len(sizes) > 2 and _growth(sizes) > EXPLODING and sizes[-1] > 10 * sizes[0]


def _format_ranges(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 as `1–3, 7`."""
    runs: list[list[int]] = []
    for n in numbers:
        runs = [*runs[:-1], [runs[-1][0], n]] if runs and runs[-1][1] == n - 1 else [*runs, [n, n]]
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is told by the diagnosis
def layer_gradients(
    description: Description,
    x: Real[np.ndarray, "n d"],
    adjoint: Callable[[np.ndarray], np.ndarray],
) -> LayerGradients:
    """Both sides of the bound at the rows `x`; `adjoint(outputs)` are the rows of the gradient at the outputs."""
    with jax.enable_x64(True):
        states, slopes = forward_pass(description, x)
    g = np.asarray(adjoint(states[-1]), np.float64).reshape(states[-1].shape)
    above = np.linalg.norm(g, axis=1)  # ∏ ‖J_x F_i‖ ‖g‖, row by row
    norms = []
    bounds = []
    factors = []
    adjoints = []
    for layer, state, steep in zip(description.layers[::-1], states[-2::-1], slopes[::-1]):
        m = steep * g
        adjoints.append(float(np.sqrt((g**2).sum(axis=1).mean())))
        norms.append(
            float(np.hypot(np.linalg.norm(m.T @ state), np.linalg.norm(m.sum(0)))) / len(x)
        )
        local = np.abs(steep).max(axis=1) * np.sqrt((state**2).sum(axis=1) + 1)
        bounds.append(float((local * above).mean()))
        factor = _steepness(layer.weight, steep)
        factors.append(float(factor.max()))
        g = m @ layer.weight
        above = factor * above
    forwards = lambda found: np.array(found[::-1])
    sizes = np.array([float(np.sqrt((state**2).mean())) for state in states[:-1]])
    sides = forwards(norms), forwards(bounds), forwards(factors)
    return LayerGradients(description, *sides, slopes, sizes, forwards(adjoints))


def _steepness(W: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    r"""$\|DW\|_2$ for every row of slopes, or where that is dear $\max|D|\,\|W\|_2$; equal rows are computed once."""
    distinct, where = np.unique(slopes, axis=0, return_inverse=True)
    small = min(W.shape)
    if small > DECOMPOSED or len(distinct) * W.size * small * 10 > WORK:
        return np.abs(slopes).max(axis=1) * spectral_norm(W).hi
    return np.array([np.linalg.norm(d[:, None] * W, 2) for d in distinct])[where.reshape(-1)]


def residual_gradients(
    description: Description,
    x: Real[np.ndarray, "n d"],
    y: Real[np.ndarray, "n k"],
    skip: float | None,
) -> Float[np.ndarray, "layers"]:
    r"""$\|\nabla_{\theta_j}\|$ of the mean of $\frac12\|f(x_i)-y_i\|^2$, layer by layer.

    With `skip` $\alpha$ the layers that keep their width are blocks $x+\alpha\,\sigma(Wx+b)$, else all are plain.
    """
    scales = [skip if skip and W.shape[0] == W.shape[1] else None for W, _ in description.params]
    states = [np.asarray(x, np.float64)]
    slopes = []
    for layer, scale in zip(description.layers, scales):
        with jax.enable_x64(True):
            (_, value), (steep,) = forward_pass(Description((layer,)), states[-1])
        states.append(value if scale is None else states[-1] + scale * value)
        slopes.append(steep if scale is None else scale * steep)
    g = (states[-1] - y) / len(x)
    norms = []
    for layer, state, steep, scale in zip(
        *(v[::-1] for v in (description.layers, states[:-1], slopes, scales))
    ):
        m = steep * g
        norms.append(float(np.hypot(np.linalg.norm(m.T @ state), np.linalg.norm(m.sum(0)))))
        g = m @ layer.weight + (0 if scale is None else g)
    return np.array(norms[::-1])
