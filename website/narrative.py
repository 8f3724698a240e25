"""The pages that people wrote: the guide in `docs/`, and a few files of the root, as they are."""

import re
import shutil
from pathlib import Path

from .contents import ROOT

_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
AT_ROOT = ("CONTRIBUTING.md", "CHANGELOG.md")
_ORDER = (  # first what most readers want
    *(
        "audit",
        "importing",
        "lab",
        "courses",
        "trust",
        "verification",
        "robustness",
        "lipschitz",
        "pieces",
        "graph",
    ),
    *(
        "training",
        "spectra",
        "sweeps",
        "learning",
        "generalisation",
        "width",
        "depth",
        "attention",
        "architectures",
    ),
    *("groups", "generative", "transport", "peers"),
)
_ELSEWHERE = ("releasing",)  # pages that stand in another part of the contents


def guide() -> dict[str, str]:
    """The narrative pages, titles by the name of the document."""
    pages = {
        path.stem: path
        for path in sorted((ROOT / "docs").glob("*.md"))
        if path.stem not in _ELSEWHERE
    }
    ordered = [name for name in _ORDER if name in pages] + [
        name for name in pages if name not in _ORDER
    ]
    return {f"docs/{name}": title_of(pages[name].read_text(encoding="utf-8")) for name in ordered}


def title_of(text: str) -> str:
    """The title of a page."""
    found = _TITLE.search(text)
    return found[1] if found else ""


def copy_pages(source: Path, root: Path = ROOT) -> None:
    """Copy the pages to the same places below `source`, with every file of the project that they link to."""
    pages = [*(root / name for name in AT_ROOT), *sorted((root / "docs").glob("*.md"))]
    for page in pages:
        _copy(page, source / page.relative_to(root))
        for target in _LINK.findall(page.read_text(encoding="utf-8")):
            linked = (page.parent / target).resolve()
            if linked.is_file() and linked.is_relative_to(root) and linked not in pages:
                _copy(linked, source / linked.relative_to(root))


def _copy(path: Path, place: Path) -> None:
    """Unless it is there already: what is not written anew is not built anew."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.is_file() or place.read_bytes() != path.read_bytes():
        shutil.copyfile(path, place)


def cite_page() -> str:
    """How to cite the project and the sources of a theorem, from CITATION.cff."""
    facts = dict(
        re.findall(
            r'^(\w+): "?(.*?)"?$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    entry = [
        "@software{ftheta,",
        f"  title   = {{{facts['title']}}},",
        "  author  = {{The ftheta authors}},",
        f"  version = {{{facts['version']}}},",
        "}",
    ]
    return "\n".join(
        [
            "# How to cite",
            "",
            "Cite ftheta, and the sources of the theorems that you use:",
            "",
            "```bibtex",
            *entry,
            "```",
            "",
            "Every theorem's page has the BibTeX entries of its sources, and so has the command line:",
            "",
            "```sh",
            "ftheta show gd-strongly-convex --bibtex",
            "```",
            "",
            "`ftheta show gd-strongly-convex --latex` writes the theorem as a LaTeX environment that cites them.",
            "`ftheta check ID --json` prints the provenance of a result: versions, seed, fingerprint of the subject.",
            "",
        ]
    )
