"""Diffusion models: noise, scores, and the ways back."""
