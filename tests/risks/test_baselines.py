"""Simple classifiers against scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from ftheta.risks.baselines import Labelled, nearest_labels, predict_linearly


@pytest.fixture(scope="module")
def rows() -> Labelled:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    return Labelled(rng.normal(size=(60, 5)) + 0.8 * y[:, None] * np.array([1, 0, -1, 0.5, 0]), y)


def test_the_linear_model_of_other_rows(rows):
    test = Labelled(rows.x[:20], rows.y[:20])
    train = Labelled(rows.x[20:], rows.y[20:])
    scaler = StandardScaler().fit(train.x)
    model = RidgeClassifier(alpha=1.0).fit(scaler.transform(train.x), train.y)
    assert np.array_equal(predict_linearly(test, 3, train), model.predict(scaler.transform(test.x)))


def test_neighbours_are_other_rows_and_the_nearest_come_first(rows):
    found = KNeighborsClassifier(4).fit(rows.x, rows.y).kneighbors(return_distance=False)
    assert np.array_equal(nearest_labels(rows, 4), rows.y[found])
    test = Labelled(rows.x[:9] + 0.1, rows.y[:9])
    found = KNeighborsClassifier(3).fit(rows.x, rows.y).kneighbors(test.x, return_distance=False)
    assert np.array_equal(nearest_labels(test, 3, rows), rows.y[found])
