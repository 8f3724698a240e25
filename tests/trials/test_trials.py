"""A few cases of every adversarial trial; `make trials` tries as many as fit into an hour."""

import numpy as np
import pytest

from trials import Trial, all_trials

TRIALS = list(all_trials())


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_no_answer_to_a_hard_case_is_wrong(trial: Trial) -> None:
    faults = {number: trial.case(0, number) for number in range(trial.few)}
    assert not {number: fault for number, fault in faults.items() if fault is not None}


def test_trials_have_names_of_their_own() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)


def test_an_exception_is_a_wrong_answer_and_a_case_can_be_repeated() -> None:
    def attempt(rng: np.random.Generator) -> str | None:
        raise ZeroDivisionError(f"{rng.random():.17g}")

    trial = Trial("planted", "never", attempt)
    assert trial.case(0, 3) is not None
    assert trial.case(0, 3) == trial.case(0, 3) != trial.case(0, 4)
