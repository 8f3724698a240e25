"""Hopfield's memory."""
