"""`ftheta simplify`: a smaller network that is the same function on a box, with the proof."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ftheta.logic import SubjectError, UsageError
from ftheta.report.working import Working

from .common import Json, print_json, read_box_for
from .thin import remove_from_convolutions

if TYPE_CHECKING:
    from ftheta.stability.simplification import Precision, Simplified
    from ftheta.subjects import Network

NUMBERS = re.compile(r"(?:[-+0-9.,;eE\s]|nan|inf)+")  # of a box; anything else names data


def simplify(
    subject: str,
    *,
    box: str,
    out: Path | None = None,
    tolerance: float = 0.0,
    precision: str | None = None,
    matrices: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, Parameter(name=("--overwrite", "--force"), negative="")] = False,
    json: Json = False,
) -> int:
    """Remove the neurons that do nothing on a box of inputs, with a proof that the function stays the same there.

    An ONNX file with convolutions loses whole channels of them and stays convolutional.

    Parameters
    ----------
    subject
        The network: a file, `package.module:attribute`, or a built-in name.
    box
        Data, for the smallest box around its rows; or the same bounds for every input, such as --box=0,1, or one pair
        per input: --box="0,1;-1,1".
    out
        Write the smaller network to this .onnx or .npz file.
    tolerance
        How far an output may move at most, at any input of the box; 0 keeps the function.
    precision
        Of the weights written: float32 or float64; that of the network if not said.
    matrices
        Write convolutions as matrices: neurons are removed one by one; with --tolerance and --precision this is so.
    overwrite
        Overwrite the file if it is there.
    """
    if out is not None:
        _ensure_new(out, subject, overwrite)
    from ftheta.stability.simplification import simplify as remove
    from ftheta.subjects import Network
    from ftheta.subjects.resolve import load_as
    from ftheta.verifying.channels import has_channels

    net = load_as(Network, subject)
    ends, told = _read_box(net, box)
    plain = tolerance == 0 and precision is None and not matrices
    if plain and (out is None or out.suffix == ".onnx") and has_channels(subject):
        return remove_from_convolutions(subject, ends, told, out, json=json)
    type_ = _choose_precision(net, precision)
    with Working("bounding neurons"):
        found = remove(net, ends, tolerance=tolerance, precision=type_)
    if out is not None:
        _write(found, out, type_, (_input_shape(subject, found.shapes[0]), found.shapes[1]))
    document = _describe(found, net, told, type_, out)
    if json:
        print_json(document)
    else:
        print(_in_words(document))
    return 0


def _ensure_new(out: Path, subject: str, overwrite: bool) -> None:
    from ftheta.report.save import ensure_savable
    from ftheta.subjects.saving import SUFFIXES

    ensure_savable(out, SUFFIXES)
    if Path(subject).exists() and out.exists() and Path(subject).samefile(out):
        raise UsageError(
            "This would overwrite the network itself.", where=str(out), remedy="choose another name"
        )
    if out.exists() and not overwrite:
        raise UsageError(
            "The file is there already.",
            where=str(out),
            remedy="choose another name, or add --overwrite",
        )


def _read_box(net: "Network", words: str) -> tuple[Any, str]:
    """The box in numbers, or the one around the rows of data, and what it is called."""
    from math import prod

    import numpy as np

    size = prod(net.input_shape)
    if NUMBERS.fullmatch(words):
        low, high = (np.array(end, float) for end in read_box_for(_Flat(size), words))
        return (low, high), f"the box {words}"
    from ftheta.subjects import Dataset
    from ftheta.subjects.resolve import load_as

    data = load_as(Dataset, words)
    rows = data.x.reshape(len(data), -1).astype(float)
    if not len(rows) or rows.shape[1] != size:
        raise SubjectError(
            "The data do not fit the network.",
            where=words,
            got=f"{len(rows):,} rows of {rows.shape[1]:,} numbers, the network takes {size:,}",
            remedy="give rows like those that the network is used on",
        )
    if not np.isfinite(rows).all():
        raise SubjectError(
            "The data are not finite.", where=words, got="NaN or infinity", remedy="drop those rows"
        )
    return (rows.min(0), rows.max(0)), f"the box around the {len(rows):,} rows of {data.name}"


class _Flat:
    """What `read_box_for` asks of a network."""

    def __init__(self, inputs: int) -> None:
        self.widths = (inputs,)


def _choose_precision(net: "Network", asked: str | None) -> "Precision":
    import numpy as np

    from ftheta.lazy import tree_leaves

    if asked in ("float32", "float64"):
        return asked
    if asked is not None:
        raise UsageError("Unknown precision.", got=asked, remedy="choose float32 or float64")
    with np.errstate(over="ignore"):
        short = all(
            np.array_equal(leaf, np.asarray(leaf).astype(np.float32))
            for leaf in tree_leaves(net.params)
        )
    return "float32" if short else "float64"


def _input_shape(subject: str, known: tuple[int, ...]) -> tuple[int, ...]:
    """That of the file, where it flattens its inputs before its first layer, which is read as the beginning."""
    from math import prod

    from ftheta.verifying.networks import is_onnx, read_program

    if not is_onnx(subject):
        return known
    dims = read_program(Path(subject)).inputs[0].dims or ()
    own = tuple(n for n in dims[1:] if n is not None)
    return (
        own
        if dims[:1] in ((None,), (1,)) and len(own) == len(dims) - 1 and prod(own) == prod(known)
        else known
    )


def _write(
    found: "Simplified",
    out: Path,
    precision: "Precision",
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    """Write the network, read it again, and compare both at two corners of the box, in rationals."""
    from ftheta.networks.onnx.write import store, to_bytes
    from ftheta.pieces.normal_forms import exact_network_of
    from ftheta.relu.export import save
    from ftheta.subjects import Network
    from ftheta.subjects.resolve import load_as

    if out.suffix == ".onnx":
        store(to_bytes(found.network, precision, shapes), out)
    else:
        save(found.network, out)
    again = exact_network_of(load_as(Network, str(out)))
    wanted = exact_network_of(found.network)
    for corner in (found.proof.low, found.proof.high):
        if again(corner) != wanted(corner):
            raise SubjectError(
                "The file that was written is another function.",
                where=str(out),
                remedy="report this",
            )


def _describe(
    found: "Simplified", net: "Network", told: str, precision: str, out: Path | None
) -> dict[str, Any]:
    count = lambda parts: sum(map(len, parts))
    sizes = lambda network: {
        "widths": list(network.widths),
        "neurons": sum(network.widths[1:-1]),
        "weights": sum(step.matrix.shape[0] * (step.matrix.shape[1] + 1) for step in network.steps),
    }
    return {
        "network": net.name,
        "box": told,
        "parameters": net.parameters,
        "before": sizes(found.original),
        "after": sizes(found.network),
        "dead": count(found.dead),
        "linear": count(found.linear),
        "open": found.open_neurons,
        "replaced": count(found.replaced),
        "constant": found.removed.constant,
        "copies": found.removed.copies,
        "unused": found.removed.unused,
        "merged": found.removed.merged,
        "deviation": found.proof.deviation.hi,
        "proof": str(found.proof),
        "precision": precision,
        "out": None if out is None else str(out),
    }


def _in_words(document: dict[str, Any]) -> str:
    before, after = document["before"], document["after"]
    widths = [" – ".join(map(str, part["widths"])) for part in (before, after)]
    names = ("dead", "linear", "replaced", "constant", "copies", "unused")
    counts = (
        ", ".join(f"{document[name]:,} {name}" for name in names if document[name])
        or "no dead or linear ones"
    )
    fewer = f"{before['neurons']:,} neurons are {after['neurons']:,}"
    told = fewer if before["widths"] != after["widths"] else "no neuron can be left out"
    lines = [
        f"{document['network']}: {told} on {document['box']}",
        f"  widths   {widths[0]}  →  {widths[1]}",
        f"  weights  {before['weights']:,}  →  {after['weights']:,}",
        f"  neurons  {counts}, {document['open']:,} open",
        f"  proof    {document['proof']}",
    ]
    if after["weights"] > document["parameters"]:
        lines.append(
            f"  note     the network has {document['parameters']:,} parameters: layers that share weights are "
            "written as matrices, which take more room"
        )
    if document["out"] is not None:
        lines.append(f"  written  {document['out']} ({document['precision']})")
    return "\n".join(lines)
