r"""A classifier smoothed by noise, and the radius within which its label holds with a stated confidence.

    smoothed = ft.smooth(net, sigma=0.25)
    smoothed.certify(x)                        # one input, or rows

The smoothed classifier $g(x)$ is the label $c$ with the largest $P(f(x+\eta)=c)$. If the most likely label has
probability at least $p>\frac12$ at $x$, then $g$ has the same label at all $x'$ with

* $\|x'-x\|_2<\sigma\Phi^{-1}(p)$ for normal noise $\eta\sim\mathcal N(0,\sigma^2I)$ (`cohen2019`);
* $\|x'-x\|_1<2\lambda(p-\frac12)$ for noise uniform on $[-\lambda,\lambda]^d$: moving the cube by $\delta$ changes the
  probability of an event by at most the part of the cube that is not covered, $1-\prod_i(1-|\delta_i|/2\lambda)_+\le
  \|\delta\|_1/2\lambda$ (`lee2019smoothing`).

The label is guessed from some draws; the lower bound of $p$ is Clopper and Pearson's, from fresh draws. Where it is not
above a half, nothing is said: the classifier *abstains*. What is shown is about the smoothed classifier of the program
that runs, and about noise as it is drawn: in floats, by a generator of pseudo-random numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ftheta.certify.input_regions import read_numbers
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.risks.bounds.unseen import clopper_pearson
from ftheta.shapes import Bool, Float, Int

Array = np.ndarray
Noise: TypeAlias = Literal["normal", "uniform"]
NOISES: tuple[Noise, ...] = ("normal", "uniform")
NORM = {"normal": 2, "uniform": 1}
ENTRIES = 1 << 20  # of the noisy inputs that are made at a time
QUANTILE_ROUNDING = 1e-12  # relative, more than the quantile of the normal law is off


@dataclass(frozen=True, eq=False)
class SmoothedLabels:
    """For each row: the `label` of the smoothed classifier (−1: it abstains), a lower bound `probability` of how often
    noise leaves that label, and the `radius` in ℓ2 (normal noise) or ℓ1 (uniform noise) within which the label is the
    same. Each row holds with the `confidence`; given one input, all are of that one.

    `counts` are the fresh draws with the label, of `draws`.
    """

    label: Int[Any, "*rows"]
    radius: Float[Any, "*rows"]
    probability: Float[Any, "*rows"]
    counts: Int[Any, "*rows"]
    draws: int
    confidence: float
    norm: int
    sigma: float

    @property
    def abstains(self) -> Bool[Any, "*rows"]:
        """Where nothing is said."""
        return self.label < 0

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON."""
        names = ("label", "radius", "probability", "counts")
        lists = {name: np.asarray(getattr(self, name)).tolist() for name in names}
        return {
            **lists,
            "draws": self.draws,
            "confidence": self.confidence,
            "norm": self.norm,
            "sigma": self.sigma,
        }

    def __str__(self) -> str:
        rows = zip(*(np.atleast_1d(part) for part in (self.label, self.radius, self.probability)))
        lines = [
            f"smoothed by noise of size {self.sigma:g}, {self.draws:,} draws, confidence {self.confidence:g} per row"
        ]
        for k, (label, radius, probability) in enumerate(rows):
            said = "abstains" if label < 0 else f"label {label} within {radius:.6g} in ℓ{self.norm}"
            lines.append(f"  row {k}: {said} (p ≥ {probability:.6f})")
        return "\n".join(lines)

    __repr__ = __str__


