"""From a traced program to the ReLU normal form."""
