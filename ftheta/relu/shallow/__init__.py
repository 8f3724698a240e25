"""One hidden layer: ridges and what they cannot do."""
