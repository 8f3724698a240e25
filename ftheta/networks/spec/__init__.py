"""Weights in files that say nothing of the architecture, and the short specs that say it: see `docs/importing.md`."""
