"""Verification and bounds: ours beside the peers in one run, on the same work, with ratios and how the cost grows.

Times are processor seconds on one core. Networks and properties are those of VNN-COMP in the folder that
FTHETA_VNNCOMP names. Peers: `auto_LiRPA` where it can be imported (or from the folder FTHETA_AUTO_LIRPA), nnenum,
α,β-CROWN and Marabou from the folders FTHETA_NNENUM, FTHETA_ABCROWN and FTHETA_MARABOU (`pip install --target`), run by
the interpreters FTHETA_NNENUM_PYTHON, FTHETA_ABCROWN_PYTHON and FTHETA_MARABOU_PYTHON. What is not there, or does not
start, is left out, and it is said why. The time of a peer that does nothing but start is taken off its times, and the
time of a process of ours that does so is not in ours.
"""

import csv
import gzip
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ftheta.certify.neurons.enclosing import enclose
from ftheta.certify.neurons.frames import Layer, times
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.neurons.kernels import take_corner, take_lines
from ftheta.certify.neurons.lines import Lines, Start, bound_below, plain_lines
from ftheta.relu.network import ReluNetwork
from ftheta.verifying import read_network, verify

from ._certify_peers import PATIENCE, Ask, Said, find_peers, run_child

FOLDER = Path(os.environ.get("FTHETA_VNNCOMP", "../shared/data/vnncomp"))
EVERY = {"acasxu": 7, "mnist_fc": 6}  # of the list of instances, one out of so many
EACH = 30.0  # processor seconds for one instance
LIMITS = (0.5, 1, 2, 5, 10, 20, 30)  # at which answers are counted
BOXES = 1000
LIRPA_BATCH = 50  # boxes that auto_LiRPA bounds at once: more need more memory than they save time
WIDE = (784, 256, 256, 256, 256, 10)
RADIUS = 0.005


def main() -> None:
    compare_instances("ACAS Xu", "acasxu", ("nnenum", "α,β-CROWN", "Marabou"))
    compare_instances("mnist_fc", "mnist_fc", ("nnenum", "α,β-CROWN"))
    grow_with_radius()
    bound_many_boxes()
    price_rounding()
    time_start()


# ---- whole instances ----


def compare_instances(title: str, family: str, names: tuple[str, ...]) -> None:
    """Each instance by us and by every peer that is there; ratios, and answers by the time that they took."""
    folder = FOLDER / family
    instances = _list_instances(folder)
    if not instances:
        print(f"{title}: no instances in {folder} (set FTHETA_VNNCOMP)")
        return
    print(f"{title}: processor seconds on one core, at most {EACH:g} for one instance")
    peers = dict[str, Ask]()
    found = find_peers()
    for name in names:
        if isinstance(ask := found[name], str):
            print(f"  without {name}: {ask}")
        else:
            peers[name] = ask
    _decide(folder, instances[0])  # once, so that all is compiled
    start = _measure_start(folder, instances[0])
    answers: dict[str, list[Said]] = {name: [] for name in ("ftheta", *peers)}
    with tempfile.TemporaryDirectory() as place:
        for each in instances:
            ours = _decide(folder, each)
            answers["ftheta"].append(ours)
            files = [_unpack(folder / file, Path(place)) for file in (each.network, each.property)]
            for name, ask in peers.items():
                answers[name].append(ask(family, files[0], files[1], EACH))
            _print_answers(each, {name: said[-1] for name, said in answers.items()})
    _print_ratios(answers, start)
    _count_by_limits(answers)


@dataclass(frozen=True)
class Instance:
    """Two files of a folder, and the answer on which tools agree; empty where none is known."""

    network: str
    property: str
    answer: str


def _list_instances(folder: Path) -> list[Instance]:
    """One out of so many of the list, in its order."""
    listed = folder / "instances.csv"
    if not listed.exists():
        return []
    with listed.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [Instance(r["onnx"], r["vnnlib"], r["answer"]) for r in rows[:: EVERY[folder.name]]]


