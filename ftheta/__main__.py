"""The `ftheta` command, also as `python -m ftheta`. Imports come inside, so that Ctrl-C is heeded from the start."""

import gc
import os
import sys

from ftheta.processes import interrupts, streams
from ftheta.processes.environment import UNTRACED


def main() -> None:
    """Run the command line and exit with its code."""
    streams.prepare()
    interrupts.watch()
    os.environ.update(UNTRACED | os.environ)
    try:
        from ftheta.cli import run

        code = run(sys.argv[1:])
        interrupts.end_watch()
    except KeyboardInterrupt:
        interrupts.end_watch()
        print("\nftheta: interrupted", file=sys.stderr)
        code = interrupts.EXIT_CODE
    if code == interrupts.EXIT_CODE:
        interrupts.leave()
    gc.freeze()  # nothing is left to collect, and looking for it takes a sixth of a short run
    sys.exit(code)


if __name__ == "__main__":
    main()
