"""Settings for the whole suite: property tests are reproducible in CI and unhurried everywhere."""

import os

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")
