"""Tokens and attention layers among the subjects: rows of data, clouds of points, networks with attention in them."""

from functools import lru_cache

import numpy as np

from ftheta.graph.errors import GraphError
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError
from ftheta.logic.hypotheses import Finding, hypothesis
from ftheta.networks.transformers.heads import Attention, attention_in
from ftheta.particles.tokens import clouds

from .dataset import Dataset
from .kinds import Measure
from .network import Network


@lru_cache(maxsize=2)  # hypotheses and evidence need the same
def attention_of(net: Network) -> Attention | None:
    """The attention in a network; None where its graph cannot be laid out."""
    try:
        return attention_in(net.apply, net.params, net.example)
    except GraphError:
        return None


@hypothesis(
    "unit tokens of equal weight",
    remedy="normalise the tokens, give each the weight 1/n and spread 0",
)
def tokens_on_the_sphere(subject: Measure | Dataset | Network) -> Finding:
    """Whether all atoms $x_i$ have $|x_i|=1$ and one weight, to 12 digits."""
    cloud = tokens_of(subject)
    off = float(np.abs(np.linalg.norm(cloud.atoms, axis=1) - 1).max())
    uneven = float(np.ptp(cloud.weights)) + cloud.spread
    note = f"norms differ from 1 by {off:.3g}; weights differ and spread by {uneven:.3g}; required: at most 1e-12"
    return Finding.decide(
        max(off, uneven) <= 1e-12, note, "every norm and weight in float64", Enclosure.equal(off)
    )


def tokens_of(subject: Measure | Dataset | Network) -> Measure:
    """The tokens of a cloud; the rows of data, and of a network its first row of data or random ones, made unit
    vectors as layer norm does."""
    if isinstance(subject, Measure):
        return _limit_size(subject)
    if isinstance(subject, Dataset):
        rows = subject.x.reshape(len(subject), -1)
    elif subject.data is not None:
        rows = subject.data.x[0].reshape(-1, subject.input_shape[-1])
    else:
        size = int(np.prod(subject.input_shape[:-1]))
        dimension = subject.input_shape[-1]
        rows = clouds.start("uniform", np.random.default_rng(0), size, dimension)
    rows = rows.astype(np.float64)
    return _limit_size(
        Measure.empirical(subject.name, clouds.unit(rows[np.linalg.norm(rows, axis=1) > 0]))
    )


def _limit_size(cloud: Measure) -> Measure:
    n = len(cloud.atoms)
    if not 2 <= n <= clouds.MOST_TOKENS:
        raise SubjectError(
            f"2 to {clouds.MOST_TOKENS} tokens are followed.", where=cloud.name, got=n
        )
    return cloud
