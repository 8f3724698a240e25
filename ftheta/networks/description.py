r"""A network as a list of layers: the description $\theta$, apart from its realisation $f_\theta$."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ftheta.lazy import jax, jnp, tree_leaves
from ftheta.logic.errors import SubjectError

from .activations import activation


@dataclass(frozen=True, eq=False)
class Dense:
    r"""$x\mapsto\sigma(Wx+b)$ with `weight` $W\in\mathbb R^{d_\ell\times d_{\ell-1}}$ and `bias` $b$, in float64.

    Without `has_bias` the bias is zero and no parameter.
    """

    weight: np.ndarray
    bias: np.ndarray
    activation: str = "identity"
    has_bias: bool = True

    def __post_init__(self) -> None:
        weight = np.asarray(self.weight, np.float64)
        bias = np.asarray(self.bias, np.float64)
        if weight.ndim != 2 or bias.shape != weight.shape[:1]:
            raise SubjectError(
                "A dense layer needs a weight matrix (out, in) and a bias vector (out,).",
                got=f"weight {weight.shape}, bias {bias.shape}",
            )
        activation(self.activation)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "bias", bias)


@dataclass(frozen=True, eq=False)
class Description:
    """Layers in order. Shapes must chain and every number must be finite."""

    layers: tuple[Dense, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise SubjectError("A network needs at least one layer.", got="an empty list")
        for i, layer in enumerate(self.layers):
            for name, array in (("weight", layer.weight), ("bias", layer.bias)):
                if not np.isfinite(array).all():
                    place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
                    raise SubjectError(
                        f"The {name} of layer {i} is not finite.",
                        where=f"layer {i}, {name}{list(place)}",
                        got=array[place],
                        remedy="retrain or repair the weights; every theorem needs finite numbers",
                    )
        for i, (before, after) in enumerate(pairwise(self.layers)):
            if before.weight.shape[0] != after.weight.shape[1]:
                raise SubjectError(
                    "The shapes of consecutive layers do not chain.",
                    where=f"layers {i} and {i + 1}",
                    got=f"{before.weight.shape} then {after.weight.shape}; layer {i} gives {before.weight.shape[0]} "
                    f"values and layer {i + 1} takes {after.weight.shape[1]}",
                    remedy="weights are (out, in); transpose them if they were stored (in, out)",
                )

    @property
    def widths(self) -> tuple[int, ...]:
        """$(d_0,\\dots,d_L)$."""
        return (self.layers[0].weight.shape[1], *(layer.weight.shape[0] for layer in self.layers))

    @property
    def params(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(layer.weight, layer.bias) for layer in self.layers]

    def apply(self, params: Sequence[tuple[Any, Any]], x: Any) -> "jax.Array":
        """The realisation at `x` of shape `(..., d_0)`, with the given weights in place of the description's."""
        for (weight, bias), layer in zip(params, self.layers):
            x = activation(layer.activation).function(x @ weight.T + bias)
        return x

    def __call__(self, x: Any) -> "jax.Array":
        """The value at `x` of shape `(..., d_0)`, in float64."""
        with jax.enable_x64(True):
            return self.apply(self.params, jnp.asarray(x, np.float64))


def require_layers(description: Description | None) -> Description:
    """The description, or an error that says what is missing."""
    if description is None:
        raise SubjectError(
            "This network has no description.",
            got="a function whose layers are not known",
            remedy="give a list of layers: an .npz with W0, b0, …, or an equinox MLP with a named activation",
        )
    return description


def random_mlp(
    rng: np.random.Generator,
    widths: Sequence[int],
    hidden: str = "relu",
    *,
    gain: float = 2.0,
    bias: float = 0.0,
) -> Description:
    r"""Dense layers with $W_{ij}\sim\mathcal N(0,\text{gain}/d_{\ell-1})$ and $b_i\sim\mathcal N(0,\text{bias}^2)$; the
    output layer is affine."""
    layers = [
        Dense(rng.normal(size=(n, m)) * np.sqrt(gain / m), rng.normal(size=n) * bias, hidden)
        for m, n in pairwise(widths)
    ]
    last = layers[-1]
    return Description((*layers[:-1], Dense(last.weight, last.bias)))


def is_realisation(apply: Any, params: Any, description: Description | None) -> bool:
    """Whether the function is `Description.apply` of this very list, on the numbers of the list: no other method of it,
    no subclass, no other weights."""
    bound_to = getattr(apply, "__self__", None)
    method = getattr(apply, "__func__", None)
    if description is None or bound_to is not description or type(description) is not Description:
        return False
    return method is Description.apply and not count_stored_apart(params, description)


def count_stored_apart(params: Any, description: Description) -> int:
    """How many stored numbers are not those of the description; all of them where the shapes differ."""
    stored = tree_leaves(params)
    told = [array for pair in description.params for array in pair]
    if [np.shape(a) for a in stored] != [a.shape for a in told]:
        return sum(np.size(a) for a in stored) or 1
    return sum(int(np.count_nonzero(np.asarray(a) != b)) for a, b in zip(stored, told))
