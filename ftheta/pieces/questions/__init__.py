"""What a finished complex can be asked: extremes, norms, boundaries, volumes, equality."""
