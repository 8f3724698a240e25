"""Errors that a network raises itself while it is evaluated, apart from errors of ours."""

import jax


def raised_by_network(error: BaseException) -> str:
    """What a network raised itself while it ran, in one line: JAX wraps an error of its Python code into another one.
    Empty where something else went wrong."""
    lines = str(error).strip().splitlines()
    own = isinstance(error, jax.errors.JaxRuntimeError) and "callback" in str(error)
    return lines[-1][:200] if own and lines else ""
