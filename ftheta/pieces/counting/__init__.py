"""How many pieces there are and can be: arrangements and bounds from the widths."""
