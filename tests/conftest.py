"""Settings for the whole suite: property tests are reproducible in CI, unhurried everywhere, and thorough at night."""

import gc
import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from .checked_shapes import CHECKS, CORES, install
from .thoroughness import AT_NIGHT, WITH_EVERY_CHANGE

pytest_plugins = ["tests.costs", "tests.memory", "tests.slow"]
install(CORES)

from ftheta.processes.caching import compiled_kept, trim  # noqa: E402
from ftheta.processes.environment import UNTRACED  # noqa: E402

settings.register_profile(
    "house", deadline=None, derandomize="CI" in os.environ, max_examples=WITH_EVERY_CHANGE
)
settings.register_profile("night", deadline=None, max_examples=AT_NIGHT)  # by --hypothesis-profile
settings.load_profile("house")

# A shell that starts the suite in the background lets it ignore Ctrl-C, and so would every process under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What one test process has compiled, the other one and the programs they start need not compile again, and neither need
# it itself after it has let programs go. Nothing of the user's cache is used.
COMPILED = Path(__file__).parents[1] / "build" / "compiled"
COMPILED.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(COMPILED))
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ.update(compiled_kept())
os.environ.update(UNTRACED)

# Programs and their graphs are kept: to look through all of them after every few hundred new objects finds nothing.
gc.set_threshold(50_000, 20, 20)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Forget programs that were compiled long ago."""
    if not hasattr(session.config, "workerinput"):
        trim(COMPILED, 500_000_000)


def pytest_collection_finish() -> None:
    """What was imported stays: it need not be looked through again for garbage. Programs share what they are written
    in."""
    gc.collect()
    gc.freeze()
    if "jax" in sys.modules:
        from .compiling import compile_convolutions_well, share_contexts

        share_contexts()
        compile_convolutions_well()


def pytest_runtest_setup() -> None:
    """Every test has its first calls; at night all calls are checked."""
    CHECKS.begin(everything=settings().max_examples >= AT_NIGHT)


@pytest.fixture
def without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit runs in this process: each worker would take seconds to start."""
    monkeypatch.setattr("ftheta.auditing.whole._cores", lambda: 0)
