"""Compiled loops: one depth-first splitter for each kind of cell, and what they share."""
