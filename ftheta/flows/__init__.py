"""What carries points or laws along: residual networks and the equations that are their limits, flows fitted to data,
noise and the ways back from it."""
