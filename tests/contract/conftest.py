"""The tests of one theorem follow one another: its default run is made once, its programs are compiled once."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = [
        place
        for place, item in enumerate(items)
        if HERE in item.path.parents and _theorem(item) is not None
    ]
    own = sorted((items[place] for place in places), key=lambda item: str(_theorem(item)))
    for place, item in zip(places, own):
        items[place] = item


def _theorem(item: pytest.Item) -> str | None:
    """The id of the theorem that a test is about, where it is about one."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return parameters["theorem"].id if "theorem" in parameters else None
