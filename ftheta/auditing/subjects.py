"""The networks of an audit: read here, and again in every worker."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import SubjectError, UnknownSubjectError
from ftheta.subjects import Dataset, Network


@dataclass(frozen=True)
class Recipe:
    """What a network is made from: words, or a subject itself; `labels` and `until` as for `ftheta.load`; `train` are
    the rows it was trained on; `role` as for `ftheta.Network`.

    `network` is made once in a process; to another process the recipe goes without it.
    """

    model: Any
    data: Any = None
    labels: str | None = None
    until: str | None = None
    train: Any = None
    role: str = ""

    @property
    def in_words(self) -> bool:
        given = (self.model, *(part for part in (self.data, self.train) if part is not None))
        return all(isinstance(part, (str, Path)) for part in given)

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe, (self.model, self.data, self.labels, self.until, self.train, self.role)

    @cached_property
    def network(self) -> Network:
        """The network with its data. Data that cannot be used are left out, and the network says why; words that name
        nothing are an error."""
        from ftheta.networks.modules import is_torch  # imports JAX
        from ftheta.subjects.resolve import load  # imports readers of every kind

        example = self._example if is_torch(self.model) else None
        network = _of(Network, load(self.model, example, takes=(Network,), until=self.until))
        if self.role:
            network = network.with_role(self.role)
        network = _add_data(
            network, "data", lambda: network.with_data(self._read_data(self.data, network))
        )
        return _add_data(
            network,
            "training data",
            lambda: network.with_train_data(self._read_data(self.train, network)),
        )

    @property
    def _example(self) -> tuple[Any, ...] | None:
        """The shape of one input, with its batch axis: a module of torch does not say it, the rows of the data do. A
        dictionary of arrays has one for each argument of its `forward`: then the first row of each."""
        if isinstance(self.data, dict):
            names = [name for name in signature(self.model.forward).parameters if name in self.data]
            if len(names) > 1:
                return tuple(np.asarray(self.data[name])[:1] for name in names)
        data = self._read_data(self.data)
        return None if data is None else (1, *data.x.shape[1:])

    def _read_data(self, given: Any, network: Network | None = None) -> Dataset | None:
        from ftheta.subjects.resolve import load

        if given is None:
            return None
        names = () if network is None else tuple(name for name, _ in network.parts)
        return _of(Dataset, load(given, takes=(Dataset,), labels=self.labels, parts=names))


def _add_data(network: Network, which: str, add: Callable[[], Network]) -> Network:
    """The network with data, or with the reason why they cannot be its data."""
    try:
        return add()
    except UnknownSubjectError:
        raise
    except SubjectError as error:
        return replace(network, data_errors=(*network.data_errors, (which, error)))


def _of(kind: Any, subject: Any) -> Any:
    if not isinstance(subject, kind):
        got = f"{subject.name}, a {type(subject).__name__}"
        raise UnknownSubjectError(f"A {kind.__name__} is needed here.", got=got)
    return subject


def pickle_networks(networks: tuple[Network, ...]) -> bytes | None:
    """The networks for another process, or None where they do not pickle. Functions without a name need cloudpickle."""
    try:
        import cloudpickle as pickler  # type: ignore[import-not-found]
    except ImportError:
        pickler = pickle
    try:
        return pickler.dumps(networks)
    except Exception:  # whatever a foreign object raises
        return None


def unpickle_networks(data: bytes) -> tuple[Network, ...]:
    """The networks that were packed."""
    return tuple(part.network if isinstance(part, Recipe) else part for part in pickle.loads(data))
