"""The front page: what the field comes to (wider, deeper, attention), two commands, an audit."""

from collections.abc import Callable
from html import escape

from ftheta.languages import later, t
from ftheta.logic import Result

from .contents import Contents
from .markup import code_lines, heading, html_block, join, toctree
from .pictures import picture_html

WAYS = (  # as Peyré's slides sum the field up
    (later("Going wider"), later("function approximation"), "two-layer-ridge-sum"),
    (later("Going deeper"), later("differential equations"), "flow-diffeomorphism"),
    (later("Attention"), later("interacting particles"), "attention-particle-flow"),
)
_LEAD = later(
    "Every statement is an executable theorem: it checks its hypotheses on a network, a function or data (a built-in "
    "example or your own), computes the bound, measures the truth beside it, draws it, and gives a verdict that never "
    "says more than was shown."
)
_COMMANDS = (
    "make demo    # set up, audit the small trained network that ships with the project, write demo/report.html",
    "ftheta lab   # every theorem with its sliders, in your browser",
)
_NEEDS = later(
    "Python 3.11 or later and make are all that a checkout needs; afterwards everything works offline."
)
_AUDIT = later(
    "An audit of a small trained network: findings first, each with its number and how it is known."
)


def front_page(
    contents: Contents, read: Callable[[str], Result | None], guide: dict[str, str]
) -> str:
    """The root of the site; `guide` are the narrative pages, titles by name."""
    theorems = t("{n} theorems", n=len(contents.theorems))
    chapters = t("{n} chapters", n=len(contents.chapters))
    courses = t("{n} lecture courses", n=len(contents.courses))
    reference = t("Python reference")
    trust = t("why to trust a verdict")
    counts = (
        f'<p><a href="gallery.html">{theorems}</a> · {chapters} · <a href="courses/index.html">{courses}</a> · '
        f'<a href="api/index.html">{reference}</a> · <a href="docs/trust.html">{trust}</a></p>'
    )
    image = '<img src="_static/audit.png" alt="' + t("The first page of an audit") + '">'
    picture = f'<figure><a class="crop" href="docs/audit.html">{image}</a>'
    return join(
        heading(1, t("The mathematics of deep learning, running")),
        html_block(f'<p class="gist">{escape(t(_LEAD))}</p>', counts),
        html_block(code_lines(*_COMMANDS), f'<p class="faint">{t(_NEEDS)}</p>'),
        html_block(f'<div class="ways">{"".join(_way(*way, read) for way in WAYS)}</div>'),
        heading(2, t("Audit a network of your own")),
        html_block(
            code_lines("ftheta audit digits-mlp --data digits-test --budget 20s --out report.html"),
            f"{picture}<figcaption>{escape(t(_AUDIT))}</figcaption></figure>",
        ),
        toctree({"gallery": t("Gallery")}, t("Theorems")),
        toctree({"courses/index": t("Courses")}, t("Courses")),
        toctree(guide, t("Guide")),
        toctree(
            {
                "api/index": t("Python reference"),
                "cite": t("How to cite"),
                "CONTRIBUTING": t("Contributing"),
            },
            "Reference",
        ),
        toctree({"docs/releasing": t("Versions and platforms"), "CHANGELOG": t("Changelog")}),
    )


def _way(name: str, concept: str, id: str, read: Callable[[str], Result | None]) -> str:
    words = f"<span><b>{escape(t(name))}</b> ∼ {escape(t(concept))}</span>"
    return f'<a class="tile" href="theorems/{id}.html">{picture_html(read(id))}{words}</a>'
