"""Scalar activations and what is known of each in closed form."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import pi

from ftheta.lazy import jax, jnp
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError


@dataclass(frozen=True, slots=True)
class Activation:
    r"""A scalar function $\sigma$ with its Lipschitz constant and its limits at $-\infty$ and $+\infty$.

    `degree` is the degree of a polynomial activation, else None; `homogeneous` means
    $\sigma(\lambda x)=\lambda\sigma(x)$ for $\lambda>0$; `piecewise_affine` puts it in reach of exact pieces.
    """

    name: str
    imported: "Callable[[], Callable[[jax.Array], jax.Array]]"
    lipschitz: Enclosure
    limits: tuple[float, float]
    monotone: bool = True
    degree: int | None = None
    homogeneous: bool = False
    piecewise_affine: bool = False

    @property
    def function(self) -> "Callable[[jax.Array], jax.Array]":
        """$\\sigma$ itself: the function of JAX where it has one, which is imported at its first use."""
        return self.imported()


def _identity(x: "jax.Array") -> "jax.Array":
    return x


def _leaky_relu(x: "jax.Array") -> "jax.Array":
    return jax.nn.leaky_relu(x, float(LEAK))


def _gelu(x: "jax.Array") -> "jax.Array":
    return jax.nn.gelu(x, approximate=False)


_INF = float("inf")
_ONE = Enclosure.exact(1)
LEAK = Fraction(1, 100)

# GELU and SiLU: the steepest slope is at a root of the second derivative. For GELU, σ'' = φ(x)(2 − x²), so
# the maximum is Φ(√2) + √2 φ(√2). For SiLU the root has no closed form;
# bisection in ball arithmetic gives it (x = 2.39935…). A test recomputes both.
_GELU_SLOPE = Enclosure.between(1.1289041451851, 1.1289041451852)
_SILU_SLOPE = Enclosure.between(1.0998393201288, 1.0998393201289)

ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation(
            "identity",
            lambda: _identity,
            _ONE,
            (-_INF, _INF),
            degree=1,
            homogeneous=True,
            piecewise_affine=True,
        ),
        Activation(
            "relu", lambda: jax.nn.relu, _ONE, (0.0, _INF), homogeneous=True, piecewise_affine=True
        ),
        Activation(
            "leaky-relu",
            lambda: _leaky_relu,
            _ONE,
            (-_INF, _INF),
            homogeneous=True,
            piecewise_affine=True,
        ),
        Activation("tanh", lambda: jnp.tanh, _ONE, (-1.0, 1.0)),
        Activation("sigmoid", lambda: jax.nn.sigmoid, Enclosure.exact(Fraction(1, 4)), (0.0, 1.0)),
        Activation("arctan", lambda: jnp.arctan, _ONE, (-pi / 2, pi / 2)),
        Activation("softplus", lambda: jax.nn.softplus, _ONE, (0.0, _INF)),
        Activation("gelu", lambda: _gelu, _GELU_SLOPE, (0.0, _INF), monotone=False),
        Activation("silu", lambda: jax.nn.silu, _SILU_SLOPE, (0.0, _INF), monotone=False),
        Activation(
            "square",
            lambda: jnp.square,
            Enclosure.between(_INF, _INF),
            (_INF, _INF),
            monotone=False,
            degree=2,
        ),
    )
}


def activation(name: str) -> Activation:
    """The activation of that name (`_` and `-` are the same)."""
    try:
        return ACTIVATIONS[name.lower().replace("_", "-")]
    except KeyError:
        raise UsageError(
            "Unknown activation.", got=name, remedy=f"choose one of {', '.join(ACTIVATIONS)}"
        ) from None
