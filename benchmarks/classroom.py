"""A class of simulated pages that move one slider of one theorem, over real WebSockets on this machine alone.

    python -m benchmarks.classroom [--pages 200] [--seconds 20] [--theorem gd-strongly-convex] [--knob kappa]

Each page goes up and down the positions of the slider, asks for the result, waits for it, thinks for a moment, and goes
on. First with nothing known (misses and hits), then once more with what was kept (hits).
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.client import ClientConnection, connect

from ftheta.catalogue import entry_of, settings_of
from ftheta.lab.guard import Door
from ftheta.lab.positions import choose_knob, stops_of

_THINKING = (0.2, 0.8)  # seconds between an answer and the next move


async def _page(
    address: str, states: list[dict[str, Any]], until: float, rng: random.Random
) -> list[tuple[float, bool]]:
    """The seconds that each answer took, and whether it was computed for it."""
    parts = urlsplit(address)
    assert parts.hostname and parts.port
    door = Door(parts.hostname, parts.port, parse_qs(parts.query)["token"][0])
    headers = {"Cookie": f"{door.cookie}={door.key}"}
    origin: Any = f"http://{parts.netloc}"
    taken: list[tuple[float, bool]] = []
    at = rng.randrange(len(states))
    width = rng.choice((390, 800, 1280, 1440))
    await asyncio.sleep(rng.uniform(0, 2))
    async with connect(
        f"ws://{parts.netloc}/ws", origin=origin, additional_headers=headers, max_size=None
    ) as line:
        n = 0
        while time.monotonic() < until:
            n += 1
            at = min(max(at + rng.choice((-2, -1, 1, 2)), 0), len(states) - 1)
            size = {"width": width, "height": 450}
            began = time.monotonic()
            await line.send(json.dumps({"type": "run", "n": n, "state": states[at], "size": size}))
            computed = await _answer(line, n)
            taken.append((time.monotonic() - began, computed))
            await asyncio.sleep(rng.uniform(*_THINKING))
    return taken


async def _answer(line: ClientConnection, n: int) -> bool:
    """Whether the answer had to be computed, once it is here."""
    computed = False
    while True:
        message = json.loads(await line.recv())
        computed |= message["type"] == "started"
        if message["type"] == "result" and message["n"] == n:
            return computed
        assert message["type"] in ("started", "progress", "result"), message


async def _class(
    address: str, pages: int, seconds: float, states: list[dict[str, Any]]
) -> list[tuple[float, bool]]:
    until = time.monotonic() + seconds
    found = await asyncio.gather(
        *(_page(address, states, until, random.Random(i)) for i in range(pages))
    )
    return [each for taken in found for each in taken]


def _report(name: str, taken: list[tuple[float, bool]], seconds: float) -> None:
    for kind, chosen in (("all", None), ("computed", True), ("kept", False)):
        times = sorted(t for t, computed in taken if chosen is None or computed == chosen)
        if times:
            p95 = times[int(0.95 * (len(times) - 1))]
            print(
                f"{name:6} {kind:9} {len(times):6} answers, {len(times) / seconds:6.1f} per second, "
                f"median {median(times) * 1e3:6.0f} ms, p95 {p95 * 1e3:6.0f} ms, most {times[-1] * 1e3:6.0f} ms",
                flush=True,
            )


def main() -> None:
    """Start a lab of its own, with a cache of its own, and send a class there."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--pages", type=int, default=200)
    asked.add_argument("--seconds", type=float, default=20.0)
    asked.add_argument("--theorem", default="gd-strongly-convex")
    asked.add_argument("--knob", default="kappa")
    given = asked.parse_args()
    setting = choose_knob(settings_of(entry_of(given.theorem)), given.knob)
    values = stops_of(setting)
    states = [{"theorem": given.theorem, "knobs": {setting.name: value}} for value in values]
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "ftheta",
            "lab",
            "--classroom",
            "--port",
            "0",
            "--no-browser",
        ]
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        lab = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            assert lab.stdout is not None
            address = lab.stdout.readline().split()[2]
            first = asyncio.run(_class(address, 1, 15.0, states[:1]))  # the workers have started
            print(
                f"{given.theorem}, {len(states)} positions of {setting.name}, {given.pages} pages; "
                f"the first answer after {first[0][0]:.1f} s"
            )
            for name in ("cold", "warm"):
                _report(
                    name,
                    asyncio.run(_class(address, given.pages, given.seconds, states)),
                    given.seconds,
                )
        finally:
            lab.terminate()
            lab.wait(20)


if __name__ == "__main__":
    main()
