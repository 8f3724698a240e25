"""How many examples a property is tried on: as many as a test states with every change, ten times as many at night."""

from typing import Any

from hypothesis import settings

WITH_EVERY_CHANGE = 40  # examples where a test does not say how many
AT_NIGHT = 10 * WITH_EVERY_CHANGE


def max_examples(count: int, **others: Any) -> settings:
    """Settings of a property: `count` examples, scaled by the profile in use; `others` as Hypothesis has them."""
    scale = settings().max_examples / WITH_EVERY_CHANGE
    return settings(max_examples=round(count * scale), **others)
