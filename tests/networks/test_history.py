"""The timeline against the bibliography, the catalogue and the theorems that exist."""

from itertools import pairwise
from pathlib import Path

from ftheta.bibliography import references
from ftheta.catalogue import theorems
from ftheta.networks.history import EVENTS, missing, timeline_chart, timeline_table

CATALOGUE = (Path(__file__).parents[1] / "contract" / "catalogue_ids.txt").read_text().split()


def test_every_year_is_that_of_the_source_in_the_bibliography():
    known = references()
    for event in EVENTS:
        assert known[event.source].endswith(str(event.year)), event.what
        assert event.published == event.year


def test_the_order_is_that_of_time():
    assert all(a.year <= b.year for a, b in pairwise(EVENTS))


def test_every_link_is_an_item_of_the_catalogue_and_runs():
    assert all(id in CATALOGUE for event in EVENTS for id in event.theorems)
    assert missing(EVENTS, frozenset(theorems())) == []


def test_a_link_that_leads_nowhere_is_named():
    assert missing(EVENTS[:1], frozenset({"depth-conventions"})) == ["perceptron-xor"]


def test_table_and_chart_have_one_row_an_event():
    years = tuple(float(e.year) for e in EVENTS)
    assert len(timeline_table(EVENTS).rows) == len(timeline_chart(EVENTS, years).series) == len(EVENTS)
