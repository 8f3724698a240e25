"""Verification by splitting boxes of inputs: zonotopes with outward rounding, for networks of few inputs."""
