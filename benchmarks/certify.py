"""Verification and bounds: ours beside the peers in one run, on the same work, with ratios and how the cost grows.

Times are processor seconds on one core. Networks and properties are those of VNN-COMP in the folder that
FTHETA_VNNCOMP names. Peers: `auto_LiRPA` where it can be imported (or from the folder FTHETA_AUTO_LIRPA), nnenum,
α,β-CROWN and Marabou from the folders FTHETA_NNENUM, FTHETA_ABCROWN and FTHETA_MARABOU (`pip install --target`), run by
the interpreters FTHETA_NNENUM_PYTHON, FTHETA_ABCROWN_PYTHON and FTHETA_MARABOU_PYTHON. What is not there, or does not
start, is left out, and it is said why. The time of a peer that does nothing but start is taken off its times.
"""

import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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

FOLDER = Path(os.environ.get("FTHETA_VNNCOMP", "../shared/data/vnncomp"))
BUDGET = 120.0  # seconds for one instance
ACAS = (
    ("1_1", 1),
    ("1_1", 2),
    ("1_1", 3),
    ("1_9", 1),
    ("2_1", 1),
    ("2_1", 2),
    ("3_3", 1),
    ("4_2", 1),
    ("4_2", 2),
    ("5_3", 2),
    ("1_1", 5),
    ("1_1", 6),
)
MNIST = (
    ("mnist-net_256x2", "prop_{}_0.03", (0, 1, 2)),
    ("mnist-net_256x4", "prop_{}_0.03", (0, 1)),
)
BOXES = 1000
LIRPA_BATCH = 50  # boxes that auto_LiRPA bounds at once: more need more memory than they save time
WIDE = (784, 256, 256, 256, 256, 10)
RADIUS = 0.005


def main() -> None:
    compare_instances("ACAS Xu", "acasxu", _acas_instances())
    compare_instances("mnist_fc", "mnist_fc", _mnist_instances())
    grow_with_radius()
    bound_many_boxes()
    price_rounding()
    time_start()


# ---- whole instances ----


def _acas_instances() -> list[tuple[str, str]]:
    return [
        (f"onnx/ACASXU_run2a_{net}_batch_2000.onnx", f"vnnlib/prop_{number}.vnnlib")
        for net, number in ACAS
    ]


def _mnist_instances() -> list[tuple[str, str]]:
    return [
        (f"onnx/{net}.onnx", f"vnnlib/{name.format(k)}.vnnlib")
        for net, name, rows in MNIST
        for k in rows
    ]


def compare_instances(title: str, family: str, instances: list[tuple[str, str]]) -> None:
    """Each instance by us and by every peer that is there; the geometric mean of the ratios."""
    folder = FOLDER / family
    there = [pair for pair in instances if all(_packed(folder / name) is not None for name in pair)]
    if not there:
        print(f"{title}: no instances in {folder} (set FTHETA_VNNCOMP)")
        return
    print(f"{title}: processor seconds on one core")
    peers = dict[str, Run]()
    for name, find in (("nnenum", _nnenum), ("α,β-CROWN", _abcrown), ("Marabou", _marabou)):
        found = find()
        if isinstance(found, str):
            print(f"  without {name}: {found}")
        else:
            peers[name] = found
    _decide(folder, *there[0])  # once, so that all is compiled
    ratios: dict[str, list[float]] = {name: [] for name in peers}
    with tempfile.TemporaryDirectory() as place:
        for pair in there:
            answer, ours = _decide(folder, *pair)
            line = f"  {Path(pair[0]).stem:32} {Path(pair[1]).stem:14} ours {ours:8.3f} {answer:8}"
            for name, run in peers.items():
                said, seconds = run(*(_unpack(folder / file, Path(place)) for file in pair))
                ratios[name].append(seconds / ours)
                line += f" {name} {seconds:8.3f} {said:8} ({seconds / ours:.1f}×{'' if said != '?' else ' at least'})"
                if {answer, said} == {"sat", "unsat"}:
                    line += " — the answers differ"
            print(line, flush=True)
    for name, all_ratios in ratios.items():
        mean = float(np.exp(np.mean(np.log(all_ratios))))
        print(f"  geometric mean on {len(all_ratios)}: {name} takes {mean:.1f}× as long as ftheta")


def _decide(folder: Path, network: str, property: str) -> tuple[str, float]:
    began = time.process_time()
    files = [_packed(folder / name) for name in (network, property)]
    found = verify(files[0], str(files[1]), budget=BUDGET, threads=1)
    return found.answer, time.process_time() - began


