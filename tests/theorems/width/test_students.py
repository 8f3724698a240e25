"""Students of a teacher: what a run that ends above the target says, of a spread start and of another."""

from ftheta.catalogue import theorem
from ftheta.logic import Verdict
from ftheta.running import run

TOO_FEW = {"seeds": 4, "steps": 100, "below": 1e-6, "teacher": 8}


def test_few_steps_of_few_neurons_do_not_refute_a_limit():
    assert run(theorem("chizat-bach"), **TOO_FEW).verdict is Verdict.INCONCLUSIVE


def test_a_start_with_one_sign_is_refuted_by_its_run():
    assert run(theorem("chizat-bach"), breaker=True, force=True).verdict is Verdict.REFUTED
