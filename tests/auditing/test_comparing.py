"""Two networks side by side: what is compared, and what is said when it was cut short."""

from dataclasses import replace

import numpy as np

from ftheta.auditing import comparing, whole
from ftheta.auditing.facts.difference import _bound_difference
from ftheta.auditing.part import Part
from ftheta.logic import Enclosure, Fact
from ftheta.networks import random_mlp
from ftheta.relu.exact import from_description
from ftheta.subjects import Dataset, Network

from . import planted

NETS = [
    Network.described(random_mlp(np.random.default_rng(k), (2, 3, 1)), name)
    for k, name in enumerate("ab")
]


def compared(monkeypatch, tasks: str = "quick"):
    monkeypatch.setattr(
        whole, "plan_tasks", lambda only, skip: [planted.task(name) for name in tasks.split()]
    )
    return comparing.compare(NETS[1], NETS[0], budget=None, workers=0)


def test_what_is_of_other_rows_says_so(monkeypatch):
    of = lambda net, rng: Part(
        (Fact("size", Enclosure.exact(1), f"on {net.name}"), Fact("depth", Enclosure.exact(2)))
    )
    monkeypatch.setattr(planted, "quick", of)
    notes = {change.name: change.note for change in compared(monkeypatch).changes}
    assert notes == {"size": "before: on a; after: on b", "depth": ""}


def test_a_comparison_that_was_cut_short_names_both_networks_and_keeps_what_is_done(monkeypatch):
    audit = comparing.audit
    monkeypatch.setattr(
        comparing, "audit", lambda *given, **how: replace(audit(*given, **how), interrupted=True)
    )
    both = compared(monkeypatch)
    assert (both.before.subject, both.after.subject) == ("a", "b") and both.after.interrupted
    assert [f.name for s in both.before.sections for f in s.facts] == ["drawn"]
    assert [(s.id, s.reason) for s in both.after.skipped] == [("quick", "interrupted")]
    assert "largest difference of an output" in [f.name for f in both.difference.facts]


def test_a_comparison_that_was_cut_short_at_once_names_both_networks(monkeypatch):
    monkeypatch.setattr(comparing.Run, "go", lambda run, recipes, workers: run.interrupt())
    both = compared(monkeypatch)
    assert (both.before.subject, both.after.subject) == ("a", "b") and both.after.interrupted
    assert [(f.name, f.value) for f in both.difference.facts] == [("not compared", "interrupted")]


def test_nowhere_in_the_box_of_the_data_are_two_networks_further_apart_than_is_certified():
    rng = np.random.default_rng(0)
    one, two = (from_description(random_mlp(rng, (3, 6, 2), "relu", bias=0.5)) for _ in range(2))
    rows = Dataset("rows", rng.uniform(-1, 2, (40, 3)))
    net = replace(Network.described(random_mlp(rng, (3, 6, 2), "relu")), data=rows)
    (fact,) = _bound_difference(one, two, net)
    points = rng.uniform(rows.x.min(0), rows.x.max(0), (2000, 3))
    apart = max(float(np.abs(one(x) - two(x)).max()) for x in points)
    assert isinstance(fact.value, Enclosure)
    assert apart <= fact.value.hi <= 10 * apart
