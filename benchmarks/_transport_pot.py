"""POT on the problems of `transport.py`; prints seconds and values as JSON."""

import json
import sys
import time

import numpy as np
import ot  # type: ignore[import-not-found]


def main() -> None:
    arrays = np.load(sys.argv[1])
    found = {}

    def clock(name, run):
        before = time.process_time()
        value = float(run())
        found[name] = [time.process_time() - before, value]

    clock("line", lambda: ot.emd2_1d(arrays["line x"], arrays["line y"], metric="euclidean"))
    for name in ("digits", "plane 1000", "plane 4000", "plane 8000"):
        x, y = arrays[f"{name} x"], arrays[f"{name} y"]
        clock(name, lambda x=x, y=y: ot.emd2([], [], ot.dist(x, y), numItermax=10**9))
    C = ot.dist(arrays["plane 1000 x"], arrays["plane 1000 y"])
    a = np.full(1000, 1e-3)
    for share in (0.05, 0.01):
        epsilon = share * float(np.median(C))
        clock(
            f"sinkhorn {share:g}",
            lambda e=epsilon: ot.sinkhorn2(a, a, C, e, stopThr=1e-6, numItermax=20_000),
        )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
