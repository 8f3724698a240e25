"""Generative models: flows, transport, diffusion."""
