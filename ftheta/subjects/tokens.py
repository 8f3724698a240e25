"""Tokens and attention layers among the subjects: rows of data, clouds of points, networks with attention in them."""

from functools import lru_cache

import numpy as np

from ftheta.graph import GraphError
from ftheta.limits.tokens import clouds
from ftheta.limits.tokens.own_layer import Layer, layer_evidence, read_layer
from ftheta.logic import Evidence, Finding, SubjectError
from ftheta.networks.transformers.heads import Attention, attention_in

from .dataset import Dataset
from .kinds import Measure
from .network import Network


@lru_cache(maxsize=2)  # hypotheses and evidence ask for the same
def attention_of(net: Network) -> Attention | None:
    """The attention in a network; None where its graph cannot be laid out."""
    try:
        return attention_in(net.apply, net.params, net.example)
    except GraphError:
        return None


@lru_cache(maxsize=2)
def layer_of(net: Network) -> Layer | str:
    """The one layer of attention that a network is, or why it is none."""
    found = attention_of(net)
    return "its graph cannot be laid out" if found is None else read_layer(found, net.input_shape)


def own_matrices(net: Network) -> Finding:
    """Whether the network is one layer whose tokens can be followed, in place of $Q=K=V=I$."""
    layer = layer_of(net)
    if isinstance(layer, str):
        return Finding.failed(layer)
    return Finding.assumed(f"{len(layer.heads)} heads read off the network: energy and meeting are not claimed")


def flow_of_layer(net: Network, beta: float, kind: str, until: float) -> Evidence:
    layer = layer_of(net)
    if isinstance(layer, str):
        return Evidence((), summary=layer)
    return layer_evidence(tokens_of(net).atoms, layer, beta, kind, until)


def tokens_of(subject: Measure | Dataset | Network) -> Measure:
    """The tokens of a cloud; the rows of data, and of a network its first row of data or random ones, made unit
    vectors as layer norm does."""
    if isinstance(subject, Measure):
        return _few(subject)
    if isinstance(subject, Dataset):
        rows = subject.x.reshape(len(subject), -1)
    elif subject.data is not None:
        rows = subject.data.x[0].reshape(-1, subject.input_shape[-1])
    else:
        size, dimension = int(np.prod(subject.input_shape[:-1])), subject.input_shape[-1]
        rows = clouds.start("uniform", np.random.default_rng(0), size, dimension)
    rows = rows.astype(np.float64)
    return _few(Measure.empirical(subject.name, clouds.unit(rows[np.linalg.norm(rows, axis=1) > 0])))


def _few(cloud: Measure) -> Measure:
    n = len(cloud.atoms)
    if not 2 <= n <= clouds.MOST_TOKENS:
        raise SubjectError(f"2 to {clouds.MOST_TOKENS} tokens are followed.", where=cloud.name, got=n)
    return cloud
