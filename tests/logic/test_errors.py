"""What is suggested for a word that is not known."""

import pytest

from ftheta.logic.errors import suggest

KNOWN = ("mean-field-limit", "mean-field-attention", "unet", "u-turn", "adam")


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("field", "did you mean mean-field-limit or mean-field-attention?"),
        ("turn", "did you mean u-turn?"),
        ("unett", "did you mean unet?"),
        ("zzzz", "ftheta list"),
        ("", "ftheta list"),
    ],
)
def test_a_part_of_a_name_comes_before_a_slip_of_the_pen(word, says):
    assert suggest(word, KNOWN, "ftheta list") == says
