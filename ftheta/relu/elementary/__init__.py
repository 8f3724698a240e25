"""Small functions as networks."""
