"""A claim is about the subject handed in: on two different subjects no claim has the same text and the same numbers."""

from functools import cache
from typing import Any

import pytest

from ftheta.catalogue import theorems
from ftheta.logic import FthetaError, Theorem
from ftheta.running import run
from ftheta.subjects import Network

from .record import record
from .studies import SLOW_ON_NETWORKS
from .subjects import SUBJECTS


def is_quick(theorem: Theorem, kind: type) -> bool:
    """Networks with every change, as an audit is given them; other kinds, and what takes long, at night."""
    return kind is Network and theorem.id not in SLOW_ON_NETWORKS


PAIRS = [
    pytest.param(
        theorem,
        kind,
        id=f"{theorem.id}-{kind.__name__}",
        marks=[pytest.mark.nightly] * (not is_quick(theorem, kind)),
    )
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


@cache
def same_claims(id: str, kind: type) -> tuple[str, ...]:
    """The claims with the same text and the same numbers on both subjects."""
    first, second = (claims(theorems()[id], kind, which) for which in range(2))
    return tuple(claim["what"] for claim in first if claim in second)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("theorem, kind", PAIRS)
def test_no_claim_is_the_same_on_two_subjects(theorem: Theorem, kind: type):
    known = tuple(theorem.same_for_all)
    unexplained = [claim for claim in same_claims(theorem.id, kind) if not claim.startswith(known)]
    assert not unexplained, (
        f"the same on two subjects, so they are not about the subject: {unexplained}. Claims about other things belong "
        "into Evidence(examples=…), what our code makes true into a test; else say why each agrees: same_for_all="
    )


@pytest.mark.nightly
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "theorem", [t for t in theorems().values() if t.same_for_all], ids=lambda t: t.id
)
def test_every_reason_is_about_a_claim_that_is_the_same(theorem: Theorem):
    same = [
        claim
        for kind in theorem.takes
        if kind in SUBJECTS
        for claim in same_claims(theorem.id, kind)
    ]
    idle = [
        beginning
        for beginning in theorem.same_for_all
        if not any(c.startswith(beginning) for c in same)
    ]
    assert not idle, (
        f"differ on two subjects, or are not claimed: take them out of same_for_all: {idle}"
    )
