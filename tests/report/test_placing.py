"""Labels, ticks, thinning and the layout of graphs: what is decided before anything is drawn."""

from itertools import pairwise
from math import isfinite, log10

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Axis
from ftheta.report.charts.labels import Label, place, spread
from ftheta.report.charts.layering import layout
from ftheta.report.charts.measure import shorten, text_width, wrap
from ftheta.report.charts.scales import make_scale
from ftheta.report.charts.theme import DARK, LIGHT, dark_colours
from ftheta.report.charts.thinning import keep_extremes

wants = st.lists(st.tuples(st.floats(0, 400), st.floats(5, 40)), min_size=1, max_size=9)


@given(wants)
def test_labels_that_fit_neither_overlap_nor_leave_the_frame(
    wanted: list[tuple[float, float]],
) -> None:
    wanted.sort()
    sizes = [size for _, size in wanted]
    middles = spread([at for at, _ in wanted], sizes, 0, 400)
    if sum(sizes) <= 400:
        assert all(
            b - a >= (p + q) / 2 - 1e-6
            for (a, b), (p, q) in zip(pairwise(middles), pairwise(sizes))
        )
        assert middles[0] - sizes[0] / 2 >= -1e-6 and middles[-1] + sizes[-1] / 2 <= 400 + 1e-6


def test_labels_with_room_stay_where_they_belong() -> None:
    assert spread([10.0, 100.0, 200.0], [20, 20, 20], 0, 400) == [10.0, 100.0, 200.0]


def test_two_labels_at_one_place_part_evenly() -> None:
    assert spread([100.0, 100.0], [20, 20], 0, 400) == [90.0, 110.0]


def test_labels_that_do_not_fit_are_counted() -> None:
    labels = [Label(f"curve {i}", (0.0, 10.0 * i), "#000") for i in range(40)]
    placed = place(labels, 100, 0, 200)
    assert sum(len(p.lines) for p in placed) * 15 <= 220
    assert any("more" in line for p in placed for line in p.lines)


def test_text_is_as_wide_as_its_letters() -> None:
    assert text_width("iiii", 12) < text_width("mmmm", 12)
    assert text_width("θₖ", 12) > 0
    assert text_width("bold", 12, bold=True) > text_width("bold", 12)


@given(st.text(max_size=300), st.floats(20, 400))
def test_wrapped_text_fits_its_room(text: str, room: float) -> None:
    for line in wrap(text, 12, room):
        assert text_width(line, 12) <= max(room, text_width("…", 12) + 12)
    assert len(wrap(text, 12, room)) <= 3
    assert text_width(shorten(text, 12, room), 12) <= max(room, text_width("…", 12))


@given(
    st.lists(st.floats(), min_size=1, max_size=6),
    st.sampled_from(["linear", "log", "symlog"]),
    st.booleans(),
)
def test_ticks_stand_on_their_axis_in_order(values: list[float], scale: str, nice: bool) -> None:
    axis = make_scale(Axis("", scale), values, nice=nice)  # type: ignore[arg-type]
    usable = [v for v in values if isfinite(v) and (v > 0 or scale != "log")]
    assert (axis is None) == (not usable)
    if axis is None:
        return
    assert axis.lo < axis.hi
    for most in (2, 5, 12):
        ticks = [t.value for t in axis.ticks(most)]
        assert ticks == sorted(set(ticks))
        room = 1e-9 * (axis.hi - axis.lo)
        assert all(axis.lo - room <= t <= axis.hi * (1 + 1e-9) + room for t in ticks)
    assert all(0 <= axis.fraction(v) <= 1 for v in usable)


@pytest.mark.parametrize("counts", [[1, 2, 3], [3, 3], [0, 2], [-1, 0, 2], [5, 250]])
def test_ticks_of_counts_are_whole_numbers(counts: list[float]) -> None:
    for nice in (False, True):
        axis = make_scale(Axis(), counts, nice=nice)
        assert axis is not None
        ticks = axis.ticks(8)
        assert len(ticks) >= 2 and all(
            t.value == round(t.value) and "." not in t.label for t in ticks
        )


def test_shares_have_ticks_between_0_and_1() -> None:
    axis = make_scale(Axis(), [0, 1])
    assert axis is not None and len(axis.ticks(6)) > 3


def test_logarithmic_ticks_are_powers_of_ten() -> None:
    axis = make_scale(Axis("", "log"), [3e-20, 0.0, -1.0, 5e3])
    assert axis is not None
    ticks = axis.ticks(8)
    assert 4 <= len(ticks) <= 9
    assert all(abs(log10(t.value) - round(log10(t.value))) < 1e-9 for t in ticks)
    assert "10⁻¹⁵" in {t.label for t in ticks}


def test_short_logarithmic_axes_are_labelled_too() -> None:
    axis = make_scale(Axis("", "log"), [3.0, 8.0])
    assert axis is not None
    assert len(axis.ticks(6)) >= 3


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400))
def test_thinning_keeps_the_ends_and_the_extremes(ys: list[float]) -> None:
    n = len(ys)
    kept = keep_extremes(list(range(n)), ys, lambda x: x / max(n - 1, 1), columns=10)
    assert kept == sorted(set(kept)) and len(kept) <= 40
    assert {0, n - 1} <= set(kept)
    assert min(ys) == min(ys[i] for i in kept) and max(ys) == max(ys[i] for i in kept)


nodes = st.integers(1, 12)
edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=24)


@given(nodes, edges)
def test_a_graph_is_laid_out_forward_without_overlap(n: int, pairs: list[tuple[int, int]]) -> None:
    names = [str(i) for i in range(n)]
    forward = [(str(a), str(b)) for a, b in pairs if a < b < n]
    found = layout(names, forward, dict.fromkeys(names, 20.0), gap=5.0)
    level = {node: k for k, row in enumerate(found.layers) for node in row}
    assert set(names) <= set(level)
    assert all(level[a] < level[b] for a, b in forward)
    assert len(found.routes) == len(set(forward))
    for row in found.layers:
        for a, b in pairwise(row):
            assert found.place[b] - found.place[a] >= (size(a) + size(b)) / 2 - 1e-6


def size(node: str) -> float:
    return 5.0 + (0.0 if node.startswith("\0") else 20.0)


def test_crossings_that_can_be_avoided_are() -> None:
    found = layout(["a", "b", "c", "d"], [("a", "d"), ("b", "c")], {}, gap=5.0)
    first, second = found.layers
    assert (first.index("a") < first.index("b")) == (second.index("d") < second.index("c"))


@given(nodes, edges)
def test_a_graph_with_cycles_is_laid_out_nevertheless(n: int, pairs: list[tuple[int, int]]) -> None:
    names = [str(i) for i in range(n)]
    found = layout(names, [(str(a), str(b)) for a, b in pairs], {}, gap=5.0)
    assert {node for row in found.layers for node in row} >= set(names)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_letter_of_a_chart_can_be_read(theme) -> None:
    for colour in (theme.ink, theme.muted, *theme.measured_text, *theme.bounds_text):
        assert contrast(colour, theme.background) >= 4.5, colour


def test_each_colour_has_one_counterpart_in_the_dark() -> None:
    pairs = dark_colours()
    assert pairs[LIGHT.measured[0]] == DARK.measured[0]
    assert pairs[LIGHT.bounds_text[0]] == DARK.bounds_text[0]
    assert len(pairs) == sum(
        len(v) if isinstance(v, tuple) else 1 for v in (getattr(LIGHT, n) for n in LIGHT.__slots__)
    )
