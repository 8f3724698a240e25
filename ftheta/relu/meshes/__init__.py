"""Simplicial meshes, finite elements and the networks that realise them."""
