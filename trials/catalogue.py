"""The catalogue itself: where its hypotheses hold a theorem is true, so that no knob and no subject refutes it."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.catalogue import theorems
from ftheta.logic import FthetaError, Result, Theorem, Verdict
from ftheta.logic.knob import Setting
from ftheta.networks.description import Dense, Description
from ftheta.running import run
from ftheta.subjects import Dataset, Network

from . import Trial

SIZES = (
    0,
    0,
    0,
    -8,
    -3,
    3,
    8,
    -310,
    -200,
    -161,
    -100,
    100,
    150,
    200,
    300,
)  # of numbers, as powers of 10
SECONDS = 60  # a case that takes longer is left: speed is not on trial here
ACTIVATIONS = ("relu", "tanh", "sigmoid", "leaky_relu", "gelu", "identity", "softplus")


class _Worker:
    """A process of its own for the cases: one that takes too long is ended without harm to those that follow."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def attempt(
        self, function: Callable[[np.random.Generator], str | None], rng: np.random.Generator
    ) -> str | None:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, get_context("spawn"))
            self._pool.submit(_import_theorems).result()  # not part of a case
        try:
            return self._pool.submit(function, rng).result(SECONDS)
        except TimeoutError:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown(wait=True)
            self._pool = None
            return None


_WORKER = _Worker()


def _import_theorems() -> int:
    return len(theorems())


def _draw_value(rng: np.random.Generator, setting: Setting) -> Any:
    """A value that the knob accepts: inside the slider, at its ends, or at the limits of what may be typed."""
    knob = setting.knob
    if knob.choices:
        return str(rng.choice(np.array(knob.choices)))
    if setting.type == "bool":
        return bool(rng.integers(2))
    least = knob.lo if knob.least is None else knob.least
    share = float(rng.choice(np.array([0.0, 0.5 * rng.random(), rng.random()])))
    if rng.random() < 0.2:
        value = least
    elif knob.log and knob.lo > 0:
        value = knob.lo * (knob.hi / knob.lo) ** share
    else:
        value = knob.lo + share * (knob.hi - knob.lo)
    return round(value) if setting.type == "int" else value


def _judge(theorem: Theorem, result: Result, case: str) -> str | None:
    """The first claim, on the subject or in an example, that is refuted or contradicted where the theorem applies."""
    if result.verdict is Verdict.INAPPLICABLE:
        return None
    for judged in (*result.claims, *result.examples):
        judgement = judged.judgement
        if judgement.verdict is Verdict.REFUTED or judgement.contradicted:
            word = "refuted" if judgement.verdict is Verdict.REFUTED else "contradicted"
            return f"{theorem.id} {case}: {word}: {judged.claim.what}: {judgement.reason}"
    return None


def _run(theorem: Theorem, case: str, *args: Any, **options: Any) -> str | None:
    try:
        return _judge(theorem, run(theorem, *args, **options), case)
    except FthetaError:
        return None
    except Exception as error:
        return f"{theorem.id} {case}: {type(error).__name__}: {error}"


def attempt_knobs(rng: np.random.Generator) -> str | None:
    """A random theorem with random knobs on its built-in subject."""
    return _WORKER.attempt(_run_with_knobs, rng)


def _run_with_knobs(rng: np.random.Generator) -> str | None:
    known = list(theorems().values())
    theorem = known[int(rng.integers(len(known)))]
    knobs = {s.name: _draw_value(rng, s) for s in theorem.settings if rng.random() < 0.5}
    seed = int(rng.integers(1000))
    return _run(theorem, f"{knobs} seed {seed}", None, seed=seed, **knobs)


