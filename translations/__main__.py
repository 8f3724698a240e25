"""`python -m translations`: write the catalogues anew from the sources, with what is translated kept, and say what is
left to translate. `--check` writes nothing and fails if there is anything."""

import argparse

from ftheta.languages import ENGLISH, KNOWN
from ftheta.languages.catalogues import read_catalogue

from .files import head_of, place_of, problems, written
from .sources import Sources, collect

HEAD = '''msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"'''


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m translations", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    checks = parser.parse_args().check
    sources = collect()
    found = []
    for language in KNOWN:
        if language == ENGLISH:
            continue
        if not checks:
            update(language, sources)
        found += list_problems(language, sources)
    print("\n".join(found) or "every catalogue is complete")
    return 1 if found else 0


def update(language: str, sources: Sources) -> None:
    """Write the catalogues of a language anew."""
    for domain, messages in sources.items():
        path = place_of(language, domain)
        text = (
            path.read_text(encoding="utf-8") if path.is_file() else HEAD.format(language=language)
        )
        path.write_text(written(head_of(text), messages, read_catalogue(text)), encoding="utf-8")


def list_problems(language: str, sources: Sources) -> list[str]:
    """What is wrong with the catalogues of a language."""
    found = []
    for domain, messages in sources.items():
        path = place_of(language, domain)
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        found += [f"{path.name}: {problem}" for problem in problems(text, messages)]
    return found


if __name__ == "__main__":
    raise SystemExit(main())
