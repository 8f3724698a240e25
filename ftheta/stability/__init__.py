"""How far the decisions of a classifier hold: certified radii beside perturbations that were met, certified accuracy
beside attacked accuracy, randomised smoothing."""
