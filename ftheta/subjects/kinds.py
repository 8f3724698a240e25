"""The other kinds of subject: a function, a training run, a measure, a family."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError

from .fingerprint import digest, digest_function


@dataclass(frozen=True, eq=False)
class Target:
    r"""A function $f$ on the box $[\text{lo},\text{hi}]\subset\mathbb R^d$.

    `f` takes one array of shape `(d,)`, or, when `arguments` names them, $d$ scalars. For $d=1$ without names it
    takes one scalar. `spectrum` is its Fourier measure where it is known (for Barron's theorem).
    """

    name: str
    f: Callable[..., Any]
    lo: tuple[float, ...]
    hi: tuple[float, ...]
    arguments: tuple[str, ...] = ()
    spectrum: "Spectrum | None" = None

    def __post_init__(self) -> None:
        lo = np.asarray(self.lo, np.float64)
        hi = np.asarray(self.hi, np.float64)
        alike = lo.ndim == 1 and lo.shape == hi.shape and lo.size > 0
        if not alike or not (lo <= hi).all():
            raise SubjectError(
                "The box of a function has ends lo ≤ hi, one number for each of its variables.",
                where=self.name,
                got=f"lo = {self.lo}, hi = {self.hi}",
            )
        if self.arguments and len(self.arguments) != lo.size:
            raise SubjectError(
                "A function has as many arguments as its box has coordinates.",
                where=self.name,
                got=f"{len(self.arguments)} arguments, {lo.size} coordinates",
            )

    @property
    def dimension(self) -> int:
        return len(self.lo)

    @property
    def example(self) -> tuple[Any, ...]:
        """Arguments of the right shape: the centre of the box."""
        centre = (np.asarray(self.lo) + np.asarray(self.hi)) / 2
        if self.arguments:
            return tuple(float(c) for c in centre)
        return (float(centre[0]),) if self.dimension == 1 else (centre,)

    @property
    def of_point(self) -> Callable[[Any], Any]:
        """`f` as a function of one point: an array of shape `(d,)`, or a number where $d=1$."""
        if self.arguments and self.dimension > 1:
            return lambda x: self.f(*(x[j] for j in range(self.dimension)))
        return self.f

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.lo, self.hi, digest_function(self.f, *self.example))


@dataclass(frozen=True, eq=False)
class Spectrum:
    r"""The Fourier side of $f(x)=\int e^{i\langle\omega,x\rangle}\hat f(\omega)\,d\omega$.

    `sample(rng, n)` draws frequencies from the density proportional to $|\omega||\hat f(\omega)|$ (n rows) with the
    phases of $\hat f$; `first_moment` is $C_f=\int|\omega||\hat f|\,d\omega$.
    """

    sample: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    first_moment: Enclosure

    @classmethod
    def unknown(cls) -> "Spectrum":
        """Nothing to draw from, and a first moment that may be infinite."""
        return cls(lambda rng, n: (np.empty((0, 0)), np.empty(0)), Enclosure(0.0))

    @classmethod
    def gaussian(cls, dimension: int) -> "Spectrum":
        r"""Of $e^{-|x|^2/2}$ in this dimension."""
        from ftheta.approximation.gaussian_spectrum import gaussian_frequencies, gaussian_moment

        return cls(gaussian_frequencies(dimension), Enclosure.equal(gaussian_moment(dimension)))

    @classmethod
    def cosines(
        cls, frequencies: np.ndarray, amplitudes: np.ndarray, phases: np.ndarray
    ) -> "Spectrum":
        r"""Of $\sum_kA_k\cos(\langle\omega_k,x\rangle+\varphi_k)$, with one row of `frequencies` a wave."""
        omega = np.atleast_2d(frequencies)
        weight = np.abs(amplitudes) * np.linalg.norm(np.atleast_2d(frequencies), axis=1)
        turned = np.asarray(phases) + np.where(np.asarray(amplitudes) < 0, np.pi, 0.0)

        def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
            k = rng.choice(len(omega), size=n, p=weight / weight.sum())
            return omega[k], turned[k]

        return cls(sample, Enclosure.equal(float(weight.sum())))


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    r"""$\theta\mapsto\frac12\theta^\top H\theta$, whose Hessian is the symmetric `matrix` $H$ by its make."""

    matrix: np.ndarray

    def __post_init__(self) -> None:
        H = np.asarray(self.matrix, np.float64)
        if H.ndim != 2 or H.shape[0] != H.shape[1] or not np.array_equal(H, H.T):
            raise SubjectError(
                "A Hessian is a symmetric matrix.",
                got=f"shape {H.shape}",
                remedy="give (H + H.T) / 2 in its place",
            )
        object.__setattr__(self, "matrix", H)

    def __call__(self, theta: Any) -> Any:
        return theta @ (self.matrix @ theta) / 2


@dataclass(frozen=True, eq=False)
class Training:
    r"""Minimise `objective` $F(\theta)$ from `start` $\theta_0$.

    `optimum` is $\theta^*$ where it is known; `mu` and `smoothness` are the constants $\mu$ of strong convexity and
    $L$ of smoothness that are claimed for it; `hessian` is the constant Hessian of a quadratic; `least` is a lower
    bound of $F$. What is stated is assumed, and tested, unless the program of $F$ proves it. `rows` counts the rows of
    data over which $F$ is a mean: what one evaluation costs.
    """

    name: str
    objective: Callable[[Any], Any]
    start: np.ndarray
    optimum: np.ndarray | None = None
    mu: float | None = None
    smoothness: float | None = None
    hessian: np.ndarray | None = None
    least: float | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if not callable(self.objective):
            raise SubjectError(
                "The objective of a training is a function of θ.",
                where=self.name,
                got=f"a {type(self.objective).__name__}",
                remedy="give objective(theta), which returns one number",
            )
        start = self._array("start", self.start)
        # of a matrix θ, H may be that of each column
        columns = len(start) if start.ndim > 1 else start.size
        shapes = {
            "optimum": (start.shape,),
            "hessian": ((start.size, start.size), (columns, columns)),
        }
        for name, fitting in shapes.items():
            if getattr(self, name) is None:
                continue
            array = self._array(name, getattr(self, name))
            shape = fitting[0]
            if array.shape not in fitting:
                raise SubjectError(
                    f"The {name} does not fit the start.",
                    where=self.name,
                    got=f"{name} {array.shape}, start {start.shape}",
                    remedy=f"give one of shape {shape}",
                )
            object.__setattr__(self, name, array)
        object.__setattr__(self, "start", start)

    def _array(self, name: str, given: Any) -> np.ndarray:
        """A finite array in float64; lists of numbers are as good."""
        try:
            array = np.asarray(given, np.float64)
            finite = bool(np.isfinite(array).all())
        except (TypeError, ValueError):
            finite = False
        if not finite:
            raise SubjectError(
                f"The {name} of a training is an array of finite numbers.",
                where=self.name,
                got=repr(given)[:80],
            )
        return array

    @classmethod
    def quadratic(
        cls,
        name: str,
        hessian: np.ndarray,
        start: np.ndarray,
        mu: float | None = None,
        smoothness: float | None = None,
    ) -> "Training":
        r"""$F(\theta)=\frac12\theta^\top H\theta$ with minimiser 0; `mu` and `smoothness` may be stated."""
        F = QuadraticForm(hessian)
        return cls(name, F, start, np.zeros(len(F.matrix)), mu, smoothness, F.matrix)

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.start, digest_function(self.objective, self.start))


@dataclass(frozen=True, eq=False)
class Measure:
    r"""The probability $\sum_iw_i\,\mathcal N(a_i,s^2I)$ on $\mathbb R^d$; with `spread` $s=0$ it is discrete.

    `atoms` has shape `(n, d)`, `weights` shape `(n,)`. One token cloud, one empirical law, one Gaussian mixture.
    """

    name: str
    atoms: np.ndarray
    weights: np.ndarray
    spread: float = 0.0

    def __post_init__(self) -> None:
        atoms = np.atleast_2d(np.asarray(self.atoms, np.float64))
        weights = np.asarray(self.weights, np.float64)
        good = atoms.ndim == 2 and weights.shape == (len(atoms),) and np.isfinite(atoms).all()
        if not good or (weights < 0).any() or abs(weights.sum() - 1) > 1e-9 or not self.spread >= 0:
            raise SubjectError(
                "A measure needs finite atoms (n, d), weights (n,) >= 0 of sum 1, and spread >= 0.",
                where=self.name,
                got=f"atoms {atoms.shape}, weights {weights.shape} of sum {weights.sum():g}, spread {self.spread}",
            )
        object.__setattr__(self, "atoms", atoms)
        object.__setattr__(self, "weights", weights)

    @classmethod
    def empirical(cls, name: str, points: np.ndarray) -> "Measure":
        points = np.atleast_2d(points)
        return cls(name, points, np.full(len(points), 1 / max(1, len(points))))

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.atoms, self.weights, self.spread)


@dataclass(frozen=True, eq=False)
class Family:
    r"""$n\mapsto$ subject, for limits: `member(n, rng)` is the subject at scale $n$; `limit` is what it tends to."""

    name: str
    member: Callable[[int, np.random.Generator], Any]
    limit: Any = None
    scales: Sequence[int] = (8, 16, 32, 64, 128)

    @cached_property
    def fingerprint(self) -> str:
        first = self.member(self.scales[0], np.random.default_rng(0))
        return digest(self.name, getattr(first, "fingerprint", repr(first)), _content(self.limit))


def _content(value: Any) -> Any:
    """What a digest can read of an object: its fields, the names of its functions, its plain values."""
    if is_dataclass(value):
        return [_content(getattr(value, field.name)) for field in fields(value)]
    return getattr(value, "__qualname__", type(value).__name__) if callable(value) else value
