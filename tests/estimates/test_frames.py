import numpy as np

from ftheta.estimates.frames import between


def test_between_states_lie_straight_lines():
    states = np.array([[0.0, 0.0], [1.0, 4.0], [3.0, 2.0]])
    found = between(states, np.array([0.0, 0.25, 1.0, 1.5, 2.0]))
    np.testing.assert_array_equal(found, [[0, 0], [0.25, 1], [1, 4], [2, 3], [3, 2]])
    np.testing.assert_array_equal(between(states[:1], np.array([0.0])), states[:1])
