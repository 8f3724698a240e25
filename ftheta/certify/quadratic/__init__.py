"""Questions about quadratic functions of ReLU networks (`x⁺ᵀPx⁺ − xᵀPx`), decided by semidefinite certificates."""
