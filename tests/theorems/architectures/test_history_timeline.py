"""The timeline against the bibliography, the catalogue and the theorems that exist."""

from itertools import pairwise
from pathlib import Path

from ftheta.catalogue import theorems
from ftheta.catalogue.bibliography import references
from ftheta.theorems.architectures.history_timeline import EVENTS, timeline_chart, timeline_table

CATALOGUE = (Path(__file__).parents[2] / "contract" / "catalogue_ids.txt").read_text().split()


def test_every_year_is_that_of_the_source_in_the_bibliography():
    known = references()
    for event in EVENTS:
        assert known[event.source].endswith(str(event.year)), event.what
        assert event.year_of_source == event.year


def test_the_order_is_that_of_time():
    assert all(a.year <= b.year for a, b in pairwise(EVENTS))


def test_every_link_is_an_item_of_the_catalogue_and_runs():
    assert all(id in CATALOGUE for event in EVENTS for id in event.theorems)
    assert all(id in theorems() for event in EVENTS for id in event.theorems)


def test_table_and_chart_have_one_row_per_event():
    years = tuple(float(e.year) for e in EVENTS)
    assert (
        len(timeline_table(EVENTS).rows) == len(timeline_chart(EVENTS, years).series) == len(EVENTS)
    )
