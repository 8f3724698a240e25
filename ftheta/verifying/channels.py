r"""A smaller convolutional network that is the same function on a box: whole channels less.

    ft.simplify("model.onnx", (lo, hi)).save("small.onnx")

A channel that is 0 at every input of the box (bounds of its pre-activations, rounded outward, are ≤ 0 at every pixel)
adds nothing to what reads it, and one that nothing reads but by weights of 0 changes nothing. Both are taken out of the
file, with the numbers that make and multiply them; no other number is touched, so that the real function is the same on
the box. What is left are convolutions, which run as fast as their channels are few.
"""

from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ftheta.certify.input_regions import Region
from ftheta.certify.neurons.bounding import bound_outputs
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.pieces.normal_forms import normal_form
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float, Int
from ftheta.stability.simplification import Precision, Proof, Simplified, read_box
from ftheta.stability.simplification import simplify as remove_neurons

from .networks import is_onnx

if TYPE_CHECKING:
    from ftheta.networks.onnx.thinning import Layer
    from ftheta.networks.programs.program import Program

LARGEST = 1 << 25
"""Numbers in the map from one state to another, beyond which intervals alone bound a layer."""
EXACT = "the real function with the weights of the file"


@dataclass(frozen=True, eq=False)
class ThinLayer:
    """A ReLU behind a convolution: its `dead` channels, and those `unread`; `highest` bounds each one from above."""

    name: str
    channels: int
    dead: Int[np.ndarray, "k"]
    unread: Int[np.ndarray, "u"]
    highest: Float[np.ndarray, "c"]

    @property
    def removed(self) -> Int[np.ndarray, "r"]:
        """The channels that were taken out; one stays where all could go."""
        gone = np.union1d(self.dead, self.unread)
        return gone if len(gone) < self.channels else gone[1:]


