"""A Result as terminal card, notebook card, HTML report, JSON and figures. Nothing heavy is imported here."""
