"""The number of threads of BLAS while a theorem runs."""

from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from ftheta.catalogue import theorem
from ftheta.logic import Evidence
from ftheta.running import run


def threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_a_theorem_runs_in_one_thread_and_leaves_their_number_as_it_was(error):
    seen = []

    def measure(subject, rng: np.random.Generator) -> Evidence:
        seen.append(threads())
        if error:
            raise error
        return Evidence(())

    with threadpool_limits(2, "blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread")
        if error:
            with pytest.raises(error):
                run(replace(theorem("hat-function"), measure=measure))
        else:
            run(replace(theorem("hat-function"), measure=measure))
        assert threads() == {2}
    assert seen == [{1}]
