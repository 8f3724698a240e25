"""Subjects of other kinds are read as one that a theorem is about, before its hypotheses are checked."""

import numpy as np
import pytest

from ftheta.catalogue import theorem
from ftheta.logic import (
    Adapter,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Status,
    SubjectError,
    Verdict,
    hypothesis,
)
from ftheta.logic import theorem as make_theorem
from ftheta.networks.description import random_mlp
from ftheta.running import assess, run
from ftheta.subjects import Dataset, Measure, Network
from ftheta.subjects.problems import has_a_loss, training_of_loss
from ftheta.training.study import affordable

seen = list[Measure]()


@hypothesis("rows", remedy="give rows", name="rows")
def three_rows(data: Dataset) -> Finding:
    return Finding.decide(len(data) == 3, f"{len(data)} rows", "counted")


@hypothesis("a mean of 0", remedy="centre it", name="centred")
def centred(law: Measure) -> Finding:
    seen.append(law)
    return Finding.decide(abs(law.atoms.mean()) < 1e-12, "looked at", "in float64")


@make_theorem(
    title="A law",
    sources=(),
    assumes=(centred,),
    on=lambda rng: Measure.empirical("built in", np.array([[-1.0], [1.0]])),
    adapters=(Adapter(Dataset, lambda data: Measure.empirical(data.name, data.x), three_rows),),
)
def law(subject: Measure, rng: np.random.Generator) -> Evidence:
    """A law."""
    seen.append(subject)
    return Evidence((Identity("atoms", Enclosure.exact(len(subject.atoms)), Enclosure.exact(3)),))


def test_the_theorem_and_its_hypotheses_see_one_adapted_subject_and_the_result_names_the_one_handed_in():
    seen.clear()
    data = Dataset("mine", np.array([[-1.0], [0.0], [1.0]]))
    result = run(law, data)
    assert law.takes == (Measure, Dataset) and result.verdict is Verdict.CERTIFIED
    assert [check.name for check in result.checks] == ["rows", "centred"]
    assert len(seen) == 2 and seen[0] is seen[1] and isinstance(seen[0], Measure)
    assert (result.provenance.subject, result.provenance.subject_kind) == ("mine", "Dataset")
    assert result.provenance.subject_hash == data.fingerprint


def test_without_what_the_adapter_needs_nothing_else_is_asked():
    seen.clear()
    result = run(law, Dataset("short", np.zeros((2, 1))))
    assert result.verdict is Verdict.INAPPLICABLE and not seen
    assert result.summary == "rows: 2 rows"
    assert [check.finding.awaits for check in result.checks] == ["", "rows"]
    assert not assess(law, Dataset("short", np.zeros((2, 1)))).applies


def test_a_subject_of_the_theorems_own_kind_is_left_as_it_is():
    seen.clear()
    given = Measure.empirical("given", np.array([[-1.0], [0.0], [1.0]]))
    assert [check.name for check in run(law, given).checks] == ["centred"] and seen == [
        given,
        given,
    ]


def network(hidden: str) -> Network:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 2))
    return Network.described(random_mlp(rng, (2, 4, 1), hidden), hidden).with_data(
        Dataset("rows", x, x[:, 0])
    )


def test_the_loss_of_a_network_is_an_objective_over_its_rows():
    net = network("tanh")
    found = training_of_loss(net)
    assert net.data is not None
    predicted = np.array([net(row)[0] for row in net.data.x])
    assert float(found.objective(found.start)) == pytest.approx(
        np.mean((predicted - net.data.x[:, 0]) ** 2)
    )
    assert found.rows == 12 and found.least == 0.0 and found.start.size == net.parameters


@pytest.mark.parametrize("hidden, status", [("relu", Status.FAILED), ("tanh", Status.PROVED)])
def test_a_loss_with_kinks_is_not_smooth(hidden, status):
    result = run(theorem("nonconvex-stationarity"), network(hidden), steps=5, examples=False)
    assert result.checks[0].finding.status is status
    assert (result.verdict is Verdict.INAPPLICABLE) == (status is Status.FAILED)


def test_a_forced_run_without_a_loss_says_what_is_missing():
    with pytest.raises(SubjectError, match="targets that fit"):
        run(
            theorem("adam"),
            Network.described(random_mlp(np.random.default_rng(0), (2, 3, 1))),
            force=True,
        )


def test_a_function_without_parameters_is_told_so():
    bare = Network.of(lambda x: x.sum(), example=(2,), name="a sum")
    bare = bare.with_data(Dataset("rows", np.eye(2), np.ones(2)))
    assert has_a_loss.check(bare).note == "the network has no parameters"
    assert affordable(0, 2, 7) == 7
