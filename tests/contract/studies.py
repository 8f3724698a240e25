"""Presets that are whole studies of half a minute and more: they are run every night."""

STUDIES = {("grokking", "what controls the delay"), ("double-descent-networks", "thirty widths, five seeds")}
