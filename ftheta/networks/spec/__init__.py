"""Weights in files that say nothing of the architecture, and the short specs that say it: see `docs/importing.md`."""

from .read import read as read
from .read import read_spec_file as read_spec_file
from .read import read_weights as read_weights
from .skeleton import skeleton as skeleton
