"""What a trained network does beyond its examples: bounds, regularisers, phenomena, shift, structure."""
