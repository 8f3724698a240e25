"""A memory that runs down its energy to the nearest pattern it holds, until it holds too many."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.networks.hopfield.memory import MOST_NEURONS, as_signs, random_patterns
from ftheta.networks.hopfield.study import CAPACITY, hopfield_evidence
from ftheta.subjects import Dataset

VALUES = ("±1", "−1, 0, 1")
ROWS = 1000  # patterns stored, at most


def patterns(
    rng: np.random.Generator,
    *,
    bits: Annotated[int, Knob(4, 400, "neurons", "N", log=True, least=2, most=2000)] = 200,
    stored: Annotated[int, Knob(1, 60, "patterns stored", "p", log=True, most=500)] = 10,
    values: Annotated[str, Knob(says="what the entries may be", choices=VALUES)] = VALUES[0],
) -> Dataset:
    x = random_patterns(rng, stored, bits)
    if values != VALUES[0]:
        x[:, ::3] = 0
    return Dataset(f"{stored} patterns of {bits} random bits", x)


def with_zeros(rng: np.random.Generator) -> Dataset:
    return patterns(rng, stored=1, values=VALUES[1])


def flat(data: Dataset) -> np.ndarray:
    return data.x[:ROWS].reshape(min(len(data), ROWS), -1)


@hypothesis(r"patterns $\xi^\mu\in\{\pm1\}^N$", remedy="give entries of two values, for instance x > threshold")
def two_values(data: Dataset) -> Finding:
    x = flat(data)
    values, note = len(np.unique(x)), f"{len(x):,} patterns of {x.shape[1]:,} entries"
    fits = as_signs(x) is not None and x.shape[1] <= MOST_NEURONS
    return Finding.decide(fits, f"{note} with {values:,} different values", "counted", basis=Basis.EXACT)


@theorem(
    title="Hopfield's memory",
    sources=("seed 2", "hopfield1982", "amit1985"),
    assumes=(two_values,),
    on=patterns,
    breaks_on=with_zeros,
    presets={
        "textbook": {},
        "one pattern of four bits": {"bits": 4, "stored": 1},
        "at the edge": {"bits": 200, "stored": 28},
        "overloaded": {"bits": 200, "stored": 60},
        "large": {"bits": 600, "stored": 60, "neurons": 300},
        "broken on purpose": {"values": VALUES[1]},
    },
)
def hopfield(
    data: Dataset,
    rng: np.random.Generator,
    *,
    corruption: Annotated[float, Knob(0.0, 0.5, "part of the bits that are turned at the start", "c")] = 0.1,
    load: Annotated[float, Knob(0.05, 0.3, "load of the first-step error", "p/N", least=0.01, most=2.0)] = CAPACITY,
    neurons: Annotated[int, Knob(50, 600, "neurons of the recall curve", "N′", log=True, most=1000)] = 200,
    trials: Annotated[int, Knob(20, 2000, "random memories whose stored bits are tested", "T", log=True)] = 200,
) -> Evidence:
    r"""Let $W=\frac1N\sum_{\mu\le p}\xi^\mu\xi^{\mu\top}$ without its diagonal. Turning one neuron at a time towards
    $\operatorname{sign}(Ws)_i$ lowers $E(s)=-\frac12s^\top Ws$ by at least $\frac2N$, so that it ends, at a state that
    no neuron leaves. If $s$ is such a state, so is $-s$; $\pm\xi^\mu$ are such states if
    $\sum_{\nu\ne\mu}|\langle\xi^\nu,\xi^\mu\rangle|\le N-p$. For random patterns a stored bit is unstable with a
    probability that tends to $$\Phi\big(-\sqrt{N/p}\big)\qquad(N\to\infty,\ p/N\text{ fixed}),$$
    and recall breaks down near $p\approx0.138\,N$."""
    x = flat(data)
    signs = as_signs(x)
    if signs is None and not (x == np.round(x)).all():
        return Evidence((), summary="the patterns are no whole numbers: there is no state to recall")
    return hopfield_evidence(x.astype(float) if signs is None else signs, corruption, load, neurons, trials, rng)
