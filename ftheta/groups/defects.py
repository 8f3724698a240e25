r"""How far a function is from respecting a group, and the function made to respect it.

For any $f$ (a layer, a whole network) and representations on its inputs and outputs, the defect at $x$ is
$\|f(\rho_1(g)x)-\rho_2(g)f(x)\|$, relative to the outputs. The average
$\frac1{|G|}\sum_g\rho_2(g)^{-1}f(\rho_1(g)x)$ has none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.cost import total_cost
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Real

from .actions import image_axes, on_shape, with_channels
from .finite import Group
from .representations import Representation, trivial
from .responses import layout_of

ROWS = 16
BATCH = 256  # moved inputs that go through the network at once
MOST_VALUES = 1 << 27  # outputs that are held


@dataclass(frozen=True, eq=False)
class Defect:
    """What was seen on some inputs: `by_element[g]` is the largest change of a row under g, relative to the outputs.

    `where` is the largest change of every output coordinate, in the outputs' shape: a border shows itself there.
    `spread` is the mean over rows and elements of the squared norm of the change.
    """

    source: Representation
    target: Representation
    rows: int
    by_element: Float[np.ndarray, "g"]
    where: Float[np.ndarray, "*outputs"]
    spread: float

    @property
    def largest(self) -> float:
        return float(self.by_element.max())

    @property
    def element(self) -> str:
        """The name of the element with the largest change."""
        return self.source.group.names[int(self.by_element.argmax())]

    @property
    def known(self) -> Enclosure:
        """The largest change over all inputs is at least what was met."""
        return Enclosure.at_least(self.largest, samples=self.rows * self.source.group.order)

    def __repr__(self) -> str:
        word = (
            "invariance"
            if not (self.target.character - self.target.dimension).any()
            else "equivariance"
        )
        return f"{word} defect {self.largest:.3g} at {self.element} of {self.source.group.name}, {self.rows} inputs"


def equivariance_defect(
    net: Any,
    group: Group | Representation,
    target: Representation | None = None,
    x: Any = None,
    *,
    seed: int = 0,
) -> Defect:
    """How much the outputs of `net` differ from what the group asks, on rows `x` (else standard normal ones).

    `group` is a representation on the flattened inputs, or a group that says how it moves inputs of their shape
    (`on_shape`). Without `target`, outputs move as inputs do if they have the same grid or number of points, and
    stay otherwise: invariance.
    """
    source, target = representations_for(net, group, target)
    if x is None:
        data = getattr(net, "data", None)
        x = (
            np.random.default_rng(seed).normal(size=(ROWS, *net.input_shape))
            if data is None
            else data.x[:ROWS]
        )
    rows = np.asarray(x, np.float64).reshape(len(x), -1)
    if rows.shape[1] != source.dimension:
        got = f"{rows.shape[1]} entries per row, the group moves {source.dimension}"
        raise UsageError("The rows are not inputs of this network.", got=got)
    moved = moved_outputs(net, source, rows)
    wanted = np.stack(
        [target.move(g, moved[source.group.identity]) for g in range(source.group.order)]
    )
    change = moved - wanted
    size = root_mean_square(moved[source.group.identity])
    per_row = np.linalg.norm(change, axis=2)
    return Defect(
        source,
        target,
        len(rows),
        (per_row / size).max(1),
        np.abs(change).max((0, 1)).reshape(output_shape(net)),
        float((per_row**2).mean()),
    )


def invariance_defect(
    net: Any, group: Group | Representation, x: Any = None, *, seed: int = 0
) -> Defect:
    """How much the outputs of `net` change along the orbits of the group."""
    source, _ = representations_for(net, group, None)
    return equivariance_defect(
        net, source, trivial(source.group, prod(output_shape(net))), x, seed=seed
    )


def symmetrised(
    net: Any, group: Group | Representation, target: Representation | None = None
) -> Any:
    r"""The network $\bar f(x)=\frac1{|G|}\sum_g\rho_2(g)^{-1}f(\rho_1(g)x)$: equivariant, and as costly as $|G|$ of it.

    For whatever has `apply(params, x)`, such as an `ft.Network`; what is known of its layers is dropped.
    """
    source, target = representations_for(net, group, target)
    apply = average_over_group(net.apply, source, target, net.input_shape, output_shape(net))
    return replace(
        net, name=f"{net.name}, averaged over {source.group.name}", apply=apply, description=None
    )


def average_over_group(
    apply: Callable[[Any, Any], Any],
    source: Representation,
    target: Representation,
    shape: tuple[int, ...],
    out: tuple[int, ...],
) -> Callable[[Any, Any], Any]:
    """`apply(params, x)` averaged over the group; inputs have this shape, outputs the shape `out`."""
    inverses = source.group.inverses

    def mean(params: Any, x: Any) -> Any:
        flat = x.ravel()
        orbit = source.matrices @ flat if source.action is None else flat[source.action[inverses]]
        values = jax.vmap(lambda row: apply(params, row.reshape(shape)).ravel())(orbit)
        if target.action is None:
            back = jnp.einsum("gij,gj->gi", target.matrices[inverses], values)
        else:
            back = jnp.take_along_axis(values, target.action, 1)
        return back.mean(0).reshape(out)

    return mean


def moved_outputs(
    net: Any, source: Representation, rows: Real[np.ndarray, "n *shape"]
) -> Float[np.ndarray, "g n k"]:
    r"""$f(\rho_1(g)x_i)$ for all $g$ and rows: an array of shape $(|G|,n,\text{outputs})$."""
    order = source.group.order
    out = prod(output_shape(net))
    if order * len(rows) * max(out, rows.shape[1]) > MOST_VALUES:
        got = f"{order} elements on {len(rows)} rows of {rows.shape[1]} entries"
        raise UsageError(
            "There is too much to move.", got=got, remedy="give fewer rows or a smaller group"
        )
    orbit = np.concatenate([source.move(g, rows) for g in range(order)]).reshape(
        -1, *net.input_shape
    )
    with jax.enable_x64(True):
        values = jax.jit(lambda inputs: jax.lax.map(net, inputs, batch_size=BATCH))(orbit)
    return np.asarray(values, np.float64).reshape(order, len(rows), -1)


def root_mean_square(rows: Float[np.ndarray, "n *k"]) -> float:
    """The size of outputs that changes are compared with: a single one may happen to be small."""
    return float(np.sqrt((rows**2).sum(1).mean())) or 1.0


def representations_for(
    net: Any, group: Group | Representation, target: Representation | None
) -> tuple[Representation, Representation]:
    """How inputs and outputs move, checked against the network's shapes."""
    if not hasattr(net, "input_shape"):
        remedy = "wrap a JAX function or module by ft.Network.of(function, example), or read a file by ft.load"
        raise UsageError("A defect is that of a network.", got=type(net).__name__, remedy=remedy)
    remedy = "ft.equivariance_defect(net, ft.groups.cyclic(4), x=rows): first the group, and rows by their name"
    if not isinstance(group, Group | Representation):
        raise UsageError(
            "A defect is asked for a group.", got=f"a {type(group).__name__}", remedy=remedy
        )
    if not isinstance(target, Representation | None):
        got = f"a {type(target).__name__}"
        raise UsageError("How outputs move is told by a representation.", got=got, remedy=remedy)
    source = on_shape(group, net.input_shape) if isinstance(group, Group) else group
    if target is None:
        target = _outputs_as_inputs(source, net.input_shape, output_shape(net))
    for what, rho, shape in (
        ("inputs", source, net.input_shape),
        ("outputs", target, output_shape(net)),
    ):
        if rho.dimension != prod(shape):
            got = f"{rho}, {what} of shape {shape}"
            raise UsageError(
                f"The representation does not fit the {what}.",
                got=got,
                remedy="give one of their size",
            )
    return source, target