def _packed(path: Path) -> Path | None:
    """The file as it is, or packed."""
    return next((p for p in (path, path.with_name(f"{path.name}.gz")) if p.exists()), None)


def _unpack(path: Path, folder: Path) -> Path:
    found = _packed(path)
    assert found is not None
    to = folder / path.name
    if not to.exists():
        to.write_bytes(
            gzip.decompress(found.read_bytes()) if found.suffix == ".gz" else found.read_bytes()
        )
    return to


Run = Callable[[Path, Path], tuple[str, float]]


def _nnenum() -> Run | str:
    """nnenum from its folder, one process; its start is taken off. Or why it is not there."""
    if "FTHETA_NNENUM" not in os.environ:
        return "FTHETA_NNENUM names no folder"
    python = os.environ.get("FTHETA_NNENUM_PYTHON", sys.executable)
    source = Path(os.environ["FTHETA_NNENUM"]) / "src"
    # one worker process, in the calling one: what is compared is work, not cores
    begin = (
        "import sys; from nnenum.settings import Settings; import nnenum.nnenum as m; "
        "Settings.NUM_PROCESSES = 1; sys.argv = ['nnenum', *sys.argv[1:]]; "
    )
    said, start = _run_child([python, "-c", begin], source)
    if "Error" in said:
        return said.strip().splitlines()[-1]

    def run(network: Path, property: Path) -> tuple[str, float]:
        output, seconds = _run_child(
            [python, "-c", begin + "m.main()", str(network), str(property), str(BUDGET)], source
        )
        words = output.lower()
        answer = (
            "sat"
            if "violated" in words or "unsafe" in words
            else "unsat"
            if "holds" in words or "safe" in words
            else "?"
        )
        return answer, max(seconds - start, 1e-3)

    return run


def _abcrown() -> Run | str:
    """α,β-CROWN from its folder, on the CPU; its start is taken off. Or why it is not there."""
    if "FTHETA_ABCROWN" not in os.environ:
        return "FTHETA_ABCROWN names no folder"
    python = os.environ.get("FTHETA_ABCROWN_PYTHON", sys.executable)
    folder = Path(os.environ["FTHETA_ABCROWN"]) / "complete_verifier"
    said, start = _run_child([python, "-c", "import abcrown"], folder, cwd=folder)
    if "Error" in said:
        return said.strip().splitlines()[-1]

    def run(network: Path, property: Path) -> tuple[str, float]:
        words = [
            "--device",
            "cpu",
            "--timeout",
            str(BUDGET),
            "--onnx_path",
            str(network),
            "--vnnlib_path",
            str(property),
        ]
        output, seconds = _run_child([python, "abcrown.py", *words], folder, cwd=folder)
        last = output.lower().rpartition("result:")[2]
        answer = (
            "unsat"
            if "unsat" in last or "safe" in last.replace("unsafe", "")
            else "sat"
            if "sat" in last or "unsafe" in last
            else "?"
        )
        return answer, max(seconds - start, 1e-3)

    return run


def _marabou() -> Run | str:
    """Marabou as its package installs it; its start is taken off. Or why it is not there."""
    if "FTHETA_MARABOU" not in os.environ:
        return "FTHETA_MARABOU names no folder"
    python = os.environ.get("FTHETA_MARABOU_PYTHON", sys.executable)
    folder = Path(os.environ["FTHETA_MARABOU"])
    said, start = _run_child([python, "-c", "from maraboupy import Marabou"], folder)
    if "Error" in said:
        return said.strip().splitlines()[-1]

    def run(network: Path, property: Path) -> tuple[str, float]:
        words = [str(network), str(property), "--timeout", str(int(BUDGET))]
        output, seconds = _run_child([python, str(folder / "bin" / "Marabou"), *words], folder)
        lines = {line.strip() for line in output.lower().splitlines()}
        return next((answer for answer in ("unsat", "sat") if answer in lines), "?"), max(
            seconds - start, 1e-3
        )

    return run


def _run_child(command: list[str], source: Path, cwd: Path | None = None) -> tuple[str, float]:
    """What a process prints, and the processor seconds of it and of its children."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | one | {"PYTHONPATH": str(source)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=10 * BUDGET
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, seconds


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
    root = Path(__file__).parent.parent
    ours = [sys.executable, "-m", "ftheta", "verify", str(network), str(property), "--threads", "1"]
    bare = [sys.executable, "-c", "import numpy, numba"]
    _run_child(ours, root)
    best = [min(_run_child(command, root)[1] for _ in range(3)) for command in (ours, bare)]
    print(
        f"cold start: ftheta verify {best[0]:.2f} s, import numpy, numba {best[1]:.2f} s: {best[0] / best[1]:.2f}×"
    )
