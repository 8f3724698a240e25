"""Functions of one variable: exact pieces, polynomials, sawtooths and what depth buys."""
