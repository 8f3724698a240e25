"""Attention: the sum over pairs of tokens beside bare matrix products, and a tiny GPT beside PyTorch eager.

Each number is the smallest of a few rounds of equal length, in CPU seconds (which count every thread) and in seconds on
the clock. The limit of the sum is the time of the two products that it cannot do without: X·Xᵀ and A·X. Torch is run by
this Python, or by the one that FTHETA_TORCH_PYTHON names.
"""

import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ftheta.networks.transformers import Gpt, next_token_loss
from ftheta.particles.tokens.clouds import unit
from ftheta.particles.tokens.sphere import SOFTMAX, velocity
from ftheta.theorems.attention.attention_particle_flow.flow import pulls, sphere_field
from ftheta.training import fit

TOKENS = 2000
DIMENSION = 64
BETA = 1.0
ROUNDS = 20
MODEL: dict[str, Any] = {"vocabulary": 256, "context": 64, "width": 128, "heads": 4, "layers": 4}
BATCH = 16
STEPS = 40
STEP = 1e-3
# what a run of so many steps takes is subtracted; so many rounds of each
SHORT = 10
TRAININGS = 8


def fastest(run: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, float]:
    """The smallest CPU time and the smallest time on the clock."""
    run()
    cpu, clock = np.min([timed(run) for _ in range(rounds)], 0)
    return cpu, clock


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds and seconds on the clock."""
    cpu = time.process_time()
    clock = time.perf_counter()
    run()
    return time.process_time() - cpu, time.perf_counter() - clock


def peak(run: Callable[[], Any]) -> float:
    """Megabytes of arrays held at once."""
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def pairs(n: int, dtype: Any) -> None:
    x = unit(np.random.default_rng(0).normal(size=(n, DIMENSION))).astype(dtype)
    A = np.empty((n, n), dtype)
    out = np.empty_like(x)

    def products() -> None:
        np.matmul(x, x.T, out=A)
        np.matmul(A, x, out=out)

    limit = fastest(products)
    ours = fastest(lambda: pulls(x, BETA))
    print(f"{n:,} tokens, d = {DIMENSION}, {np.dtype(dtype).name}:")
    print(
        f"   {'two matrix products':28} CPU {limit[0] * 1e3:7.1f} ms   clock {limit[1] * 1e3:7.1f} ms"
    )
    told = f"{ours[0] / limit[0]:.2f}× and {ours[1] / limit[1]:.2f}× the limit"
    print(
        f"   {'the sum over pairs':28} CPU {ours[0] * 1e3:7.1f} ms   clock {ours[1] * 1e3:7.1f} ms   {told}"
    )
    if dtype is np.float64:
        step = fastest(lambda: sphere_field(BETA, SOFTMAX)(x), ROUNDS // 2)
        plain = fastest(lambda: velocity(x, BETA, SOFTMAX), ROUNDS // 4)
        print(
            f"   {'one velocity of the flow':28} CPU {step[0] * 1e3:7.1f} ms   clock {step[1] * 1e3:7.1f} ms"
        )
        print(
            f"   {'… with the n × n matrix':28} CPU {plain[0] * 1e3:7.1f} ms   clock {plain[1] * 1e3:7.1f} ms"
        )
        memory = peak(lambda: pulls(x, BETA)), peak(lambda: velocity(x, BETA, SOFTMAX))
        print(f"   memory: {memory[0]:.1f} MB in blocks, {memory[1]:.1f} MB with the n × n matrix")


def tiny_gpt() -> None:
    """Rounds of both in turn, so that both meet the same quiet and the same noisy moments of the machine."""
    gpt = Gpt(**MODEL)
    rng = np.random.default_rng(0)
    data = gpt.windows(rng.integers(MODEL["vocabulary"], size=BATCH * 8 + MODEL["context"]))
    params = jax.tree.map(lambda a: np.asarray(a, np.float32), gpt.start(rng))
    run = lambda steps: fit(
        (params, gpt.apply),
        data,
        next_token_loss,
        "adam",
        step=STEP,
        steps=steps,
        batch=BATCH,
        progress=False,
    )
    with torch_rounds() as theirs:
        run(SHORT)
        # what starts and compiles falls out
        short = np.min([timed(lambda: run(SHORT)) for _ in range(ROUNDS)], 0)
        found = [(timed(lambda: run(STEPS)), theirs()) for _ in range(TRAININGS)]
    ours = (np.array([a for a, _ in found]) - short) / (STEPS - SHORT)
    torch = np.array([b for _, b in found])
    print(
        f"a GPT of {gpt.parameters:,} parameters, batches of {BATCH} × {MODEL['context']} tokens, a step of Adam:"
    )
    told("ftheta", ours)
    if torch.size:
        told("PyTorch eager", torch)
        for name, by in (
            ("smallest", torch.min(0) / ours.min(0)),
            ("median", np.median(torch / ours, 0)),
        ):
            print(
                f"   ftheta is {by[0]:.2f}× (CPU), {by[1]:.2f}× (clock) as fast, {name} of {len(found)} rounds"
            )


def told(name: str, seconds: np.ndarray) -> None:
    """The smallest CPU time and time on the clock of the rows, and the medians."""
    (cpu, clock) = seconds.min(0) * 1e3
    (usual_cpu, usual) = np.median(seconds, 0) * 1e3
    print(
        f"   {name:28} CPU {cpu:7.1f} ms   clock {clock:7.1f} ms   (median {usual_cpu:.1f}, {usual:.1f})"
    )


@contextmanager
def torch_rounds() -> Iterator[Callable[[], list[float]]]:
    """A function that has torch take a round: CPU seconds and seconds on the clock of a step, or nothing."""
    python = os.environ.get("FTHETA_TORCH_PYTHON", sys.executable)
    script = Path(__file__).with_name("_depth_torch.py")
    command = [python, str(script), json.dumps(MODEL), str(BATCH), str(STEPS - SHORT)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        lines = process.stdin
        answers = process.stdout

        def take() -> list[float]:
            if process.poll() is not None:
                return []
            print(file=lines, flush=True)
            answer = answers.readline()
            if not answer:
                process.wait()  # it has said why
            return json.loads(answer or "[]")

        yield take


def main() -> None:
    for n, dtype in ((TOKENS, np.float64), (TOKENS, np.float32), (2 * TOKENS, np.float64)):
        pairs(n, dtype)
    tiny_gpt()


if __name__ == "__main__":
    main()
