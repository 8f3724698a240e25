"""Parts of an audit computed again for some rows, by the facts that the audit has them from."""

from typing import Any

import numpy as np

from ftheta.lazy import double_precision
from ftheta.logic import Axis, Bars, Enclosure, Fact, Section, Skipped
from ftheta.subjects import Network

from .facts.inputs import outputs_at
from .facts.pictures import draw_rows
from .part import NOT_COMPUTED, Part
from .performing import perform
from .plan import plan_tasks

MOST_CLASSES = 12  # drawn


def perform_fact(id: str, net: Network, seed: int) -> Any:
    """What comes of one fact on a network: a `Part`, or a `Skipped` that says why not."""
    (task,) = [task for task in plan_tasks(only=[id]) if task.id == id]
    return perform(task, [net], seed)


def section_of(id: str, title: str, found: Part | Skipped) -> Section:
    """The part as a section of its own; what does not apply says why."""
    if isinstance(found, Skipped):
        return Section(id, title, (Fact("not computed", found.reason, found.remedy),))
    return Section(id, title, found.facts, found.tables, found.charts)


def describe_row(net: Network, row: int, robust: Part | Skipped) -> Section:
    """A row as a picture where it is one, the outputs of the network, and how far its class holds (`robust`)."""
    assert net.data is not None
    with double_precision():
        (outputs,) = outputs_at(net, net.data.x)
    facts, charts = _outputs(net, outputs)
    radii = _radii(robust)
    picture = draw_rows(f"row {row}", net.input_shape, (net.data.x.astype(np.float64),))
    return Section("row", f"Row {row}", (*facts, *radii), (), (*picture, *charts))


def _radii(robust: Part | Skipped) -> tuple[Fact, ...]:
    """Within which change of its entries the class of the row is certain, and beyond which it was seen to change."""
    if isinstance(robust, Skipped):
        return (Fact("radius of its class", "not computed", f"{robust.reason}; {robust.remedy}"),)
    ((_, change, met, certified),) = robust.tables[0].rows
    if met == 0:
        return (Fact("class", str(change)),)
    told = "in ℓ∞: no entry moves further"
    return (
        Fact("class → becomes", str(change)),
        Fact("its class is certified within", _distance(certified), told),
        Fact("another class was met at", _distance(met), told),
    )


def _distance(cell: Any) -> Enclosure | str:
    if cell == NOT_COMPUTED:
        return "not computed for a network of this size"
    return Enclosure.equal(float(cell)) if np.isfinite(cell) else "no distance"


def _outputs(net: Network, outputs: np.ndarray) -> tuple[list[Fact], tuple[Bars, ...]]:
    assert net.data is not None
    facts = [] if net.data.y is None else [Fact("label", str(np.ravel(net.data.y)[0]))]
    if len(outputs) < 2:
        return [*facts, Fact("output", Enclosure.equal(float(outputs[0])))], ()
    order = np.argsort(-outputs)[:MOST_CLASSES]
    shown = np.sort(order)
    weights = np.exp(outputs - outputs.max())
    shares = weights / weights.sum()
    names = net.data.classes
    name = lambda k: names[k] if k < len(names) else str(k)
    facts.append(Fact("prediction", name(int(order[0]))))
    facts.append(Fact("confidence (softmax)", Enclosure.equal(float(shares[order[0]]))))
    facts.append(
        Fact("logit margin", Enclosure.equal(float(outputs[order[0]] - outputs[order[1]])))
    )
    bars = Bars(
        "softmax of the outputs",
        Axis("share"),
        tuple(map(name, shown)),
        ("softmax",),
        (shares[shown],),
    )
    return facts, (bars,)
