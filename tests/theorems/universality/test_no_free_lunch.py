"""No free lunch, against a plain enumeration."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import SubjectError
from ftheta.theorems.universality.no_free_lunch import enumeration


@pytest.mark.parametrize("name", list(enumeration.LEARNERS))
@pytest.mark.parametrize("train", [[0], [1, 3], [0, 2, 4]])
def test_every_learner_errs_half_the_time_off_its_points(name, train):
    found = enumeration.off_training(
        enumeration.LEARNERS[name], enumeration.all_labellings(6), train
    )
    assert (
        found.average == Fraction(1, 2)
        and len(found.wrong) == 64
        and found.places == 6 - len(train)
    )


@given(
    st.lists(st.integers(0, 1), min_size=16, max_size=16), st.sampled_from([[0], [2, 3], [1, 2, 4]])
)
def test_even_a_learner_made_of_coin_tosses_does(answers, train):
    table = lambda x, y, everywhere: np.array(answers)[
        (np.arange(len(everywhere)) + 3 * int(y.sum())) % 16
    ]
    assert enumeration.off_training(
        table, enumeration.all_labellings(5), train
    ).average == Fraction(1, 2)


def test_the_mean_and_the_worst_risk_are_those_of_a_plain_enumeration():
    m = 2
    n = 4
    points = np.arange(4.0)
    risks = {}
    for f in product((0, 1), repeat=n):
        for sample in product(range(n), repeat=m):
            seen = np.array(sample)
            answer = enumeration.nearest(points[seen], np.array(f)[seen], points)
            risks.setdefault(f, []).append(Fraction(int((answer != np.array(f)).sum()), n))
    mean = sum(sum(r) for r in risks.values()) / (len(risks) * n**m)
    often = max(Fraction(sum(x >= Fraction(1, 8) for x in r), n**m) for r in risks.values())
    assert enumeration.sample_risks(enumeration.nearest, m) == (mean, often)


@pytest.mark.parametrize("name", ["nearest neighbour", "majority", "contrarian"])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_two_bounds_of_shalev_shwartz_and_ben_david_hold(name, m):
    mean, often = enumeration.sample_risks(enumeration.LEARNERS[name], m)
    assert mean >= Fraction(1, 4) and often >= Fraction(1, 7)


def test_a_class_with_structure_can_be_learned():
    found = enumeration.off_training(
        enumeration.nearest, enumeration.thresholds(9), [0, 2, 4, 6, 8]
    )
    assert found.average < Fraction(1, 8)


def test_a_trained_network_learns_what_it_has_seen():
    x = np.array([0.0, 3.0, 6.0, 9.0])
    y = np.array([0, 1, 0, 1])
    assert (enumeration.network(x, y, np.arange(10.0), steps=4000)[[0, 3, 6, 9]] == y).all()


def test_answers_that_are_no_labels_and_empty_splits_are_refused():
    with pytest.raises(SubjectError, match="label 0 or 1"):
        enumeration.off_training(lambda x, y, all: all + 0.5, enumeration.all_labellings(3), [0])
    with pytest.raises(SubjectError, match="Some points"):
        enumeration.off_training(enumeration.nearest, enumeration.all_labellings(3), [0, 1, 2])
    with pytest.raises(SubjectError, match="enumerate"):
        enumeration.sample_risks(enumeration.nearest, 6)
