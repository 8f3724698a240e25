"""Double descent and grokking: protocols that return numbers, as presets of a minute and as sweeps."""
