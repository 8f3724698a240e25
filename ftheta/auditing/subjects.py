"""The networks of an audit: read here, and again in every worker."""

import pickle
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ftheta.logic import SubjectError
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
        from ftheta.networks.modules import is_torch  # imports JAX
        from ftheta.subjects.resolve import load  # imports readers of every kind

        def read_data(given: Any, parts: tuple[str, ...] = ()) -> Dataset | None:
            if given is None:
                return None
            return _of(Dataset, load(given, takes=(Dataset,), labels=self.labels, parts=parts))

        data = read_data(self.data) if is_torch(self.model) else None
        example = None if data is None else (1, *data.x.shape[1:])
        network = _of(Network, load(self.model, example, takes=(Network,), until=self.until))
        if self.role:
            network = network.with_role(self.role)
        names = tuple(name for name, _ in network.parts)
        data = data or read_data(self.data, names)
        train = read_data(self.train, names)
        return network.with_data(data).with_train_data(train)


def _of(kind: Any, subject: Any) -> Any:
    if not isinstance(subject, kind):
        raise SubjectError(f"A {kind.__name__} is needed here.", got=f"{subject.name}, a {type(subject).__name__}")
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