def _decide(folder: Path, instance: Instance) -> Said:
    """Our answer. The limit counts processor seconds, as for the peers: then it is interrupted, as by Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, EACH)
    began = time.process_time()
    try:
        files = folder / instance.network, folder / instance.property
        found = verify(files[0], str(files[1]), budget=PATIENCE * EACH, threads=1).answer
    except KeyboardInterrupt:
        found = "?"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return Said(found if found in ("sat", "unsat") else "?", time.process_time() - began)


def _print_answers(instance: Instance, answers: dict[str, Said]) -> None:
    network, property = (
        Path(name).name.split(".onnx")[0] for name in (instance.network, instance.property)
    )
    line = f"  {network.removesuffix('_batch_2000'):16} {property.split('.vnnlib')[0]:12}"
    ours = answers["ftheta"]
    for name, said in answers.items():
        line += f"  {name} {said.seconds:.3f} {said.answer}"
        if said.failure:
            line += f" (failed: {said.failure[:100]})"
        elif name != "ftheta":
            line += f" ({said.seconds / ours.seconds:.1f}×{_open_ends(said, ours)})"
        if {instance.answer, said.answer} == {"sat", "unsat"}:
            line += " WRONG"
    print(line, flush=True)


def _open_ends(said: Said, ours: Said) -> str:
    if ours.answer == "?":
        return " nothing by us" if said.answer != "?" else " neither"
    return " at least" if said.answer == "?" else ""


def _measure_start(folder: Path, instance: Instance) -> float:
    """Processor seconds of `ftheta verify` as a process, beyond those of the same question in a process that runs."""
    files = [str(folder / file) for file in (instance.network, instance.property)]
    command = [sys.executable, "-m", "ftheta", "verify", *files, "--threads", "1"]
    return _time_cold(command) - _decide(folder, instance).seconds


def _print_ratios(answers: dict[str, list[Said]], start: float) -> None:
    """Geometric means over what we decided: a peer that ran out of time counts with the time that it had."""
    ours = answers.pop("ftheta")
    for name, theirs in answers.items():
        pairs = [(p, o) for p, o in zip(theirs, ours) if o.answer != "?" and not p.failure]
        if pairs:
            bare = _geometric_mean(p.seconds / o.seconds for p, o in pairs)
            whole = _geometric_mean((p.start + p.seconds) / (start + o.seconds) for p, o in pairs)
            print(
                f"  geometric mean on {len(pairs)}: {name} takes {bare:.1f}× as long as ftheta; "
                f"{whole:.1f}× with the start of both, {pairs[0][0].start:.2f} s and {start:.2f} s"
            )
    answers["ftheta"] = ours


def _geometric_mean(ratios: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(ratios)))))


def _count_by_limits(answers: dict[str, list[Said]]) -> None:
    for name, said in answers.items():
        counts = [sum(s.answer != "?" and s.seconds <= limit for s in said) for limit in LIMITS]
        within = ", ".join(f"{limit:g} s: {count}" for limit, count in zip(LIMITS, counts))
        print(f"  decided by {name}, of {len(said)}, within {within}")


def _packed(path: Path) -> Path | None:
    """The file as it is, or packed."""
    return next((p for p in (path, path.with_name(f"{path.name}.gz")) if p.exists()), None)


def _unpack(path: Path, folder: Path) -> Path:
    """The file itself, in a folder, as peers read it."""
    to = folder / path.name.removesuffix(".gz")
    if not to.exists():
        packed = path.suffix == ".gz"
        to.write_bytes(gzip.decompress(path.read_bytes()) if packed else path.read_bytes())
    return to


# ---- growth ----


def grow_with_radius() -> None:
    """How the work for one digit grows with the radius around it."""
    from ftheta.certify.properties import Robust

    net = _wide_network((784, 64, 64, 10))
    x = np.random.default_rng(1).uniform(size=784)
    print("robustness of 784-64-64-10 around one input, as the radius grows")
    for eps in (0.002, 0.004, 0.008, 0.016):
        began = time.process_time()
        found = verify(net, Robust(x, eps, clip=(0, 1)), budget=20.0, threads=1)
        print(
            f"  ε = {eps}: {found.answer:8} {found.subproblems:8,} subproblems {time.process_time() - began:8.2f} s"
        )


def _wide_network(widths: tuple[int, ...] = WIDE) -> ReluNetwork:
    rng = np.random.default_rng(0)
    pairs = list(zip(widths[1:], widths[:-1]))
    weights = [rng.uniform(-1, 1, pair).astype(np.float32) * (3 / pair[1]) ** 0.5 for pair in pairs]
    return ReluNetwork.dense(weights, [np.zeros(m, np.float32) for m, _ in pairs])


# ---- bounds of many boxes ----


def bound_many_boxes() -> None:
    """Lower bounds of all outputs of 784-256⁴-10 over many boxes: ours, and auto_LiRPA's CROWN."""
    file = _packed(FOLDER / "mnist_fc" / "onnx" / "mnist-net_256x4.onnx")
    read = None if file is None else read_network(file)
    net = read if isinstance(read, ReluNetwork) else _wide_network()
    rng = np.random.default_rng(2)
    centres = rng.uniform(size=(BOXES, 784)) * (rng.random((BOXES, 784)) < 0.2)
    _bound_boxes(net, centres[:2])
    began = time.process_time()
    ours = _bound_boxes(net, centres)
    seconds = time.process_time() - began
    each = f"{1e3 * seconds / BOXES:.1f} ms each"
    print(
        f"bounds of {BOXES:,} boxes of 784-256⁴-10, radius {RADIUS}: ours {seconds:.1f} s ({each})"
    )
    lirpa = _import_lirpa()
    if lirpa is None:
        print("  auto_LiRPA is not there (pip install auto_LiRPA, or set FTHETA_AUTO_LIRPA)")
        return
    began = time.process_time()
    theirs = _bound_with_lirpa(lirpa, net, centres)
    peer = time.process_time() - began
    gain = f"ours minus theirs: mean {np.mean(ours - theirs):+.4f}"
    print(f"  auto_LiRPA CROWN {peer:.1f} s: {peer / seconds:.1f}× as long; {gain}")


