"""`python -m website results|pages|inspect`: the steps of `make docs` around Sphinx."""

import argparse
import sys
from pathlib import Path

from ftheta.catalogue import index
from ftheta.languages import ENGLISH, KNOWN, speaking

from .contents import Contents, record_versions
from .inspection import inspect_site
from .results import MOST_WORKERS, ResultStore, list_runs, store_runs
from .writing import write_sources

BUILD = Path("build/site")


def main() -> int:
    options = _parser().parse_args()
    return options.step(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument(
        "--build", type=Path, default=BUILD, help="folder of everything that is made"
    )
    steps = parser.add_subparsers(required=True)
    results = steps.add_parser("results", help="run what has no stored result")
    results.add_argument("--only", nargs="+", default=None, help="ids of theorems")
    results.add_argument(
        "--workers", type=int, default=MOST_WORKERS, help=f"processes, at most {MOST_WORKERS}"
    )
    results.set_defaults(step=_store)
    pages = steps.add_parser("pages", help="write the sources for Sphinx")
    pages.set_defaults(step=_write)
    inspect = steps.add_parser(
        "inspect", help="check links, formulas and pictures of what was built"
    )
    inspect.set_defaults(step=_inspect)
    for step in (pages, inspect):
        step.add_argument("--lang", choices=KNOWN, default=ENGLISH, help="of the generated pages")
    steps.add_parser(
        "since", help="note the version of new theorems; part of a release"
    ).set_defaults(step=_record)
    return parser


def _store(options: argparse.Namespace) -> int:
    entries = [index()[id] for id in options.only or index()]
    failed = store_runs(ResultStore(options.build / "results"), list_runs(entries), options.workers)
    print(f"{len(failed)} runs failed: {', '.join(failed)}" if failed else "every run is stored")
    return 0  # their pages say so


def _named(folder: str, language: str) -> str:
    """The folder of a language: that of English has the plain name."""
    return folder if language == ENGLISH else f"{folder}-{language}"


def _write(options: argparse.Namespace) -> int:
    contents = Contents.of_package()
    source = options.build / _named("source", options.lang)
    with speaking(options.lang):
        written = write_sources(contents, ResultStore(options.build / "results"), source)
    print(f"{written} pages were generated in {source}")
    return 0


def _inspect(options: argparse.Namespace) -> int:
    found = inspect_site(options.build / _named("html", options.lang))
    print("\n".join([*found.faults, found.describe()]))
    return 1 if found.faults else 0


def _record(options: argparse.Namespace) -> int:
    record_versions()
    return 0


if __name__ == "__main__":
    sys.exit(main())
