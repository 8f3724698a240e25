"""Universal approximation made constructive: every step of the proofs builds a network and bounds its error."""
