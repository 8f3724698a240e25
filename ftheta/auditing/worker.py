"""The process that keeps the networks loaded and performs one task after the other. It can be killed at any time.

One `Setup` comes in, then tasks; what the networks are goes out when it is ready, then the outcome of each task.
"""

import gc
from typing import Any

from ftheta.processes import compilation
from ftheta.processes.framing import dump, load
from ftheta.processes.serving import Channel, connect

from .part import Setup

SMALL = 200_000  # multiplications of one evaluation
LARGE = 100_000_000


def main() -> None:
    """Read the set-up, then do tasks until the input ends."""
    channel = connect()
    setup: Setup = load(_body(channel))
    try:
        from .performing import look, perform
        from .subjects import unpickle_networks

        networks = unpickle_networks(setup.recipe)
        _suit_compiler(networks)
        _record_compilation(setup.record)
        portraits = _portraits(networks) if setup.describes else ()
    except Exception as error:
        kept = error if _is_picklable(error) else RuntimeError(f"{type(error).__name__}: {error}")
        return channel.send({"kind": "broken"}, dump(kept))
    channel.send({"kind": "ready"}, dump(portraits))
    while True:
        task, assessment = load(_body(channel))
        found = (
            look(task, networks, setup.seed)
            if task.looking
            else perform(task, networks, setup.seed, assessment)
        )
        channel.send({"kind": "outcome"}, dump(found))


def _suit_compiler(networks: Any) -> None:
    """Of a small network a program takes longer to compile than to run. Tracing it makes millions of small objects, of
    which hardly one is garbage in a cycle. Programs of a large one hold its weights: to keep them for the next audit
    takes longer than to compile them (ResNet-18: 10 s against 1 s)."""
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    from ftheta.graph.hurry import compile_quickly

    from .facts.inputs import multiplications

    largest = max(map(multiplications, networks))
    if largest <= SMALL:
        compile_quickly()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
    if largest >= LARGE:
        jax.config.update("jax_enable_compilation_cache", False)
        compilation_cache.reset_cache()  # else it goes on where reading the network has compiled something


def _body(channel: Channel) -> bytes:
    frame = channel.receive()
    assert frame is not None
    return frame[1]


def _portraits(networks: Any) -> tuple[Any, ...]:
    from .describing import portray

    return tuple(portray(network) for network in networks)


def _record_compilation(descriptor: int | None) -> None:
    """Kernels that are compiled from now on are told of to the parent."""
    if descriptor is not None:
        from .fairness import CompilationRecord

        compilation.while_compiling = CompilationRecord(descriptor).under_way


def _is_picklable(error: Exception) -> bool:
    try:
        return type(load(dump(error))) is type(error)
    except Exception:
        return False
