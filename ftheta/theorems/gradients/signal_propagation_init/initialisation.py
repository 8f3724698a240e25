r"""How random layers stretch a signal on average: exactly, in experiments, and what the layers of a network would do.

With $W_{ij}\sim\mathcal N(0,s^2)$, $n$ outputs and $w\mapsto-w$ leaving the law as it is,
$\mathbb E\|\mathrm{ReLU}(Wx)\|^2=\frac{ns^2}2\|x\|^2$ and, for $D=\mathrm{diag}\,1[Wx>0]$ and any $v$,
$\mathbb E\|DWv\|^2=\frac{ns^2}2\|v\|^2$: the same factor forwards and, for a random direction at the output, backwards.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np

from ftheta.logic import Table
from ftheta.networks.description import Description

KEEPS = {"relu": Fraction(1, 2), "identity": Fraction(1)}  # E σ(z)² / E z² for z ~ N(0, s²)
# |tanh z| ≤ |z|: at most what the identity keeps
FUNCTIONS = {"relu": lambda z: np.maximum(z, 0), "identity": lambda z: z, "tanh": np.tanh}
DRAWN = 40_000_000  # weights drawn, at most


@dataclass(frozen=True, eq=False)
class Propagation:
    """Squared norms of random networks, divided by that at the input: rows are draws, columns layers 0, …, L.

    `back` are those of the gradients of a random direction at the output, layer L first; `factor` is what the theory
    says of one layer.
    """

    activation: str
    forward: np.ndarray
    back: np.ndarray
    factor: Fraction
    width: int

    @property
    def depth(self) -> int:
        """The number of layers."""
        return self.forward.shape[1] - 1

    def variance(self, depth: int) -> float | None:
        r"""The variance of the squared norm after so many layers, from 1; None where no closed form is known.

        A layer multiplies it by an independent factor: the mean over $n$ units of $n\sigma(z)^2$ with
        $z\sim\mathcal N(0,s^2)$, $\mathbb E\sigma^2=ks^2$ and $\mathbb E\sigma^4=3ks^4$ for the share $k$ of ½ or 1.
        """
        if self.activation not in KEEPS:
            return None
        keeps = KEEPS[self.activation]
        per_unit = 3 / keeps - 1  # variance of σ² over its squared mean
        second = self.factor**2 * (1 + per_unit / self.width)
        return float(second**depth - self.factor ** (2 * depth))

    def z(self) -> float:
        """The deviation of the mean after one layer from theory, in standard errors."""
        seen = self.forward[:, 1]
        return float((seen.mean() - float(self.factor)) / (seen.std(ddof=1) / sqrt(len(seen))))

    @property
    def fitted_gain(self) -> float:
        """The factor a layer that the means show."""
        means = self.forward.mean(axis=0)
        return float((means[-1] / means[0]) ** (1 / self.depth)) if means[-1] > 0 else 0.0


def propagate(
    rng: np.random.Generator, width: int, depth: int, gain: Fraction, activation: str, draws: int
) -> Propagation:
    r"""Random square layers with $s^2=\text{gain}/n$, one fresh network a draw, a fixed input and a random output."""
    draws = int(max(20, min(draws, DRAWN // (width * width * depth))))
    s = sqrt(gain / width)
    sigma = FUNCTIONS[activation]
    forward, back = np.ones((2, draws, depth + 1))
    start = np.full(width, width**-0.5)
    for i in range(draws):
        x = start
        passed = []
        for j in range(depth):
            W = rng.standard_normal((width, width))
            W *= s
            z = W @ x
            slope = (
                (z > 0)
                if activation == "relu"
                else np.ones(width)
                if activation == "identity"
                else 1 - sigma(z) ** 2
            )
            x = sigma(z)
            passed.append((W, slope))
            forward[i, j + 1] = x @ x
        g = rng.normal(size=width)
        g /= sqrt(width)
        for j, (W, slope) in enumerate(passed[::-1]):
            g = (slope * g) @ W
            back[i, j + 1] = g @ g
    return Propagation(activation, forward, back, KEEPS.get(activation, Fraction(1)) * gain, width)


@dataclass(frozen=True, eq=False)
class LayerScales:
    r"""The layers of a network as draws: $s^2$ of each and the factor that such weights have on average."""

    description: Description

    @property
    def spreads(self) -> list[float]:
        """The mean of W² of each layer."""
        return [float(np.mean(layer.weight**2)) for layer in self.description.layers]

    @property
    def factors(self) -> list[float]:
        """The factor of the squared norm in each layer, on average over such weights."""
        keeps = [float(KEEPS.get(layer.activation, 1)) for layer in self.description.layers]
        sizes = [len(layer.bias) for layer in self.description.layers]
        return [k * n * s for k, n, s in zip(keeps, sizes, self.spreads)]

    @property
    def per_unit(self) -> list[float]:
        """The factor of the mean square of a unit: that of the squared norm, over the growth of the width."""
        fans = [layer.weight.shape for layer in self.description.layers]
        return [f * a / n for f, (n, a) in zip(self.factors, fans)]

    def growth(self) -> float:
        """The factor a hidden layer has on the mean square of its units, by the geometric mean."""
        hidden = self.per_unit[:-1] or self.per_unit
        return float(np.exp(np.mean(np.log(np.maximum(hidden, 1e-300)))))

    def describe(self) -> str:
        """Whether signals keep their size, shrink or grow, and what variance would keep it."""
        growth = self.growth()
        depth = max(len(self.per_unit) - 1, 1)
        kind = "keep their size" if 0.5 < growth**depth < 2 else "shrink" if growth < 1 else "grow"
        wanted = "2/n (He)" if self.description.layers[0].activation == "relu" else "1/n (Glorot)"
        found = f"weights of these sizes let signals {kind}: a factor of {growth:.3g} per layer"
        return (
            found
            if kind == "keep their size"
            else f"{found}, {growth**depth:.3g} in all; take variance {wanted}"
        )

    def table(self) -> Table:
        """One row per layer."""
        rows = [
            (j, layer.activation, layer.weight.shape[1], len(layer.bias), s, f)
            for j, (layer, s, f) in enumerate(
                zip(self.description.layers, self.spreads, self.per_unit), 1
            )
        ]
        columns = (
            "layer",
            "activation",
            "inputs",
            "outputs",
            "mean of W²",
            "factor of a unit's mean square",
        )
        return Table("initialisation", columns, tuple(rows))
