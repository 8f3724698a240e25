"""A claim is about the subject handed in: on two different subjects no claim has the same text and the same numbers."""

from functools import cache
from typing import Any

import pytest

from ftheta.catalogue import theorems
from ftheta.logic import FthetaError, Theorem
from ftheta.running import run
from ftheta.subjects import Network

from .record import record
from .subjects import SUBJECTS

# networks with every change, as they are what an audit is given; the other kinds at night
PAIRS = [
    pytest.param(theorem, kind, id=f"{theorem.id}-{kind.__name__}", marks=[pytest.mark.nightly] * (kind is not Network))
    for theorem in theorems().values()
    for kind in theorem.takes
    if kind in SUBJECTS
]


@cache
def subject(kind: type, which: int) -> Any:
    return SUBJECTS[kind][which]()


def claims(theorem: Theorem, kind: type, which: int) -> list[dict[str, Any]]:
    """The claims on one of the two subjects; none where the theorem does not take a subject of this make."""
    try:
        result = run(theorem, subject(kind, which), examples=False)
    except FthetaError:
        return []
    return record(result)["claims"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("theorem, kind", PAIRS)
def test_no_claim_is_the_same_on_two_subjects(theorem: Theorem, kind: type):
    first, second = (claims(theorem, kind, which) for which in range(2))
    same = [claim["what"] for claim in first if claim in second]
    assert not same or theorem.same_for_all, (
        f"the same on two subjects, so they are not about the subject: {same}. Claims about other things belong into "
        "Evidence(examples=…), what our code makes true into a test; else say why they agree: same_for_all="
    )
