"""Findings: their rules, and thresholds on what an audit knows."""

from dataclasses import replace

import pytest

from ftheta.auditing.facts import FACTS
from ftheta.auditing.judging import judge, sort_findings
from ftheta.auditing.part import RADII_TABLE
from ftheta.auditing.plan import SECTIONS
from ftheta.auditing.rules import BY_ID, RULES, Rule
from ftheta.auditing.thresholds import (
    QUANTITIES,
    exit_code_of,
    parse_threshold,
    project_thresholds,
    read_thresholds,
    require,
)
from ftheta.catalogue import index
from ftheta.catalogue.bibliography import references
from ftheta.logic import Audit, Enclosure, Fact, Met, Section, Severity, Table, UsageError

TABLE = Table(
    RADII_TABLE,
    ("row", "class → becomes", "distance met", "certified radius"),
    (
        (0, "1 → 2", 0.02, 0.01),
        (1, "wrong as it is", 0.0, 0.0),
        (2, "3 → 1", 0.5, 0.1),
        (3, "3 → 1", 0.9, 0.2),
    ),
)
FACTS_KNOWN = (
    Fact("accuracy", Enclosure.equal(0.9), "", "accuracy"),
    Fact("step", Enclosure.between(0.1, 0.3), "", "stable_step"),
    Fact("rows", Enclosure.exact(4), "", "rows"),
    Fact("rows tried", Enclosure.exact(4), "", "rows_tried"),
)
SECTION = Section("robustness", "How robust is it?", FACTS_KNOWN, (TABLE,))


def audit_with(section: Section = SECTION) -> Audit:
    return Audit("net", "Network", "", (), None, (), (), 0, "", "", sections=(section,))


def met(text: str, audit: Audit | None = None) -> Met:
    found = require(audit or audit_with(), [parse_threshold(text)])
    return found.requirements[0].met


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_a_question_a_reason_and_a_source(rule: Rule):
    assert rule.question in SECTIONS and rule.reason and rule.quantity
    assert rule.source == "ours" or rule.source in references()
    limits = [limit for limit in (rule.problem, rule.warning, rule.note) if limit is not None]
    assert (
        limits
        and limits == sorted(limits, reverse=not rule.below)
        and len(set(limits)) == len(limits)
    )
    assert rule.remedy
    assert not rule.theorem or rule.theorem in {
        *index(),
        *(fact.id for fact in FACTS),
        "difference",
    }


def test_a_value_on_a_limit_is_not_beyond_it():
    rule = Rule("r", "data", "q", "because", "ours", problem=0.5, warning=0.1, note=0.0)
    severities = [rule.severity(value) for value in (0.6, 0.5, 0.1, 0.05, 0.0)]
    assert severities == [
        Severity.PROBLEM,
        Severity.WARNING,
        Severity.NOTE,
        Severity.NOTE,
        Severity.GOOD,
    ]
    assert (
        replace(rule, below=True, problem=0.01, warning=None, note=None).severity(0.001)
        is Severity.PROBLEM
    )
    assert "warning above 0.1" in rule.describe(Severity.WARNING)


def test_findings_are_sorted_worst_first_and_causes_before_effects():
    one = Enclosure.exact(1)
    found = [
        *judge("precision", Enclosure.exact(0), "fine"),
        *judge("behind-baseline", one, "behind"),
        *judge("dead-layer", one, "dead"),
        *judge("constant-columns", one, "constant"),
    ]
    assert [f.says for f in sort_findings(tuple(found))] == ["dead", "behind", "constant", "fine"]
    assert judge("constant-columns", Enclosure.exact(0), "none") == ()
    assert found[0].severity is Severity.GOOD and found[0].remedy == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accuracy >= 0.9", Met.MET),
        ("accuracy > 0.9", Met.MISSED),
        ("accuracy == 0.9", Met.MET),
        ("stable_step >= 0.05", Met.MET),
        ("stable_step >= 0.2", Met.UNKNOWN),
        ("stable_step == 0.2", Met.UNKNOWN),
        ("stable_step < 0.1", Met.MISSED),
        ("dead_neurons == 0", Met.UNKNOWN),
        ("problems == 0", Met.MET),
        ("against.flips <= 3", Met.UNKNOWN),
        ("certified_accuracy(linf, 0.05) >= 0.5", Met.MET),
        ("certified_accuracy(linf, 0.15) >= 0.5", Met.MISSED),
        ("attacked_accuracy(linf, 0.15) >= 0.5", Met.MET),
    ],
)
def test_thresholds_are_met_missed_or_unknown(text, expected):
    assert met(text) is expected