@dataclass(frozen=True, eq=False)
class Thinned:
    """A `network` with fewer channels than the `original`, which it equals on the box of the `proof`."""

    network: Any
    original: Any
    proof: Proof
    layers: tuple[ThinLayer, ...]
    data: bytes

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the network as an ONNX file, in the types of the original one."""
        from ftheta.networks.onnx.write import store

        store(self.data, Path(path))
        return Path(path)

    def __str__(self) -> str:
        counts = [f"{one.channels - len(one.removed)} of {one.channels}" for one in self.layers]
        before, after = (f"{net.parameters:,}" for net in (self.original, self.network))
        kept = ", ".join(counts) or "no layer whose channels could be left out"
        return f"channels that stay: {kept}; {before} parameters are {after}"

    __repr__ = __str__


@overload
def simplify(
    net: str | PathLike[str],
    inputs: Region,
    *,
    tolerance: float = 0.0,
    precision: Precision | None = None,
) -> Simplified | Thinned: ...
@overload
def simplify(
    net: object, inputs: Region, *, tolerance: float = 0.0, precision: Precision | None = None
) -> Simplified: ...
def simplify(
    net: object, inputs: Region, *, tolerance: float = 0.0, precision: Precision | None = None
) -> Simplified | Thinned:
    """The network without what does nothing, or nothing but pass on, on a set of inputs.

    Parameters
    ----------
    net
        A piecewise-affine network (anything `ft.load` makes one of), or the name of a file. Of an ONNX file with
        convolutions whole channels are removed (`Thinned`); with a tolerance or a precision, and of anything else, it
        is neurons, and layers become matrices (`Simplified`).
    inputs
        A box `(lo, hi)`, a `Ball` or a `Polytope`; bounds are those of the smallest box around it.
    tolerance
        How far an output may move at most, at any input of the set: 0 keeps the function.
    precision
        Give weights that are numbers of this type, with the deviation that rounding them adds counted against the
        tolerance; without it, weights that float64 cannot hold are kept as rationals.
    """
    if isinstance(net, str | PathLike):
        if tolerance == 0 and precision is None and has_channels(net):
            return remove_channels(net, inputs)
        from ftheta.subjects import Network
        from ftheta.subjects.resolve import load_as

        net = load_as(Network, net)
    return remove_neurons(net, inputs, tolerance=tolerance, precision=precision)


def has_channels(path: str | PathLike[str]) -> bool:
    """Whether this is an ONNX file with a layer whose channels can be taken out."""
    if not is_onnx(path) or not Path(path).exists():
        return False
    return bool(_find_layers(_read(Path(path))[1]))


def remove_channels(path: str | PathLike[str], inputs: Region) -> Thinned:
    """The network in an ONNX file without the channels of convolutions that do nothing on a set of inputs.

    `inputs` is a box `(lo, hi)`, a `Ball` or a `Polytope`; bounds are those of the smallest box around it.
    """
    from ftheta.networks.onnx.thinning import cut_channels, to_bytes

    data, program = _read(Path(path))
    original = _load(program)
    low, high = read_box(original.input_shape, inputs)
    tensors = {**program.constants, **program.weights}
    found: list[ThinLayer] = []
    # the last one first: what it does not read any more may be all that read a channel before it
    for layer in reversed(_find_layers(program)):
        one = _look_at(program, layer, tensors, low, high)
        found.append(one)
        if len(one.removed):
            tensors = cut_channels(tensors, layer, one.removed.tolist())
    changed = {name: array for name, array in tensors.items() if array is not program.tensor(name)}
    written = to_bytes(program, data, changed)
    smaller = _load(_parse(written, Path(path)))
    _ensure_equal(original, smaller, low, high)
    proof = Proof(low, high, (), Enclosure.exact(0), EXACT)
    return Thinned(smaller, original, proof, tuple(reversed(found)), written)


def _read(path: Path) -> "tuple[bytes, Program]":
    from ftheta.networks.onnx.model import unpack_file
    from ftheta.networks.reading import ensure_file, reading_file

    with reading_file(path, "ONNX"):
        ensure_file(path)
        data = unpack_file(path)
        return data, _parse(data, path)


def _parse(data: bytes, path: Path) -> "Program":
    from ftheta.networks.onnx.model import parse

    return parse(data, str(path), path.parent).until(None)


def _find_layers(program: "Program") -> "list[Layer]":
    from ftheta.networks.onnx.thinning import find_layers

    return find_layers(program, lambda name: _load(program.until(name)).output_shape)


def _look_at(
    program: "Program",
    layer: "Layer",
    tensors: dict[str, np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
) -> ThinLayer:
    before = _load(program.until(layer.before))
    highest = _bound_above(before, low, high).reshape(layer.channels, -1).max(1)
    dead = np.flatnonzero(highest <= 0)  # NaN is no bound
    return ThinLayer(layer.name, layer.channels, dead, layer.unread(tensors), highest)


def _bound_above(net: Any, low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "n"]:
    """A number above each output over the box, rounded outward."""
    from ftheta.graph.domains.interval import intervals
    from ftheta.graph.domains.interval.intervals import Interval
    from ftheta.graph.jaxprs import trace

    graph = trace(net, net.example, fold_rounded=False)
    ends = Interval(low.reshape(net.input_shape), high.reshape(net.input_shape))
    plain = intervals(graph, ends).values[graph.outputs[0].id].hi.ravel()
    if plain.size * low.size > LARGEST:
        return plain
    form = normal_form(net).network
    if form is None or form.rounded or _largest_map(form) > LARGEST:
        return plain
    return np.fmin(plain, bound_outputs(form, low, high)[1])


def _largest_map(net: ReluNetwork) -> int:
    return max(before * after for before, after in pairwise(net.widths))


def _load(program: "Program") -> Any:
    from ftheta.networks.programs.importing import import_program
    from ftheta.subjects import Network

    found = import_program(program, keeps_inputs=True)
    return Network(
        Path(program.where).stem, found.apply, found.params, found.input_shape, parts=found.parts
    )


def _ensure_equal(original: Any, smaller: Any, low: np.ndarray, high: np.ndarray) -> None:
    """A last look at what was written: both in floats, at the corners of the box and in its middle."""
    for x in (low, high, low + 0.5 * (high - low)):
        wanted, got = (np.asarray(net(x.reshape(net.input_shape))) for net in (original, smaller))
        if not np.allclose(got, wanted, rtol=1e-6, atol=1e-9 * (1 + np.abs(wanted).max())):
            raise SubjectError(
                "The network without these channels is another function.",
                where=original.name,
                remedy="report this",
            )
