"""The five models of `examples.generative`, trained for a moment."""

import numpy as np
import pytest

from examples.generative.__main__ import TRAINERS, write_page


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TRAINERS)
def test_a_model_learns_and_its_pictures_are_written(name, tmp_path):
    model = TRAINERS[name](steps=200)
    assert np.isfinite(model.losses).all()
    # which plays a game: its loss need not fall
    assert model.last < model.losses[:20].mean() or name == "wgan"
    assert model.last > min(model.floors.values()) - 0.1 * abs(min(model.floors.values()))
    write_page([model], tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("<svg") >= 3
