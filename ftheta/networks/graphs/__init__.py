"""Graphs and message passing: colours, interaction networks, a mesh that moves."""
