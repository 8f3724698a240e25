"""One task on one network: what comes out, whatever happens."""

from collections.abc import Callable, Sequence
from importlib import import_module
from math import inf
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ftheta.lazy import double_precision
from ftheta.logic import Enclosure, Fact, FthetaError, Result, Skipped
from ftheta.running import Assessment, assess, run
from ftheta.subjects import Network

from .facts import ABOUT_DATA
from .network_errors import raised_by_network
from .part import NETWORK, Part
from .plan import Task

Outcome: TypeAlias = Result | Part | Skipped
Done: TypeAlias = Callable[[Task, Outcome], None]
Progress: TypeAlias = Callable[[Sequence[str]], None]
_Found = TypeVar("_Found")
HUGE = 1e60  # inputs beyond which squares of squares are no float64 any more


def perform(
    task: Task, networks: Sequence[Network], seed: int, assessment: Assessment | None = None
) -> Outcome:
    """A theorem on the first network, or a fact of all of them. What does not apply says why and stops nothing else.

    The `assessment` of a theorem is what `look` has found before.
    """

    def perform_found(found: Any) -> Outcome:
        if not task.is_fact:
            return run(found, networks[0], seed=seed, examples=False, assessment=assessment)
        with double_precision(), np.errstate(all="ignore"):
            return found(*networks, np.random.default_rng([seed, 1]))

    return _perform_guarded(task, perform_found, networks)


def stands_in(net: Network) -> bool:
    """Whether this is in the place of a network that cannot be used."""
    return any(which == NETWORK for which, _ in net.data_errors)


def look(task: Task, networks: Sequence[Network], seed: int) -> Outcome | Assessment:
    """The hypotheses of a theorem: why it does not apply, or what was found where it does."""

    def look_at(found: Any) -> Outcome | Assessment:
        assessment = assess(found, networks[0])
        if assessment.applies:
            return assessment
        return run(found, networks[0], seed=seed, examples=False, assessment=assessment)

    return _perform_guarded(task, look_at, networks)


def _perform_guarded(
    task: Task, do: Callable[[Any], _Found], networks: Sequence[Network]
) -> _Found | Skipped:
    """What comes of the task; one fault must not cost the user everything else."""
    if stands_in(networks[0]) and task.id not in ABOUT_DATA:
        return Skipped(task.id, "the network cannot be used", "mend the network and audit again")
    try:
        found = do(getattr(import_module(task.module), task.name))
        lost = isinstance(found, Part) and any(_says_nothing(fact) for fact in found.facts)
        return (_say_overflow(task, networks) if lost else None) or found
    except FthetaError as error:
        got = f" ({error.got})" if error.got is not None else ""
        return Skipped(task.id, f"{error.what.rstrip('.')}{got}", error.remedy)
    except NotImplementedError as error:
        return Skipped(task.id, _first_line(error) or "not implemented for this network")
    except MemoryError:
        return Skipped(
            task.id, "it needs more memory than there is", "fewer rows, or a smaller network"
        )
    except Exception as error:
        own = raised_by_network(error)
        if own:
            return Skipped(
                task.id, f"the network raises an error: {own}", "call it on these rows by hand"
            )
        return _say_overflow(task, networks) or Skipped(
            task.id,
            f"internal error: {type(error).__name__}: {_first_line(error)}",
            "please report it",
        )


def _says_nothing(fact: Fact) -> bool:
    """Whether its number came to be none on the way."""
    value = fact.value
    return isinstance(value, Enclosure) and value.lo == -inf and value.hi == inf


def _say_overflow(task: Task, networks: Sequence[Network]) -> Skipped | None:
    """Why a fact has no numbers, where the data are beyond what float64 can square."""
    sizes = [float(np.abs(net.data.x).max()) for net in networks if net.data is not None]
    largest = max(sizes, default=0.0)
    if largest <= HUGE:
        return None
    reason = f"float64 overflows on inputs of size {largest:.2g}"
    return Skipped(task.id, reason, "scale the data, and with them the network")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0][:200]
