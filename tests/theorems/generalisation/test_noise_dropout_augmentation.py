"""Generated rows: the formulas against least squares on all rows together."""

from fractions import Fraction

import numpy as np
import pytest

from ftheta.theorems.generalisation.noise_dropout_augmentation import generated


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("own", [False, True])
def test_drawn_excess_risks_are_those_of_least_squares_on_all_rows_together(copies, own):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(12, 3))
    w = rng.normal(size=3)
    wrong = rng.normal(size=3) / 4
    stacked = np.concatenate([X] * (1 + copies))
    risks = []
    for _ in range(3000):
        real = X @ w + rng.normal(size=12)
        v = np.linalg.lstsq(X, real, rcond=None)[0] if own else w + wrong
        made = np.concatenate([X @ v + rng.normal(size=12) for _ in range(copies)])
        fit = np.linalg.lstsq(stacked, np.concatenate([real, made]), rcond=None)[0]
        risks.append(np.mean((X @ (fit - w)) ** 2))
    off = float(np.mean((X @ wrong) ** 2))
    formula = (
        generated.excess_of_own(3, 12, 1.0, copies)
        if own
        else generated.excess(3, 12, 1.0, copies, off)
    )
    assert abs(np.mean(risks) - formula) < 4.5 * np.std(risks) / np.sqrt(len(risks))
    shift = None if own else X @ wrong
    drawn = generated.draw_excess(X, shift, copies, rng)
    spread = np.std(drawn) / np.sqrt(len(drawn)) + np.std(risks) / np.sqrt(len(risks))
    assert abs(drawn.mean() - np.mean(risks)) < 4.5 * spread


def test_the_threshold_of_a_gain_is_where_the_formula_says():
    c = Fraction(3)
    off = (1 + c) / c
    assert generated.excess(1, 1, 1, c, off) == 1
    assert generated.excess(1, 1, 1, c, off * Fraction(99, 100)) < 1