class Smoothed:
    """A classifier smoothed by noise of size `sigma`: the standard deviation of normal noise, half the width of uniform
    noise."""

    def __init__(self, net: Any, sigma: float, noise: Noise = "normal") -> None:
        if not (hasattr(net, "apply") and hasattr(net, "params") and hasattr(net, "input_shape")):
            raise UsageError(
                "A network is smoothed.", got=type(net).__name__, remedy="ft.load(file or module)"
            )
        if not isinstance(sigma, (int, float)) or not 0 < sigma < inf:
            raise UsageError(
                "The size of the noise is a positive number.", where="sigma", got=sigma
            )
        if noise not in NOISES:
            raise UsageError(
                "That is no noise.", where="noise", got=noise, remedy=f"one of {', '.join(NOISES)}"
            )
        self.net = net
        self.sigma = float(sigma)
        self.noise: Noise = noise
        self.shape: tuple[int, ...] = net.input_shape
        self.outputs = int(np.prod(net.output_shape))
        if self.outputs < 2:
            raise SubjectError("A label needs at least two outputs.", got=f"{self.outputs}")
        self._count_labels = _compile_counting(net, self.sigma, noise)

    def __repr__(self) -> str:
        return f"Smoothed({self.net!r}, {self.noise} noise of size {self.sigma:g})"

    def count(self, x: ArrayLike, draws: int, seed: int = 0) -> Int[np.ndarray, "outputs"]:
        """How often each label comes out at one input, of so many draws of noise."""
        return self._count(self._read(x)[0][0], _read_draws(draws, "draws"), _spawn(seed, 1)[0])

    def predict(self, x: ArrayLike, draws: int = 1000, seed: int = 0) -> Int[Any, "*rows"]:
        """The label that comes out most often, of each row: an estimate, without any guarantee."""
        rows, is_single = self._read(x)
        draws = _read_draws(draws, "draws")
        labels = np.array(
            [
                self._count(row, draws, rng).argmax()
                for row, rng in zip(rows, _spawn(seed, len(rows)))
            ]
        )
        return labels[0] if is_single else labels

    def certify(
        self,
        x: ArrayLike,
        *,
        draws: int = 100_000,
        guesses: int = 100,
        confidence: float = 0.999,
        seed: int = 0,
    ) -> SmoothedLabels:
        """The label of each row and a radius within which it is the same, or nothing.

        Each row holds with this `confidence` over its `draws` of noise; the label is guessed from as many as `guesses`
        other draws. Whatever the network is, in at most a share of 1 − `confidence` of all calls a row is wrong.
        """
        if not (isinstance(confidence, float) and 0 < confidence < 1):
            raise UsageError(
                "A confidence lies between 0 and 1.", where="confidence", got=confidence
            )
        draws = _read_draws(draws, "draws")
        guesses = _read_draws(guesses, "guesses")
        rows, is_single = self._read(x)
        noise = _spawn(seed, 2 * len(rows))
        labels = np.array(
            [self._count(row, guesses, rng).argmax() for row, rng in zip(rows, noise[::2])]
        )
        fresh = [self._count(row, draws, rng) for row, rng in zip(rows, noise[1::2])]
        counts = np.array([found[label] for found, label in zip(fresh, labels)])
        least = np.array(
            [1.0 - clopper_pearson(draws - int(k), draws, 1 - confidence) for k in counts]
        )
        least = np.nextafter(least, 0.0)
        radius = np.array([self.radius(p) for p in least])
        of = 0 if is_single else slice(None)
        return SmoothedLabels(
            np.where(least > 0.5, labels, -1)[of],
            radius[of],
            least[of],
            counts[of],
            draws,
            confidence,
            NORM[self.noise],
            self.sigma,
        )

    def radius(self, p: float) -> float:
        """The radius within which a label of probability at least `p` is the most likely one, rounded down."""
        if not p > 0.5:
            return 0.0
        if self.noise == "uniform":
            return max(0.0, nextafter(nextafter(2 * self.sigma * (p - 0.5), 0.0), 0.0))
        return float(self.sigma * ndtri(p) * (1 - QUANTILE_ROUNDING))

    def _count(self, x: Array, draws: int, rng: np.random.Generator) -> Array:
        return self._count_labels(rng, x, draws)

    def _read(self, x: ArrayLike) -> tuple[Array, bool]:
        given = read_numbers(x, "the inputs")
        is_single = given.shape == self.shape
        if (
            not (is_single or given.shape[1:] == self.shape)
            or not given.size
            or not np.isfinite(given).all()
        ):
            raise UsageError(
                "The inputs do not fit the network, or are not finite.",
                got=f"shape {given.shape}",
                remedy=f"one input is {self.shape}, or rows of them",
            )
        return given.reshape(-1, *self.shape), is_single


def smooth(net: Any, sigma: float, noise: Noise = "normal") -> Smoothed:
    r"""The classifier smoothed by noise, whose labels can be certified without knowing anything of the network.

    Parameters
    ----------
    net
        A network with at least two outputs (anything `ft.load` makes one of).
    sigma
        $\sigma$ of normal noise, $\lambda$ of uniform noise on $[-\lambda,\lambda]^d$.
    noise
        "normal" for radii in ℓ2, "uniform" for radii in ℓ1.
    """
    return Smoothed(net, sigma, noise)


def _read_draws(count: Any, what: str) -> int:
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise UsageError(f"The number of {what} is a positive whole number.", got=count)
    return int(count)


def _spawn(seed: int, count: int) -> list[np.random.Generator]:
    """Generators of independent noise: the fastest of NumPy, for a small network costs no more than a few numbers."""
    return [
        np.random.Generator(np.random.SFC64(s)) for s in np.random.SeedSequence(seed).spawn(count)
    ]


def _compile_counting(
    net: Any, sigma: float, noise: Noise
) -> Callable[[np.random.Generator, Array, int], Array]:
    """How often each label comes out at an input. NumPy draws the noise, three times as fast as XLA would, while the
    compiled network evaluates the batch before."""
    apply = net.apply
    params = net.params
    shape = net.input_shape
    outputs = int(np.prod(net.output_shape))
    batch = max(1, min(4096, ENTRIES // max(1, int(np.prod(shape)))))
    draw = _draw_normal if noise == "normal" else _draw_uniform

    @jax.jit
    def count_batch(x: jax.Array, eta: jax.Array, alive: jax.Array) -> jax.Array:
        noisy = x + sigma * eta.astype(x.dtype)
        y = jax.vmap(lambda v: jnp.ravel(apply(params, v)))(noisy)
        labels = jnp.where(jnp.arange(batch) < alive, jnp.argmax(y, axis=1), outputs)
        return jnp.bincount(labels, length=outputs + 1)[:outputs]

    def count(rng: np.random.Generator, x: Array, draws: int) -> Array:
        total = np.zeros(outputs, int)
        with jax.enable_x64(True):
            at = jnp.asarray(x, np.float64)
            evaluated = None
            for begin in range(0, draws, batch):
                alive = min(batch, draws - begin)
                eta = np.zeros((batch, *shape), np.float32)
                draw(rng, eta[:alive])
                before, evaluated = evaluated, count_batch(at, jnp.asarray(eta), alive)
                if before is not None:
                    total += np.asarray(before)
            return total + np.asarray(evaluated)

    return count


# single precision: drawing these numbers costs no more than a small network does


def _draw_normal(rng: np.random.Generator, eta: Array) -> None:
    rng.standard_normal(out=eta, dtype=np.float32)


def _draw_uniform(rng: np.random.Generator, eta: Array) -> None:
    rng.random(out=eta, dtype=np.float32)
    np.multiply(eta, 2, out=eta)
    np.subtract(eta, 1, out=eta)
