"""How each kind of domain is cut into pieces: compiled where float64 is certain, rational where it is not."""