def _outputs_as_inputs(
    source: Representation, inside: tuple[int, ...], out: tuple[int, ...]
) -> Representation:
    """Outputs move as the inputs do where they are the same kind of thing, with other channels, else not at all."""
    if inside == out:
        return source
    layout = layout_of(inside, out)
    fits = source.dimension == prod(inside)
    if source.action is not None and fits and layout is not None and not layout.bare:
        N = layout.pixels
        S = layout.S
        order = source.group.order
        if layout.channels_first:
            pixels = source.action.reshape(order, S, N)[:, 0]
            whole = np.arange(S)[None, :, None] * N + pixels[:, None]
        else:
            pixels = source.action.reshape(order, N, S)[:, :, 0] // S
            whole = pixels[:, :, None] * S + np.arange(S)
        if np.array_equal(whole.reshape(order, -1), source.action):  # the channels do not move
            return with_channels(
                Representation(source.group, "outputs", pixels), layout.T, layout.channels_first
            )
    if (
        source.group.plane is not None
        and len(inside) == len(out) > 1
        and _turns_images(source, inside)
    ):
        return on_shape(source.group, out)  # a smaller image
    return trivial(source.group, prod(out))


def _turns_images(source: Representation, shape: tuple[int, ...]) -> bool:
    image = image_axes(shape)
    square = image is not None and image[0][0] == image[0][1]
    return square and np.array_equal(on_shape(source.group, shape).action, source.action)  # type: ignore[arg-type]


def output_shape(net: Any) -> tuple[int, ...]:
    """The shape of one output of `net`: what it says of itself, else found by tracing it."""
    found = getattr(net, "output_shape", None)
    if found is not None:
        return tuple(found)
    with jax.enable_x64(True):
        return jax.eval_shape(net, jax.ShapeDtypeStruct(net.input_shape, np.float64)).shape


def evaluations_afforded(net: Any, work: float = 2e9) -> int:
    """How many evaluations take about so many multiplications; at least one a parameter is counted."""
    try:
        with jax.enable_x64(True):
            counted = total_cost(trace(net.apply, net.params, net.example)).multiplications
    except GraphError:
        counted = 0
    return int(work / max(counted, net.parameters, 1))
