"""Rows of data as pictures."""

import numpy as np
import pytest

from ftheta.auditing.facts.pictures import draw_rows
from ftheta.report.vega import vega


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 8, 8), (1, 4, 12)])
@pytest.mark.parametrize("count", [1, 5, 12])
@pytest.mark.parametrize("lines", [1, 2])
def test_every_image_is_shown_once_with_square_pixels(shape, count, lines):
    rows = tuple(
        np.stack([np.full(shape, 1.0 + i + 100 * k) for i in range(count)]) for k in range(lines)
    )
    (chart,) = draw_rows("rows", shape, rows)
    values = np.asarray(chart.values)
    height, width = values.shape
    assert chart.extent == (0, width, 0, height)
    assert max(width / height, height / width) <= 1.6
    for k in range(lines):
        for i in range(count):
            where = np.argwhere(values == 1.0 + i + 100 * k)
            blank = 1.0  # of the first image, whose colour the ground has too
            size = shape[-2:] if 1.0 + i + 100 * k != blank else (height, width)
            assert np.ptp(where, axis=0).tolist() <= [size[0] - 1, size[1] - 1]
            assert len(where) >= shape[-2] * shape[-1]


def test_the_second_line_is_below_the_first():
    above, below = np.full((12, 1, 8, 8), 2.0), np.full((12, 1, 8, 8), 3.0)
    above[0, 0, 0, 0] = 0.0
    (chart,) = draw_rows("rows", (1, 8, 8), (above, below))
    top_down = np.asarray(chart.values)[::-1]
    column = [v for v in top_down[:, 4] if v]
    assert [v for v, before in zip(column, [0.0, *column]) if v != before] == [2.0, 3.0] * (
        len(column) // 16
    )


def test_images_are_drawn_in_grey_without_axes():
    bright = np.zeros((1, 1, 8, 8))
    bright[0, 0, 3, 3] = 1.0
    (chart,) = draw_rows("rows", (1, 8, 8), (bright,))
    spec = vega(chart, title=False)
    (image,) = spec["marks"]
    place = image["encode"]["enter"]
    assert "axes" not in spec and image["type"] == "image"
    assert place["width"]["value"] == pytest.approx(place["height"]["value"])  # 10 × 10 pixels
    assert place["width"]["value"] <= spec["width"] and place["height"]["value"] <= spec["height"]
    assert np.asarray(chart.values).argmax() == 10 * (10 - 1 - 4) + 4
