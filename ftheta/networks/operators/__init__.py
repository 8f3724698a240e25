"""Operators of networks as JAX functions of plain arguments: what the rules of every format share."""
