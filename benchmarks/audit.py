"""Audits: when the first finding and the accuracy are there, and which questions are answered within the budget.

Networks: a ResNet-18 at 224 × 224, a ViT-tiny and a 12-layer BERT-like classifier with 32 labelled rows each, as .pt2
and as .onnx (torch is needed), `digits-mlp`, and an ACAS Xu network where FTHETA_VNNCOMP names its folder. Targets, on
two free cores: questions 1–4, 6 and 8 of the large ones in 60 s, their accuracy in 15 s; digits-mlp in 20 s with a
finding in 5 s; ACAS Xu in 30 s. Seconds on the wall count other work on the machine; `used` is what the budget counts.

`python -m benchmarks audit`; FTHETA_AUDIT_MODELS names some of them (resnet18.pt2, digits-mlp, acasxu), with commas.
With FTHETA_AUDIT_SCHEDULE=1 the facts are computed in their order by one process, each with the processor seconds it
took and those since the start, which other work on the machine does not change.
"""

import os
import resource
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time

import ftheta as ft
from ftheta.logic import AuditFinding, Skipped

ASKED = ("what", "performance", "data", "robustness", "training", "symmetry")


def measure(name: str, model: str, data: str | None) -> None:
    """One audit with the default budget, in a line."""
    begun = monotonic()
    processor = _children()
    first: list[float] = []
    accuracy: list[float] = []

    def on_finding(finding: AuditFinding) -> None:
        first.append(monotonic() - begun)
        if finding.question == "performance":
            accuracy.append(monotonic() - begun)

    found = ft.audit(model, data, on_finding=on_finding)
    unfinished = [part for part in found.skipped if part.unfinished]
    told = {
        "first finding": _seconds(first),
        "performance": _seconds(accuracy),
        "all": f"{monotonic() - begun:.0f} s",
        "CPU": f"{_children() - processor:.0f} s",
        "answered": ", ".join(section.id for section in found.sections if section.facts),
    }
    print(f"{name:14s} " + "; ".join(f"{key} {value}" for key, value in told.items()))
    print(f"{'':14s} not finished: {_describe_unfinished(unfinished)}")


def show_schedule(name: str, model: str, data: str | None) -> None:
    """The facts in their order, with processor seconds, by one process; those that do not apply are left out."""
    from ftheta.auditing import worker
    from ftheta.auditing.performing import perform
    from ftheta.auditing.plan import plan_tasks
    from ftheta.auditing.subjects import Recipe

    begun = process_time()
    network = Recipe(model, data).network
    worker._suit_compiler((network,))
    print(f"{name}: read after {process_time() - begun:.1f} s of the processor")
    for task in plan_tasks():
        if not task.is_fact:
            break
        before = process_time()
        found = perform(task, (network,), 0)
        if not isinstance(found, Skipped):
            used = process_time() - before
            print(f"  {process_time() - begun:6.1f} s  + {used:5.1f} s  {task.section}: {task.id}")


def _describe_unfinished(parts: Sequence[Skipped]) -> str:
    shown = ", ".join(part.id for part in parts[:8])
    more = f" and {len(parts) - 8} more" if len(parts) > 8 else ""
    return (shown or "nothing") + more


def _seconds(times: Sequence[float]) -> str:
    return f"{times[0]:.1f} s" if times else "none"


def _children() -> float:
    """Processor seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    wanted = [name for name in os.environ.get("FTHETA_AUDIT_MODELS", "").split(",") if name]

    def run(name: str, model: str, data: str | None) -> None:
        if not wanted or name in wanted:
            show(name, model, data)

    show = show_schedule if os.environ.get("FTHETA_AUDIT_SCHEDULE") else measure
    run("digits-mlp", "digits-mlp", "digits-test")
    acasxu = sorted(Path(os.environ.get("FTHETA_VNNCOMP", ".")).rglob("*ACASXU*1_1*.onnx*"))
    if acasxu:
        run("acasxu", str(acasxu[0]), None)
    if wanted and not any(name.endswith((".pt2", ".onnx")) for name in wanted):
        return
    from benchmarks._audit_models import write_models

    with TemporaryDirectory() as folder:
        for model, data in write_models(Path(folder)):
            run(model.name, str(model), str(data))
