"""`python -m benchmarks [name …]` runs all benchmarks, or those named; `benchmarks.comparison` is the table of all."""

import pkgutil
import sys
from importlib import import_module

import benchmarks


def main(names: list[str]) -> None:
    known = [
        info.name
        for info in pkgutil.iter_modules(benchmarks.__path__)
        if not (info.ispkg or info.name.startswith("_"))
    ]
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"benchmarks: unknown {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in names or known:
        print(f"\n== {name} ==")
        import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
