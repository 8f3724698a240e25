"""What can stand in an architecture spec. Every word that is not known is refused."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ftheta.logic.errors import SubjectError

LONGEST = 1 << 24
Whole = Annotated[int, Field(strict=True, ge=1, le=LONGEST)]
Padding = Annotated[int, Field(strict=True, ge=0, le=LONGEST)]
Lengths = Whole | Annotated[list[Whole], Field(min_length=1, max_length=8)]
"""One number for every axis, or one an axis."""
Paddings = (
    Literal["same", "valid"] | Padding | Annotated[list[Padding], Field(min_length=1, max_length=8)]
)
Text = Annotated[str, Field(min_length=1, max_length=1000)]
Words = Text | Annotated[list[Text], Field(min_length=1, max_length=LONGEST)]
"""One activation for all neurons of a layer, or one for each; of a convolution, one a channel."""
Positive = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Real = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Layer(Strict):
    """`name` is what the layer is called, and what the names of its tensors begin with; `activation` comes last."""

    name: str = Field("", max_length=1000)
    activation: Text = "identity"


class Weighted(Layer):
    """Tensors by their names in the file; those left out are looked for under `name`."""

    weight: Text | None = None
    bias: Text | None = None


class DenseLayer(Weighted):
    """With a `constraint`, the matrix of norm 1 that belongs to the weight: over its norm, or orthogonalised."""

    kind: Literal["dense"]
    activation: Words = "identity"
    constraint: Literal["spectral", "bjorck", "cayley"] | None = None


class GroupSort(Layer):
    """The entries of a vector sorted in groups of so many neighbours; pairs are MaxMin."""

    kind: Literal["group-sort"]
    group: Whole = 2


class ConvexPotential(Weighted):
    """$x-\\frac2{\\|W\\|^2}W^\\top\\max(Wx+b,0)$."""

    kind: Literal["convex-potential"]


class Conv(Weighted):
    kind: Literal["conv"]
    activation: Words = "identity"
    stride: Lengths = 1
    padding: Paddings | None = None
    dilation: Lengths = 1
    groups: Whole = 1


class BatchNorm(Weighted):
    kind: Literal["batch-norm"]
    mean: Text | None = None
    variance: Text | None = None
    epsilon: Positive | None = None


class Norm(Weighted):
    kind: Literal["layer-norm", "rms-norm", "group-norm"]
    groups: Whole = 1
    epsilon: Positive | None = None


class Activation(Layer):
    kind: Literal["activation"]


class Pool(Layer):
    kind: Literal["max-pool", "average-pool"]
    size: Lengths
    stride: Lengths | None = None
    padding: Paddings = 0
    ceil: bool = False
    count_padding: bool | None = None


class GlobalPool(Layer):
    kind: Literal["global-average-pool", "global-max-pool"]


class Flatten(Layer):
    kind: Literal["flatten"]


class Reshape(Layer):
    kind: Literal["reshape"]
    shape: Annotated[list[Whole], Field(min_length=1, max_length=8)]


class Mean(Layer):
    """The mean along one axis of an input, the first if not said: of all tokens."""

    kind: Literal["mean"]
    axis: Annotated[int, Field(strict=True, ge=0, le=8)] = 0


class Embedding(Weighted):
    """Whole numbers to rows of a table; the first layer."""

    kind: Literal["embedding"]


class Add(Layer):
    """A tensor of the file is added: positions."""

    kind: Literal["add"]
    tensor: Text


class Standardise(Layer):
    """The input less `mean` over `std`: one number, or one a channel."""

    kind: Literal["standardise"]
    mean: Real | Annotated[list[Real], Field(min_length=1, max_length=LONGEST)]
    std: Positive | Annotated[list[Positive], Field(min_length=1, max_length=LONGEST)]


class Attention(Layer):
    """Every token looks at every token. Tensors are those of torch.nn.MultiheadAttention, or of four dense layers."""

    kind: Literal["attention"]
    heads: Whole
    query: Text | None = None
    key: Text | None = None
    value: Text | None = None
    out: Text | None = None


class Residual(Layer):
    """`layers` and, beside them, `shortcut` (the identity if it is empty); the two are added."""

    kind: Literal["residual"]
    layers: Annotated[list["AnyLayer"], Field(min_length=1)]
    shortcut: list["AnyLayer"] = []


AnyLayer = Annotated[
    DenseLayer
    | GroupSort
    | ConvexPotential
    | Conv
    | BatchNorm
    | Norm
    | Activation
    | Pool
    | GlobalPool
    | Flatten
    | Reshape
    | Mean
    | Embedding
    | Add
    | Standardise
    | Attention
    | Residual,
    Field(discriminator="kind"),
]


class Spec(Strict):
    """An architecture. Without `layers`, the tensors are a chain of dense layers with this hidden `activation`."""

    weights: Text | None = None
    layout: Literal["torch", "jax", "keras"] | None = None
    input: Annotated[list[Whole], Field(min_length=1, max_length=8)] | None = None
    activation: Text | list[Words] | None = None
    layers: list[AnyLayer] = []
    ignore: list[Text] = []

    @model_validator(mode="after")
    def _one_way(self) -> "Spec":
        if bool(self.layers) == (self.activation is not None):
            raise ValueError(
                "give `layers`, or `activation` for a chain of dense layers; one of the two"
            )
        if self.layers and self.input is None:
            raise ValueError("`input` is missing: the shape of one input, such as [3, 32, 32]")
        if self.layers and self.layout is None:
            raise ValueError('`layout` is missing: "torch", "jax" or "keras"')
        if self.layout == "jax":
            _ensure_said(self.layers)
        return self


def _ensure_said(layers: list[Any]) -> None:
    """Flax has other defaults than the rest of the world; there they are not guessed."""
    for layer in flat(layers):
        if isinstance(layer, Conv) and layer.padding is None:
            raise ValueError(
                'a convolution in the layout "jax" must say its `padding`: flax\'s own default is "same"'
            )
        if isinstance(layer, Pool) and layer.stride is None:
            raise ValueError(
                'a pool in the layout "jax" must say its `stride`: flax\'s own default is 1'
            )


def flat(layers: list[Any]) -> Iterator[Any]:
    """All layers, those within residual blocks included."""
    for layer in layers:
        yield layer
        if isinstance(layer, Residual):
            yield from flat(layer.layers)
            yield from flat(layer.shortcut)


def validate(content: Any, where: str) -> Spec:
    """The spec in plain values, or a SubjectError that names the entries that are wrong."""
    try:
        return Spec.model_validate(content)
    except (ValidationError, RecursionError) as error:
        told = (
            [_told(e) for e in error.errors()[:3]]
            if isinstance(error, ValidationError)
            else ["too many levels"]
        )
        raise SubjectError(
            "The spec cannot be understood.",
            where=where,
            got="; ".join(told),
            remedy="docs/importing.md lists the layers and what each may say",
        ) from error


def _told(error: Any) -> str:
    place = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in error["loc"]).lstrip(".")
    return f"{place or 'spec'}: {error['msg']}"[:300]
