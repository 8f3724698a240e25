"""`ftheta simplify` on a network with convolutions: whole channels less."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftheta.report.working import Working

from .common import print_json

if TYPE_CHECKING:
    from ftheta.verifying.channels import Thinned


def remove_from_convolutions(
    subject: str, ends: Any, told: str, out: Path | None, *, json: bool
) -> int:
    """Remove the channels that do nothing on the box `ends`, called `told`, and say what is left."""
    from ftheta.verifying.channels import remove_channels

    with Working("bounding channels"):
        found = remove_channels(subject, ends)
    if out is not None:
        found.save(out)
    document = _describe(found, told, out)
    if json:
        print_json(document)
    else:
        print(_in_words(document))
    return 0


def _describe(found: "Thinned", told: str, out: Path | None) -> dict[str, Any]:
    layers = [
        {
            "layer": layer.name,
            "channels": layer.channels,
            "dead": layer.dead.tolist(),
            "unread": layer.unread.tolist(),
            "kept": layer.channels - len(layer.removed),
        }
        for layer in found.layers
    ]
    return {
        "network": found.original.name,
        "box": told,
        "layers": layers,
        "parameters": {"before": found.original.parameters, "after": found.network.parameters},
        "deviation": found.proof.deviation.hi,
        "proof": str(found.proof),
        "out": None if out is None else str(out),
    }


def _in_words(document: dict[str, Any]) -> str:
    layers = document["layers"]
    before = sum(layer["channels"] for layer in layers)
    after = sum(layer["kept"] for layer in layers)
    told = f"{before:,} channels are {after:,}" if after < before else "no channel can be left out"
    lines = [f"{document['network']}: {told} on {document['box']}"]
    lines += [
        f"  {layer['layer']}: {layer['channels']} → {layer['kept']} channels "
        f"({len(layer['dead'])} dead, {len(layer['unread'])} unread)"
        for layer in layers
    ]
    parameters = document["parameters"]
    lines.append(f"  parameters  {parameters['before']:,}  →  {parameters['after']:,}")
    lines.append(f"  proof       {document['proof']}")
    if document["out"] is not None:
        lines.append(f"  written     {document['out']}")
    return "\n".join(lines)
