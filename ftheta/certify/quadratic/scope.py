"""Which networks and which questions semidefinite certificates are sought for."""

from ftheta.certify.questions import Case
from ftheta.relu.reading.products import QuadraticNetwork

MOST_VARIABLES = 40  # inputs and neurons
MOST_PRODUCTS = 256  # of variables, in the program


def fits(quadratic: QuadraticNetwork) -> bool:
    """Whether parts have few enough variables."""
    neurons = sum(int(step.rectified.sum()) for step in quadratic.network.steps)
    return quadratic.inputs + neurons <= MOST_VARIABLES


def takes(case: Case) -> bool:
    """Whether the rows are about outputs, and the set is a box."""
    return case.ball is None and not any(row.inputs for rows in case.unsafe for row in rows)
