"""Settings for the whole suite: property tests are reproducible in CI, unhurried everywhere, and thorough at night."""

import gc
import os
import signal

from hypothesis import settings

from ftheta.caching import compiled_kept

settings.register_profile("house", deadline=None, derandomize="CI" in os.environ, max_examples=40)
settings.register_profile("night", deadline=None, max_examples=400)  # by --hypothesis-profile
settings.load_profile("house")

# A shell that starts the suite in the background lets it ignore Ctrl-C, and so would every process under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What one test process has compiled, the other one and the programs they start need not compile again.
os.environ.update(compiled_kept())

# Programs and their graphs are kept: to look through all of them after every few hundred new objects finds nothing.
gc.set_threshold(50_000, 20, 20)
