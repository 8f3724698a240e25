"""The command line. Nothing heavy is imported before a command needs it: `list` and `show` never import JAX.

Exit codes: 0 all hold · 1 refuted · 2 usage · 3 a hypothesis fails (with --strict) · 4 the subject cannot be
read · 70 internal error · 130 interrupted.
"""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from cyclopts import App, CycloptsError

from ftheta.logic import FthetaError, UsageError

from .approximate import approximate
from .audit import audit
from .browse import doctor, list_, show
from .check import check
from .common import print_json
from .cores import fit, graph, pieces
from .lab import lab
from .sweep import sweep

app = App(
    name="ftheta",
    help="The mathematics of deep learning, running: every statement is an executable theorem.",
    version=lambda: __import__("importlib.metadata").metadata.version("ftheta"),
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

app.command(list_, name="list")
for command in (show, check, audit, graph, pieces, fit, approximate, sweep, lab, doctor):
    app.command(command)


def _fail(error: FthetaError, as_json: bool) -> int:
    if as_json:
        parts = {"what": error.what, "where": error.where, "got": str(error.got or ""), "remedy": error.remedy}
        print_json({"error": parts, "exit_code": error.exit_code})
    else:
        print(f"ftheta: {error}", file=sys.stderr)
    return error.exit_code


def run(words: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    debug = "--debug" in words
    words = [w for w in words if w != "--debug"]
    guarded: Callable[[], Any] = lambda: app(words, exit_on_error=False, print_error=False)
    try:
        code = guarded()
        return code if isinstance(code, int) else 0
    except FthetaError as error:
        if debug:
            traceback.print_exc()
        return _fail(error, "--json" in words)
    except CycloptsError as error:
        return _fail(UsageError(str(error).strip(), remedy="`ftheta --help` lists the commands"), "--json" in words)
    except BrokenPipeError:  # the reader (`| head`) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        what = f"Internal error: {type(error).__name__}: {error}"
        return _fail(FthetaError(what, remedy="run again with --debug and report the traceback"), "--json" in words)
