"""Results with everything a result can hold, numbers that are not finite included."""

from dataclasses import fields, is_dataclass
from math import isnan

from hypothesis import strategies as st

from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Basis,
    Check,
    Converges,
    Curves,
    Dag,
    Diagram,
    Enclosure,
    Exists,
    Finding,
    Heatmap,
    Histogram,
    Identity,
    Judged,
    Judgement,
    Layer,
    Motion,
    Points,
    Provenance,
    Rate,
    Regions,
    Result,
    Series,
    Status,
    Table,
    Verdict,
    Vertex,
    Witness,
)
from ftheta.logic.result import Audit, Fact, Request, Section, Skipped
from ftheta.logic.severity import AuditFinding, Met, Requirement, Severity

floats = st.floats(width=64)  # NaN and both infinities among them
texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["inf", "-inf", "nan", "\\inf", "\\\\nan", "θ_k", "<script>"]),
)


def tuples(of, most=4):
    return st.lists(of, max_size=most).map(tuple)


@st.composite
def enclosures(draw, basis=st.sampled_from(list(Basis))) -> Enclosure:
    lo, hi = sorted(draw(st.tuples(*(st.floats(allow_nan=False),) * 2)))
    known = draw(basis)
    samples = draw(st.integers(1, 10**9)) if known is Basis.SAMPLED else None
    confidence = draw(st.none() | st.floats(0.5, 0.999)) if samples else None
    return Enclosure(lo, hi, known, samples, confidence)


sound = enclosures(basis=st.sampled_from([Basis.EXACT, Basis.FLOAT]))
coordinates = st.dictionaries(texts, st.one_of(floats, texts, tuples(floats)), max_size=3)
witnesses = st.none() | st.builds(Witness, coordinates, sound, sound, texts)
claims = st.one_of(
    st.builds(AtMost, texts, enclosures(), enclosures(), floats, witnesses, floats, floats),
    st.builds(Identity, texts, enclosures(), enclosures(), witnesses, floats, floats),
    st.builds(
        Rate, texts, floats, enclosures(), tuples(floats), tuples(floats), floats, st.booleans()
    ),
    st.builds(Converges, texts, enclosures(), tuples(enclosures()), tuples(floats), floats),
    st.builds(Exists, texts, coordinates, enclosures(), enclosures(), floats, floats),
)
judgements = st.builds(
    Judgement, st.sampled_from(list(Verdict)), texts, st.booleans(), st.booleans()
)
judged = st.builds(Judged, claims, judgements)

axes = st.builds(Axis, texts, st.sampled_from(["linear", "log", "symlog"]))
roles = st.sampled_from(["measured", "bound", "reference", "other"])
marks = st.sampled_from(["line", "points", "step"])
columns = tuples(floats, 6)
series = st.builds(Series, texts, columns, columns, roles, marks, columns, columns)
corners = tuples(st.tuples(floats, floats))
links = tuples(tuples(st.integers(-3, 9)))
rows = tuples(columns)
motions = st.builds(
    Motion,
    texts,
    axes,
    axes,
    columns,
    rows,
    rows,
    tuples(texts),
    rows,
    tuples(corners),
    links,
    *(st.booleans(),) * 2,
    texts,
)
diagrams = st.builds(Diagram, texts, tuples(st.builds(Layer, texts, st.integers(0, 10**6), texts)))
curves = st.builds(Curves, texts, axes, axes, tuples(series))
histograms = st.builds(Histogram, texts, axes, axes, columns, columns, tuples(series, 2))
charts = st.one_of(
    curves,
    st.builds(Bars, texts, axes, tuples(texts), tuples(texts), tuples(columns)),
    st.builds(Heatmap, texts, axes, axes, tuples(columns), st.tuples(*(floats,) * 4), texts),
    histograms,
    st.builds(Regions, texts, axes, axes, tuples(corners), columns, texts),
    st.builds(
        Regions,
        texts,
        axes,
        axes,
        tuples(corners),
        columns,
        texts,
        st.just(()),
        tuples(texts),
        tuples(columns),
    ),
    st.builds(Points, texts, axes, axes, columns, columns, tuples(texts)),
    motions,
    diagrams,
    st.builds(
        Dag, texts, tuples(st.builds(Vertex, texts, texts, texts)), tuples(st.tuples(texts, texts))
    ),
)
cells = st.one_of(floats, st.integers(-(10**6), 10**6), texts)
tables = st.builds(Table, texts, tuples(texts), tuples(tuples(cells)))
findings = st.builds(
    Finding,
    st.sampled_from(list(Status)),
    texts,
    st.none() | enclosures(),
    st.sampled_from(list(Basis)),
)
provenances = st.builds(
    Provenance,
    versions=st.dictionaries(texts, texts, max_size=2),
    seed=st.integers(0, 2**63),
    knobs=st.dictionaries(
        texts, st.one_of(st.booleans(), st.integers(), floats, texts), max_size=3
    ),
    subject=texts,
    subject_kind=texts,
    subject_hash=texts,
    forced=st.booleans(),
    wall_seconds=floats,
)
results = st.builds(
    Result,
    id=texts,
    chapter=texts,
    title=texts,
    statement=texts,
    sources=tuples(texts),
    errata=texts,
    verdict=st.sampled_from(list(Verdict)),
    vacuous=st.booleans(),
    summary=texts,
    checks=tuples(st.builds(Check, texts, texts, texts, findings), 2),
    claims=tuples(judged, 2),
    as_printed=tuples(judged, 1),
    numbers=st.dictionaries(texts, enclosures(), max_size=2),
    tables=tuples(tables, 2),
    charts=tuples(charts, 3),
    provenance=provenances,
)
pairs = tuples(st.tuples(texts, texts), 2)
facts = st.builds(Fact, texts, enclosures() | texts, texts, texts)
sections = st.builds(
    Section, texts, texts, tuples(facts, 2), tuples(tables, 1), tuples(charts, 2), tuples(texts, 2)
)
requests = st.builds(
    Request, texts, texts, texts, texts, tuples(texts, 2), tuples(texts, 2), st.none() | floats
)
said = st.builds(
    AuditFinding,
    st.sampled_from(list(Severity)),
    texts,
    texts,
    enclosures(),
    texts,
    texts,
    texts,
    texts,
    texts,
    texts,
)
requirements = st.builds(Requirement, texts, st.sampled_from(list(Met)), texts)
audits = st.builds(
    Audit,
    findings=tuples(said, 2),
    requirements=tuples(requirements, 2),
    subject=texts,
    kind=texts,
    hash=texts,
    facts=pairs,
    sections=tuples(sections, 2),
    asked=requests,
    seconds=floats,
    interrupted=st.booleans(),
    diagram=st.none() | diagrams,
    results=tuples(results, 2),
    skipped=tuples(st.builds(Skipped, texts, texts, texts, st.booleans()), 2),
    seed=st.integers(0, 2**63),
    date=texts,
    version=texts,
)


def same(a: object, b: object) -> bool:
    """Equality in which NaN equals NaN; types count where text, whole and real numbers may stand."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (isnan(a) and isnan(b))
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)
        )
    return type(a) is type(b) and a == b
