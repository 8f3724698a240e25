"""The default run of every theorem, as `ftheta check` makes it: which take long, in processor seconds and on the clock.

Each runs in a process of its own, forked after the imports, so that no compiled program is shared; importing and
starting JAX are not in its seconds. Bytecode is kept: what takes longer than `LIMIT`, what each may take by the clock
on a quiet machine, runs a second time, with the modules compiled that it alone needs.

`python -m benchmarks.theorems [id …]` measures those alone.
"""

import json
import os
import sys
import time
from typing import Any

from ftheta.catalogue import theorems
from ftheta.running import run

LIMIT = 2.0  # seconds


def measure(theorem: Any) -> dict[str, Any]:
    """What its default run took, and its verdict; by a child of this process, so that nothing is left behind."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(write, "w") as answer:
            json.dump(_run_timed(theorem), answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return (
        json.loads(said) if said else {"cpu": 0.0, "wall": 0.0, "verdict": "ended without answer"}
    )


def _run_timed(theorem: Any) -> dict[str, Any]:
    import jax

    jax.devices()  # starts it
    cpu = time.process_time()
    wall = time.perf_counter()
    verdict = run(theorem).verdict.value
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "verdict": verdict,
    }


def main(chosen: tuple[str, ...] = ()) -> None:
    import jax
    import jax.numpy  # noqa: F401

    sys.dont_write_bytecode = False
    found = {}
    for theorem in theorems().values():
        if chosen and theorem.id not in chosen:
            continue
        took = measure(theorem)
        again = measure(theorem) if took["wall"] > LIMIT else took
        found[theorem.id] = min(took, again, key=lambda run: run["wall"])
    print(f"{'theorem':45} {'CPU s':>6} {'clock':>6}  verdict")
    for name, took in sorted(found.items(), key=lambda item: -item[1]["wall"]):
        mark = " *" if took["wall"] > LIMIT else ""
        print(f"{name:45} {took['cpu']:6.2f} {took['wall']:6.2f}  {took['verdict']}{mark}")
    over = sum(took["wall"] > LIMIT for took in found.values())
    print(f"{len(found)} theorems, {over} above {LIMIT:g} s by the clock (*)")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
