"""A neuron that is said to have no influence on a cell has none."""

import numpy as np
import pytest
from scipy import sparse

from ftheta.pieces import Polygon, pieces
from ftheta.pieces.questions import ways
from ftheta.pieces.questions.ways import Ways
from ftheta.relu import ReluNetwork
from ftheta.relu.network import Step

SQUARE = Polygon([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])


def with_cancellation(seed: int, thin: bool) -> ReluNetwork:
    """Weights of −1, 0 and 1, some coordinates passed through: ways end, and ways cancel."""
    rng = np.random.default_rng(seed)
    steps = []
    for m, n in ((2, 7), (7, 6), (6, 5), (5, 2)):
        matrix = rng.integers(-1, 2, (n, m)).astype(float)
        rectified = rng.random(n) < 0.8 if n != 2 else np.zeros(2, bool)
        offset = rng.integers(-2, 3, n) / 4 if m == 2 else rng.integers(-1, 2, n) / 8
        steps.append(Step(sparse.csr_array(matrix) if thin else matrix, offset, rectified))
    return ReluNetwork(tuple(steps))


@pytest.mark.parametrize("few", [ways.FEW, 1])
@pytest.mark.parametrize("thin", [True, False])
def test_maps_are_equal_where_the_neuron_between_has_no_influence(monkeypatch, few, thin):
    monkeypatch.setattr(ways, "FEW", few)
    without = 0
    seen = 0
    for seed in range(12):
        cells = pieces(with_cancellation(seed, thin), SQUARE)
        asked = Ways(cells.plan)
        last = len(cells.plan.net.steps)
        for i, j in cells.adjacency[:, :2].tolist():
            p = cells.pattern_number(i)
            q = cells.pattern_number(j)
            if (p ^ q).bit_count() != 1:
                continue
            active = np.array([p >> k & 1 for k in range(cells.plan.neurons)], bool)
            one, two = ([cells.exact_forms.form(last, k, r) for k in range(2)] for r in (p, q))
            seen += one == two
            if not asked.may_lead_out((p ^ q).bit_length() - 1, active):
                assert one == two
                without += 1
    # with few coordinates none is overlooked
    assert 0 < without <= seen and (few == 1 or without == seen)
