"""Every core beside its peers on the same work, in one run: `make bench`, or `make bench QUICK=1` for a look."""

import sys
from pathlib import Path

# the protocol is imported by its bare name, as in the peers' Pythons
sys.path.insert(0, str(Path(__file__).parent))
