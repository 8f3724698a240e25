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
    """What a network is made from: words, or a subject itself; `labels` and `until` as for `ftheta.load`.

    `network` is made once in a process; to another process the recipe goes without it.
    """

    model: Any
    data: Any = None
    labels: str | None = None
    until: str | None = None

    @property
    def in_words(self) -> bool:
        return isinstance(self.model, (str, Path)) and (self.data is None or isinstance(self.data, (str, Path)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe, (self.model, self.data, self.labels, self.until)

    @cached_property
    def network(self) -> Network:
        from ftheta.subjects.resolve import load  # imports readers of every kind

        network = _of(Network, load(self.model, takes=(Network,), until=self.until))
        if self.data is None:
            return network
        return network.with_data(_of(Dataset, load(self.data, takes=(Dataset,), labels=self.labels)))


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
