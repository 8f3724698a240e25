"""Permutations, positive rescalings and what they leave alone."""
