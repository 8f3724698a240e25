r"""Search for counter-examples in networks of any operators: sigmoids, sines, products, softmax, pooling.

A network is a traced program (`network.py`), bounded by affine functions of its input with outward rounding
(`ftheta/graph/domains/linear`). Boxes of few inputs are bisected and clipped (`boxes.py`). A counter-example is a
rational point at which intervals around the outputs show that the rows hold (`judging.py`).
"""
