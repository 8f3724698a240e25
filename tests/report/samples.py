"""Results and charts of every kind, made by hand: nothing here runs a theorem."""

from math import cos, exp, inf, nan, pi, sin, sqrt

from ftheta.logic import (
    AtMost,
    Axis,
    Bars,
    Basis,
    Chart,
    Check,
    Claim,
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
    Layer,
    Motion,
    Points,
    Provenance,
    Rate,
    Regions,
    Result,
    Series,
    Table,
    Verdict,
    Vertex,
    Witness,
)
from ftheta.logic.result import Audit, Fact, Section, Skipped, conclude
from ftheta.logic.severity import AuditFinding, Met, Requirement, Severity

WIDTHS = tuple(2.0**k for k in range(1, 13))
ERRORS = tuple(1.3 / sqrt(n) for n in WIDTHS)

CURVES = Curves(
    "error of a network of width n",
    Axis("width n", "log"),
    Axis("L²(μ) error", "log"),
    (
        Series("bound 2C/√n", WIDTHS, tuple(4 * e for e in ERRORS), "bound"),
        Series(
            "measured ‖f − f_n‖",
            WIDTHS,
            ERRORS,
            lo=tuple(0.8 * e for e in ERRORS),
            hi=tuple(1.2 * e for e in ERRORS),
        ),
        Series("slope −1/2", WIDTHS, tuple(2 * e for e in ERRORS), "reference"),
    ),
)
BARS = Bars(
    "stretch of each layer",
    Axis("norm"),
    ("layer 1", "layer 2", "layer 3", "layer 4"),
    ("measured stretch", "spectral norm"),
    ((2.2, 1.9, 1.1, 0.9), (3.1, 2.4, 1.8, 1.3)),
)
HEATMAP = Heatmap(
    "loss surface",
    Axis("θ_1"),
    Axis("θ_2"),
    tuple(tuple(sin(3 * j / 40) + cos(5 * i / 40) * j / 40 for j in range(40)) for i in range(40)),
    (-1.0, 1.0, -1.0, 1.0),
    "loss",
)
_EDGES = tuple(-4 + 0.2 * i for i in range(41))
HISTOGRAM = Histogram(
    "pre-activations of a wide layer",
    Axis("z"),
    Axis("density"),
    _EDGES,
    tuple(exp(-((a + 0.1) ** 2) / 2) / sqrt(2 * pi) * (1 + 0.1 * sin(9 * a)) for a in _EDGES[:-1]),
    (
        Series(
            "normal limit", _EDGES, tuple(exp(-a * a / 2) / sqrt(2 * pi) for a in _EDGES), "bound"
        ),
    ),
)
_GRID = [(i / 6 - 1, j / 6 - 1) for i in range(12) for j in range(12)]
REGIONS = Regions(
    "affine pieces on a plane",
    Axis("x_1"),
    Axis("x_2"),
    tuple(
        triangle
        for a, b in _GRID
        for triangle in (
            ((a, b), (a + 1 / 6, b), (a, b + 1 / 6)),
            ((a + 1 / 6, b), (a + 1 / 6, b + 1 / 6), (a, b + 1 / 6)),
        )
    ),
    tuple(abs(a * b) + 0.1 * k for a, b in _GRID for k in range(2)),
    "‖∇f‖",
)
CLASSES = Regions(
    "two classes",
    Axis("x₁"),
    Axis("x₂"),
    (((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), ((1.0, 0.0), (1.0, 1.0), (0.0, 1.0))),
    (0.0, 1.0),
    "largest output",
    (((1.0, 0.0), (0.0, 1.0)),),
    ("cat", "dog"),
    ((0.2, 0.2, 0.0, 0.0), (0.3, 0.2, 1.0, 0.0), (0.8, 0.8, -1.0, 1.0)),
)
POINTS = Points(
    "two classes",
    Axis("x_1"),
    Axis("x_2"),
    tuple(cos(i) * (1 + i % 2) for i in range(120)),
    tuple(sin(i) * (1 + i % 2) for i in range(120)),
    tuple("inner" if i % 2 == 0 else "outer" for i in range(120)),
)
MOTION = Motion(
    "a square that turns",
    Axis("x_1"),
    Axis("x_2"),
    tuple(0.1 * k for k in range(21)),
    tuple(tuple(cos(k / 10 + i * pi / 2) for i in range(4)) for k in range(21)),
    tuple(tuple(sin(k / 10 + i * pi / 2) for i in range(4)) for k in range(21)),
    ("corner", "corner", "other corner", "other corner"),
    tuple(tuple(cos(k / 10 + i) for i in range(4)) for k in range(21)),
    (((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0)),),
    ((0, 1, 2, 3, 0),),
    alike=True,
)
DIAGRAM = Diagram(
    "layers",
    (
        Layer("input", 784),
        Layer("hidden 1", 128, "ReLU"),
        Layer("hidden 2", 6, "ReLU"),
        Layer("output", 10, "softmax"),
    ),
)
DAG = Dag(
    "ℓ = θ₂ exp θ₁ √(θ₁ + θ₂ exp θ₁)",
    (
        Vertex("1", "θ₁", "value 1\nadjoint 7.862"),
        Vertex("2", "θ₂", "value 1\nadjoint 7.158"),
        Vertex("3", "θ₃ = exp θ₁", "value 2.718\nadjoint 2.633"),
        Vertex("4", "θ₄ = θ₂ θ₃", "value 2.718\nadjoint 2.633"),
        Vertex("5", "θ₅ = θ₁ + θ₄", "value 3.718\nadjoint 0.705"),
        Vertex("6", "θ₆ = √θ₅", "value 1.928\nadjoint 2.718"),
        Vertex("7", "θ₇ = θ₄ θ₆", "value 5.242\nadjoint 1"),
    ),
    (
        ("1", "3"),
        ("2", "4"),
        ("3", "4"),
        ("1", "5"),
        ("4", "5"),
        ("5", "6"),
        ("4", "7"),
        ("6", "7"),
    ),
)
CHARTS: tuple[Chart, ...] = (
    CURVES,
    BARS,
    HEATMAP,
    HISTOGRAM,
    REGIONS,
    POINTS,
    MOTION,
    DIAGRAM,
    DAG,
)

WITNESS = Witness(
    {"x": 0.5, "w": (1.0, 2.0, 3.0), "case": "inf"},
    Enclosure.exact(3),
    Enclosure.exact(2),
    "exact arithmetic",
)
CLAIMS: tuple[Claim, ...] = (
    AtMost("Lip(f)", Enclosure.at_least(4.13, samples=200), Enclosure.at_most(17.4)),
    Identity("f(τx) = τf(x)", Enclosure.equal(0.5), Enclosure.equal(0.5)),
    Rate("‖f − f_n‖", 0.5, Enclosure.between(-0.52, -0.49, Basis.FLOAT), WIDTHS, ERRORS),
    Converges(
        "K_n(x, x')",
        Enclosure.equal(1.0),
        (Enclosure.equal(1.5), Enclosure.equal(1.01)),
        (10.0, 100.0),
        0.05,
    ),
    Exists(
        "a network with error ≤ ε",
        {"width": 12.0, "kind": "nan"},
        Enclosure.equal(0.01),
        Enclosure.exact(1),
    ),
)

PROVENANCE = Provenance(
    versions={"ftheta": "0.1.0", "jax": "0.10.2"},
    seed=0,
    knobs={"points": 4096, "step": 0.5, "exact": True},
    subject="mnist_mlp.onnx",
    subject_kind="Network",
    subject_hash="c54250a690b1",
    forced=False,
    wall_seconds=0.21,
)


def result(
    id: str = "lipschitz-product",
    title: str = "Lipschitz constant ≤ product of norms",
    statement: str = r"If activations are 1-Lipschitz, $$\mathrm{Lip}(f_\theta)\le\prod_{\ell=1}^{4}\|W_\ell\|_2.$$",
    claims: tuple[Claim, ...] = CLAIMS[:1],
    checks: tuple[Check, ...] | None = None,
    **others: object,
) -> Result:
    """A result that holds, with whatever is given in place of its own parts."""
    if checks is None:
        norm = Enclosure.equal(1.0)
        checks = (
            Check(
                "lipschitz activations",
                "every activation is 1-Lipschitz",
                "",
                Finding.proved("4 Gemm, 3 Relu", "by name", norm),
            ),
            Check("norms", "norms computed to 1e-10", "", Finding.sampled("SVD in float64")),
        )
    judged = tuple(Judged(c, c.judge()) for c in claims)
    given: dict[str, object] = {
        "id": id,
        "chapter": "robustness",
        "title": title,
        "statement": statement,
        "sources": ("murari-slides", "virmaux2018"),
        "errata": r"Scaman prints $\sum$ for $\prod$.",
        "verdict": conclude([c.finding for c in checks], [j.judgement for j in judged]),
        "vacuous": False,
        "summary": "The product of spectral norms is 17.4. The largest stretch found is 4.13.",
        "checks": checks,
        "claims": judged,
        "as_printed": (),
        "numbers": {
            "product": Enclosure.at_most(17.4),
            "largest stretch": Enclosure.at_least(4.13, samples=200),
        },
        "tables": (),
        "charts": (BARS,),
        "provenance": PROVENANCE,
    }
    return Result(**{**given, **others})  # type: ignore[arg-type]


EXAMPLE = AtMost(
    "steepness of a random network", Enclosure.at_least(1.5, samples=7), Enclosure.at_most(2.5)
)


def inapplicable() -> Result:
    failed = Finding.failed(
        "layer conv1 uses zero padding; defect 0.27 at shift 3", Enclosure.equal(0.27)
    )
    check = Check(
        "circular padding",
        "every convolution pads circularly",
        'set `padding_mode="circular"`',
        failed,
    )
    return result(
        "conv-iff-equivariant",
        "Convolution commutes with translations",
        r"A circular convolution $f_\theta$ commutes with translations: $f_\theta(\tau_ux)=\tau_uf_\theta(x)$.",
        claims=(),
        checks=(check,),
        summary="circular padding: layer conv1 uses zero padding; defect 0.27 at shift 3",
        numbers={},
        charts=(CURVES,),
    )


def refuted() -> Result:
    claim = AtMost(
        "f(x) at the witness",
        Enclosure.at_least(3.0, samples=10),
        Enclosure.exact(2),
        witness=WITNESS,
    )
    return result(
        "refuted-claim", "A claim that fails", claims=(claim,), summary="It fails.", charts=()
    )


def rich_result() -> Result:
    """One with everything: all claims, a misprint, tables, numbers that are not finite, every chart."""
    printed = AtMost(
        "the constant as printed", Enclosure.exact(3), Enclosure.exact(2), witness=WITNESS
    )
    table = Table(
        "forward and backward",
        ("node", "value", "adjoint"),
        (("θ_1", 1.0, nan), ("inf", 7, inf), ("θ_3", 2.5, -inf)),
    )
    return result(
        "everything",
        "A theorem with everything",
        claims=CLAIMS,
        as_printed=(Judged(printed, printed.judge()),),
        numbers={
            "unknown": Enclosure(),
            "interval": Enclosure.between(1.0, 2.0),
            "tiny": Enclosure.equal(2.38e-18),
        },
        tables=(table,),
        charts=CHARTS,
        vacuous=True,
        gist="Norms of layers multiply, so that a network cannot be steeper than their product.",
        see_also=("relu-piecewise-affine", "margin-bounds"),
        examples=(Judged(EXAMPLE, EXAMPLE.judge()),),
        example_numbers={"steepness by hand": Enclosure.exact(7)},
    )


FINDINGS = (
    AuditFinding(
        Severity.PROBLEM,
        "robustness",
        "Predictions flip easily: 7 of 24 rows.",
        Enclosure.between(7 / 24, 9 / 24),
        "attacked from below, certified from above",
        "15 of 24 are certified to stay.",
        "train with `robust=`",
        "margin",
        "small-changes",
        "share of rows: problem above 0.1",
    ),
    AuditFinding(Severity.GOOD, "robustness", "All is well.", Enclosure.exact(1), "exact"),
)
ROBUSTNESS = Section(
    "robustness", "How robust is it?", (Fact("rows tried", Enclosure.exact(24), "", "rows_tried"),)
)


def audit(subject: str = "mnist_mlp.onnx") -> Audit:
    pieces = result(
        "relu-piecewise-affine",
        "ReLU network is piecewise affine",
        r"$$\#\mathrm{regions}\le\prod_\ell\sum_{j\le d}\binom{n_\ell}{j}.$$",
        claims=(AtMost("regions on the plane", Enclosure.exact(2280), Enclosure.exact(989_991)),),
        summary="On the plane through three test digits the network has exactly 2,280 affine pieces.",
        charts=(REGIONS,),
    )
    open_ = result(
        "margin", "Certified radius by margin", verdict=Verdict.INCONCLUSIVE, charts=(HISTOGRAM,)
    )
    return Audit(
        subject=subject,
        kind="Network",
        hash="c54250a690b1",
        facts=(
            ("source", "ONNX opset 20"),
            ("parameters", "118,282"),
            ("affine layers", "4"),
            ("activation", "ReLU"),
        ),
        diagram=DIAGRAM,
        results=(result(), pieces, inapplicable(), refuted(), open_, rich_result()),
        skipped=(
            Skipped("lazy-regime", "needs the initial weights", "give them with the network"),
        ),
        seed=0,
        date="2026-11-15",
        version="0.1.0",
        sections=(ROBUSTNESS,),
        findings=FINDINGS,
        requirements=(
            Requirement("accuracy >= 0.95", Met.MISSED, "0.91"),
            Requirement("dead_neurons == 0", Met.UNKNOWN, "not known"),
        ),
    )