def draw_network(rng: np.random.Generator) -> Network:
    """A dense network with something odd about it: zeros, copies, huge or tiny weights, one neuron, many layers."""
    depth = int(rng.integers(1, 5))
    widths = [
        int(rng.integers(1, 5)),
        *(int(rng.integers(1, 7)) for _ in range(depth)),
        int(rng.integers(1, 4)),
    ]
    word = str(rng.choice(np.array(ACTIVATIONS)))
    scale = 10.0 ** float(rng.choice(np.array(SIZES)))
    offset = 10.0 ** float(rng.choice(np.array([0, 0, 0, -8, 6, 12])))
    layers = []
    for k, (m, n) in enumerate(pairwise(widths)):
        W = rng.standard_normal((n, m)) * scale
        b = rng.standard_normal(n) * offset
        if rng.random() < 0.2:
            W = np.round(rng.standard_normal((n, m)))  # ties
            b = np.round(rng.standard_normal(n))
        if rng.random() < 0.1:
            W = 0 * W
        if rng.random() < 0.2 and n > 1:
            W[1] = W[0]
            b[1] = b[0]
        if rng.random() < 0.2:
            b = 0 * b
        layers.append(Dense(W, b, word if k + 2 < len(widths) else "identity"))
    return Network.described(
        Description(tuple(layers)), name=f"{'-'.join(map(str, widths))} {word}"
    )


def _draw_data(rng: np.random.Generator, net: Network) -> Dataset:
    rows = int(rng.choice(np.array([1, 2, 7, 30])))
    x = rng.standard_normal((rows, *np.shape(net.example))) * 10.0 ** float(rng.integers(-3, 4))
    if rng.random() < 0.2:
        x[:] = x[0]
    with jax.enable_x64(True):
        outputs = np.asarray(jax.vmap(net)(jnp.asarray(x))).reshape(rows, -1)
    y = (
        rng.integers(outputs.shape[1], size=rows)
        if outputs.shape[1] > 1
        else rng.standard_normal(rows)
    )
    return Dataset("drawn", x, y)


def attempt_network(rng: np.random.Generator) -> str | None:
    """A random theorem about networks on an odd network, with or without data."""
    return _WORKER.attempt(_run_on_network, rng)


def _run_on_network(rng: np.random.Generator) -> str | None:
    known = [theorem for theorem in theorems().values() if Network in theorem.takes]
    theorem = known[int(rng.integers(len(known)))]
    net = draw_network(rng)
    if rng.random() < 0.6:
        net = net.with_data(_draw_data(rng, net))
    return _run(theorem, f"on {net.name}", net)


def draw_data(rng: np.random.Generator) -> Dataset:
    """Rows of any size with something odd about them: one row, copies, constant columns, labels of one kind or size."""
    rows = int(rng.choice(np.array([1, 2, 5, 12, 40])))
    columns = int(rng.choice(np.array([1, 2, 3, 16])))
    x = rng.standard_normal((rows, columns))
    if rng.random() < 0.2:
        x = np.round(x)  # ties
    if rng.random() < 0.2:
        x[:, 0] = 1.0
    if rng.random() < 0.2:
        x[:] = x[0]
    sizes = 10.0 ** rng.choice(np.array(SIZES), 2)
    labels = {
        "none": None,
        "numbers": sizes[1] * rng.standard_normal(rows),
        "one number": np.full(rows, sizes[1]),
        "two classes": (x[:, 0] > 0).astype(int),
        "three classes": rng.integers(3, size=rows),
        "derivatives": sizes[0] * rng.standard_normal((rows, columns)),
    }
    return Dataset("drawn", sizes[0] * x, labels[str(rng.choice(np.array(list(labels))))])


def attempt_data(rng: np.random.Generator) -> str | None:
    """A random theorem about data on odd data."""
    return _WORKER.attempt(_run_on_data, rng)


def _run_on_data(rng: np.random.Generator) -> str | None:
    known = [theorem for theorem in theorems().values() if Dataset in theorem.takes]
    theorem = known[int(rng.integers(len(known)))]
    data = draw_data(rng)
    try:
        found = run(theorem, data)
    except FthetaError:
        return None
    except Exception as error:
        return f"{theorem.id} on {data.x.shape}: {type(error).__name__}: {error}"
    # a phenomenon may be absent from data: what a sample contradicts is no fault
    refuted = [j.claim.what for j in found.claims if j.judgement.verdict is Verdict.REFUTED]
    return f"{theorem.id} on {data.x.shape}: refuted: {refuted[0]}" if refuted else None


TRIALS = (
    Trial(
        "catalogue: random knobs", "a theorem refuted, or a foreign exception", attempt_knobs, few=3
    ),
    Trial(
        "catalogue: odd networks",
        "a theorem refuted, or a foreign exception",
        attempt_network,
        few=3,
    ),
    Trial("catalogue: odd data", "a theorem refuted, or a foreign exception", attempt_data, few=3),
)