def _bound_boxes(net: ReluNetwork, centres: np.ndarray) -> np.ndarray:
    """Plain lines, as CROWN takes them, proved with outward rounding."""
    outputs = net.widths[-1]
    found = []
    for x in centres:
        frame, _ = enclose(net, Inputs(x - RADIUS, x + RADIUS))
        last = frame.last
        start = Start(np.ascontiguousarray(last.weight), last.bias.copy(), last.error.copy())
        found.append(
            bound_below(frame.inputs, frame.layers, start, plain_lines(frame.layers, outputs))
        )
    return np.array(found)


def _import_lirpa() -> ModuleType | None:
    if "FTHETA_AUTO_LIRPA" in os.environ:
        sys.path.insert(0, os.environ["FTHETA_AUTO_LIRPA"])
    try:
        import auto_LiRPA  # type: ignore[import-not-found]
    except ImportError:
        return None
    return auto_LiRPA


def _bound_with_lirpa(lirpa: Any, net: ReluNetwork, centres: np.ndarray) -> np.ndarray:
    import torch

    torch.set_num_threads(1)
    layers: list[Any] = []
    for k, step in enumerate(net.steps):
        layer = torch.nn.Linear(*reversed(step.matrix.shape))
        layer.weight.data = torch.tensor(step.dense(), dtype=torch.float32)
        layer.bias.data = torch.tensor(step.offset, dtype=torch.float32)
        layers += [layer] if k == len(net.steps) - 1 else [layer, torch.nn.ReLU()]
    points = torch.tensor(centres, dtype=torch.float32)
    bounded = lirpa.BoundedModule(torch.nn.Sequential(*layers), points[:1], device="cpu")
    found = []
    with torch.no_grad():
        for at in range(0, len(points), LIRPA_BATCH):
            box = lirpa.PerturbationLpNorm(norm=np.inf, eps=RADIUS)
            part = lirpa.BoundedTensor(points[at : at + LIRPA_BATCH], box)
            lower, _ = bounded.compute_bounds(x=(part,), method="CROWN", bound_upper=False)
            found.append(lower.numpy())
    return np.concatenate(found)


# ---- rounding ----


def price_rounding() -> None:
    """The same back-substitution in float64 with and without the terms that make it a proof."""
    net = _wide_network()
    x = np.random.default_rng(3).uniform(size=784)
    frame, _ = enclose(net, Inputs(x - RADIUS, x + RADIUS))
    rng = np.random.default_rng(4)
    for rows in (64, 512):
        weight = rng.standard_normal((rows, frame.layers[-1].weight.shape[0]))
        start = Start(weight, np.zeros(rows), np.zeros(rows))
        work = (frame.inputs, frame.layers, start, plain_lines(frame.layers, rows))
        proved = 1e3 * _best_time(bound_below, *work)
        plain = 1e3 * _best_time(_bound_without_errors, *work)
        print(
            f"outward rounding, {rows} rows: {proved:.2f} ms, without {plain:.2f} ms: {proved / plain:.2f}×"
        )


def _bound_without_errors(
    inputs: Inputs, layers: tuple[Layer, ...], start: Start, lines: Lines
) -> np.ndarray:
    A = start.outputs
    value = start.constant.copy()
    for layer in reversed(layers):
        G = np.empty_like(A)
        take_lines(
            A,
            layer.first,
            layer.undecided,
            lines.lower,
            lines.upper,
            lines.offset,
            lines.push,
            G,
            value,
        )
        value += G @ layer.bias
        A = times(G, layer.weight)
    take_corner(A, inputs.low, inputs.high, np.empty_like(A), value)
    return value


def _best_time(work: Callable[..., Any], *arguments: Any) -> float:
    best = np.inf
    work(*arguments)
    for _ in range(15):
        began = time.process_time()
        work(*arguments)
        best = min(best, time.process_time() - began)
    return best


# ---- start ----


def time_start() -> None:
    """A cold `ftheta verify` on an easy instance, beside importing NumPy and Numba."""
    folder = FOLDER / "acasxu"
    network = _packed(folder / "onnx/ACASXU_run2a_1_1_batch_2000.onnx")
    property = _packed(folder / "vnnlib/prop_3.vnnlib")
    if network is None or property is None:
        return
    ours = [sys.executable, "-m", "ftheta", "verify", str(network), str(property), "--threads", "1"]
    bare = [sys.executable, "-c", "import numpy, numba"]
    best = _time_cold(ours), _time_cold(bare)
    print(
        f"cold start: ftheta verify {best[0]:.2f} s, import numpy, numba {best[1]:.2f} s: {best[0] / best[1]:.2f}×"
    )


def _time_cold(command: list[str]) -> float:
    """Of a process; the bytecode of what it imports is there, as after an installation."""
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as place:
        return min(run_child(command, root, PYTHONPYCACHEPREFIX=place)[2] for _ in range(5))