def test_of_rows_that_were_drawn_an_interval_decides():
    few = replace(SECTION, facts=(Fact("rows", Enclosure.exact(100), "", "rows"), FACTS_KNOWN[-1]))
    assert met("certified_accuracy(linf, 0.05) >= 0.5", audit_with(few)) is Met.UNKNOWN
    assert met("certified_accuracy(linf, 0.05) >= 0.99", audit_with(few)) is Met.MISSED


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("acuracy >= 0.9", "accuracy"),
        ("accuracy => 0.9", "write `accuracy >= 0.95`"),
        ("accuracy(linf, 0.1) > 1", "radius"),
        ("certified_accuracy > 0.5", "certified_accuracy(linf, 0.01)"),
        ("accuracy > 1e", "no number"),
    ],
)
def test_wrong_thresholds_are_explained(text, part):
    with pytest.raises(UsageError) as error:
        parse_threshold(text)
    assert part in str(error.value)


def test_thresholds_come_from_files(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ftheta.audit]\nrequire = ["accuracy >= 0.5", "problems == 0"]\n'
    )
    (tmp_path / "other.toml").write_text('require = ["ece <= 0.1"]\n')
    (tmp_path / "wrong.toml").write_text('require = "ece <= 0.1"\n')
    assert project_thresholds(tmp_path) == ["accuracy >= 0.5", "problems == 0"]
    assert [t.quantity for t in read_thresholds([str(tmp_path / "other.toml"), "error < 1"])] == [
        "ece",
        "error",
    ]
    assert project_thresholds(tmp_path / "nowhere") == []
    with pytest.raises(UsageError, match="list of thresholds"):
        read_thresholds([str(tmp_path / "wrong.toml")])
    with pytest.raises(UsageError, match="cannot be read"):
        read_thresholds([str(tmp_path / "missing.toml")])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('[tool.ftheta.audit]\nrequires = ["error < 1"]\n', "requires"),
        ("[tool.ftheta.audit]\naccuracy = 0.95\n", "accuracy"),
        ("[tool.ftheta.audit]\n", "no such list"),
        ("tool = 3\n", ""),
        ("[tool.other]\nrequire = 1\n", ""),
    ],
)
def test_a_misspelt_list_of_thresholds_stops_the_build(tmp_path, text, part):
    (tmp_path / "pyproject.toml").write_text(text)
    if not part:  # nothing is asked for here
        assert project_thresholds(tmp_path) == []
        return
    with pytest.raises(UsageError, match=part):
        project_thresholds(tmp_path)


def test_exit_codes_tell_missed_from_unknown():
    audit = audit_with()
    of = lambda *texts: exit_code_of(require(audit, read_thresholds(texts)).requirements)
    assert (
        of("accuracy > 0.5") == 0
        and of("dead_neurons == 0") == 3
        and of("accuracy > 1", "dead_neurons == 0") == 1
    )


def test_every_quantity_is_the_key_of_a_fact():
    import inspect
    from importlib import import_module

    modules = {fact.module for fact in FACTS} | {"ftheta.auditing.facts.difference"}
    source = "".join(inspect.getsource(import_module(module)) for module in modules)
    assert [key for key in QUANTITIES if f'"{key}"' not in source] == ["problems", "warnings"]


def test_what_healthy_networks_show_by_chance_is_no_warning_and_what_costs_little_no_problem():
    """Met among healthy networks: a split with p = 0.009, and a linear model ahead by 12 % of the squared error."""
    shift, larger = BY_ID["shift"], BY_ID["larger-error-than-baseline"]
    severities = [shift.severity(p) for p in (0.001, 0.009, 0.2)]
    assert severities == [Severity.WARNING, Severity.NOTE, Severity.GOOD]
    assert [larger.severity(x) for x in (0.12, 0.3)] == [Severity.WARNING, Severity.PROBLEM]
