"""Ours beside the peers, in one run; each module prints ratios and how cost grows."""
