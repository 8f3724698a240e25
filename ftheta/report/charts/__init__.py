"""One file a kind of chart: its data become a Vega specification."""
