"""Every theorem that takes a network, on one network."""

from collections.abc import Callable, Iterable
from datetime import date
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from ftheta.catalogue import index, theorem
from ftheta.logic import Audit, Diagram, FthetaError, Layer, Result
from ftheta.networks import count
from ftheta.running import run
from ftheta.subjects import Dataset, Network
from ftheta.subjects.resolve import load_as


def audit(
    model: Any,
    data: Any = None,
    *,
    seed: int = 0,
    only: Iterable[str] = (),
    progress: Callable[[str], None] = lambda id: None,
) -> Audit:
    """Run every theorem about networks (or those in `only`) and say what the network is.

    `model` and `data` are a Network and a Dataset, or anything `ftheta.load` turns into them.
    A theorem that cannot digest the network is listed under `skipped` with its reason; it never stops the rest.
    """
    network = load_as(Network, model)
    if data is not None:
        network = network.with_data(load_as(Dataset, data))
    wanted = set(only)
    results: list[Result] = []
    skipped: list[tuple[str, str]] = []
    for id, entry in index().items():
        if not entry["audited"] or (wanted and id not in wanted):
            continue
        progress(id)
        try:
            results.append(run(theorem(id), network, seed=seed))
        except (FthetaError, NotImplementedError, MemoryError) as error:
            skipped.append((id, str(error).splitlines()[0]))
    with jax.enable_x64(True):
        fingerprint, facts = network.fingerprint, _facts(network)
    return Audit(
        subject=network.name,
        kind=type(network).__name__,
        hash=fingerprint,
        facts=facts,
        diagram=_diagram(network),
        results=tuple(results),
        skipped=tuple(skipped),
        seed=seed,
        date=date.today().isoformat(),
        version=version("ftheta"),
        data="" if network.data is None else network.data.name,
    )


def _facts(net: Network) -> tuple[tuple[str, str], ...]:
    facts = [
        ("input", " × ".join(map(str, net.input_shape))),
        ("output", " × ".join(map(str, net.output_shape)) or "one number"),
        ("parameters", f"{net.parameters:,}"),
    ]
    if net.description is not None:
        counts = count(net.description)
        words = sorted({layer.activation for layer in net.description.layers[:-1]})
        facts += [
            ("activations", ", ".join(words) or "none"),
            ("neurons", f"{counts.neurons:,}"),
            ("connections", f"{counts.connections:,}"),
        ]
        facts += [(f"depth, {convention}", str(depth)) for convention, depth in counts.depth.items()]
    if net.data is not None:
        facts.append(("data", f"{net.data.name}, {len(net.data):,} rows"))
        accuracy = _accuracy(net, net.data)
        if accuracy is not None:
            facts.append(("accuracy on the data", f"{accuracy:.2%}"))
    return tuple(facts)


def _accuracy(net: Network, data: Dataset) -> float | None:
    if data.y is None or data.y.ndim != 1 or data.y.dtype.kind != "i" or len(net.output_shape) != 1:
        return None
    outputs = np.asarray(jax.vmap(net)(data.x))
    return float((outputs.argmax(-1) == data.y).mean())


def _diagram(net: Network) -> Diagram | None:
    if net.description is None:
        return None
    widths = net.description.widths
    layers = [Layer("input", widths[0])]
    for i, (layer, width) in enumerate(zip(net.description.layers, widths[1:]), 1):
        last = i == len(widths) - 1
        layers.append(Layer("output" if last else f"layer {i}", width, "" if last else layer.activation))
    return Diagram(net.name, tuple(layers))
