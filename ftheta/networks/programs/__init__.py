"""Networks in files, whatever the format: a program of nodes, its function in JAX, its list of layers."""
