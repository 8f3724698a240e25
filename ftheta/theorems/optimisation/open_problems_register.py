"""What is not known: open problems, each with a proxy that can be measured."""

from typing import Annotated

import numpy as np

from ftheta.limits.proxies import CHOICES, adam_on_heavy_tails, adam_on_network, entries_for, zipf_words
from ftheta.limits.register import register_evidence
from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.spectra.slices import Told
from ftheta.subjects import Dataset, Network

BUILT_IN = "words of Zipf's law"


def words(rng: np.random.Generator) -> Dataset:
    return Dataset(BUILT_IN, *zipf_words(rng))


def classes_of(data: Dataset) -> np.ndarray | None:
    """Whole numbers from 0, one a row; None where the labels are no classes."""
    if data.y is None or data.y[0].size != 1 or not (data.y == np.floor(data.y)).all() or data.y.min() < 0:
        return None
    return data.y.reshape(len(data)).astype(int)


@hypothesis("the proxies stand for the problems", remedy="none: this is evidence, not a theorem")
def proxies_stand(subject: Dataset | Network) -> Finding:
    return Finding.assumed("small networks, few seeds, short runs")


@theorem(
    title="Register of open problems",
    sources=("seed 0", "seed 3", "seed 4", "chizat2018", "kunstner2024", "lyu2024", "gunasekar2017"),
    assumes=(proxies_stand,),
    on=words,
    unbreakable="an open problem has no statement that could be broken: a proxy is consistent or inconclusive",
    presets={"textbook": {}, "one problem": {"problem": "grokking", "seeds": 24}},
    audited=False,
)
def open_problems_register(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    problem: Annotated[str, Knob(says="which entry to measure", choices=CHOICES)] = "all",
    seeds: Annotated[int, Knob(4, 32, "independent runs of every proxy", "S", log=True, least=2, most=200)] = 8,
) -> Evidence:
    r"""Not known: why descent on $\mathcal L(\theta)$ works; the implicit bias of architectures; of optimisers; why
    Adam helps transformers; a mean-field theory of transformers; how many neurons $q<\infty$ the theorem of Chizat and
    Bach needs; what grokking is; learning in the limit of infinite depth. Each entry is a proxy with a protocol and
    seeds: one number $e_s$ a seed, expected $\mathbb E\,e_s<0$. Its status is evidence, not theorem: consistent if the
    95 % interval of the mean is negative, else inconclusive, never proved or refuted."""
    own = None
    if isinstance(subject, Network):
        told = Told.of(subject)
        own = adam_on_network(subject, told.x, told.y, told.loss) if told.loss else None
    elif subject.name != BUILT_IN and (labels := classes_of(subject)) is not None:
        own = adam_on_heavy_tails(subject.x.reshape(len(subject), -1)[:512], labels[:512])
    return register_evidence(entries_for(problem, own, subject.name), int(rng.integers(2**31)), seeds)
