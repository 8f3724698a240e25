"""The command line. Nothing heavy is imported before a command needs it: `list` and `show` never import JAX.

Exit codes: 0 all hold · 1 refuted · 2 usage · 3 a theorem is not applicable (with --strict) · 4 the subject cannot be
read · 70 internal error · 130 interrupted.
"""

import sys
import traceback
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from ftheta.languages import from_environment, parse_language, speaking, t
from ftheta.logic import FthetaError, UsageError
from ftheta.processes import interrupts
from ftheta.processes.streams import OutputError, discard_output

from .common import print_json
from .help_words import TranslatedHelp

app = App(
    name="ftheta",
    help="The mathematics of deep learning, running: every statement is an executable theorem.\n\n"
    "`--lang fr`, or the variable FTHETA_LANG, has it in French; see docs/languages.md.",
    version=lambda: __import__("importlib.metadata").metadata.version("ftheta"),
    help_formatter=TranslatedHelp(),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

# by module and function: a command is imported when it is called, or the help names them all
ANSWERS = {
    "list": "browse:list_",
    "range": "range_of:range_",
    "show": "browse:show",
    "check": "check:check",
    "verify": "verify:verify",
    "supports": "supports:supports",
    "robustness": "robustness:robustness",
    "lipschitz": "lipschitz:lipschitz",
    "simplify": "simplify:simplify",
    "audit": "audit:audit",
}
TOOLS = {
    "graph": "cores:graph",
    "pieces": "cores:pieces",
    "fit": "cores:fit",
    "approximate": "approximate:approximate",
    "generate": "generate:generate",
    "transport": "transport:transport",
    "distance": "transport:distance",
    "sweep": "sweep:sweep",
    "course": "course:course",
    "figure": "figure:figure",
    "export": "export:export",
    "notebook": "notebook:notebook",
    "lab": "lab:lab",
    "new-theorem": "new_theorem:new_theorem",
    "doctor": "browse:doctor",
    "completion": "completion:completion",
}
COMMANDS = ANSWERS | TOOLS
for _name, _place in COMMANDS.items():
    app.command(f"{__name__}.{_place}", name=_name)


def _fail(error: FthetaError, as_json: bool) -> int:
    if as_json:
        parts = {
            "what": error.what,
            "where": error.where,
            "got": str(error.got or ""),
            "remedy": error.remedy,
        }
        print_json({"error": parts, "exit_code": error.exit_code})
    else:
        print(f"ftheta: {_describe_error(error)}", file=sys.stderr)
    return error.exit_code


def _describe_error(error: FthetaError) -> str:
    """What, where, what was got, what to do."""
    parts = [t(error.what)]
    if error.where:
        parts.append(t("where: {place}", place=error.where))
    if error.got is not None:
        parts.append(t("got: {value}", value=error.got))
    if error.remedy:
        parts.append(t("remedy: {words}", words=error.remedy))
    return "\n  ".join(parts)


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        words, spoken = _take_language(words)
    except FthetaError as error:
        return _fail(error, "--json" in words)
    with speaking(spoken):
        return _run(words)


def _take_language(words: Sequence[str]) -> tuple[list[str], str]:
    """The command line without `--lang`, which may stand anywhere, and the language to speak."""
    rest: list[str] = []
    spoken = ""
    given = iter(words)
    for word in given:
        if word == "--":
            rest += [word, *given]
        elif word == "--lang":
            spoken = next(given, "nothing")
        elif word.startswith("--lang="):
            spoken = word.removeprefix("--lang=")
        else:
            rest.append(word)
    return rest, parse_language(spoken) if spoken else from_environment()


def _run(words: Sequence[str]) -> int:
    try:
        code = _attempt(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader (`| head`) has seen enough
        discard_output()
        return 0
    except OutputError as error:
        discard_output()
        remedy = "make room, or send it to a file on another disk"
        return _fail(
            UsageError("Standard output cannot be written.", got=error.strerror, remedy=remedy),
            as_json=False,
        )


def _attempt(words: Sequence[str]) -> int:
    debug = "--debug" in words
    words = [w for w in words if w != "--debug"]
    if words == ["--name"]:  # of a solver, as the VNN-LIB standard has it
        print("ftheta")
        return 0
    try:
        if not words or words[0] not in COMMANDS:
            _import_commands()
        code = app(words, exit_on_error=False, print_error=False)
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, OutputError):
        raise
    except Exception as error:
        if interrupts.was_pressed():  # a library has made another exception of it
            raise interrupts.Interrupted from None
        if debug:
            traceback.print_exc()
        return _fail(_ours(error), "--json" in words)


def _import_commands() -> None:
    """All of them: what each is for stands in its module."""
    for name in COMMANDS:
        app[name]


def _ours(error: Exception) -> FthetaError:
    """The error in the one form that users are told in."""
    if isinstance(error, FthetaError):
        return error
    if isinstance(error, CycloptsError):
        return UsageError(str(error).strip(), remedy="`ftheta --help` lists the commands")
    if isinstance(error, OSError) and error.filename is not None:
        return UsageError(
            "The system does not let this file be used.",
            where=str(error.filename),
            got=error.strerror,
        )
    what = f"Internal error: {type(error).__name__}: {error}"
    return FthetaError(what, remedy="run again with --debug and report the traceback")
