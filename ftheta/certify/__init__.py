"""Certified bounds, and questions to a network that are decided for every input of a set."""
