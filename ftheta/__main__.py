"""The `ftheta` command, also as `python -m ftheta`. Imports come inside, so that Ctrl-C is heeded from the start."""

import sys


def main() -> None:
    try:
        from ftheta.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        print("\nftheta: interrupted", file=sys.stderr)
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
