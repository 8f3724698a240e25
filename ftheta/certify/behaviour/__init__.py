r"""How a network behaves over a box beyond comparisons of its outputs: monotone, convex, close to another one.

Such properties are about several inputs at once, $f(x)\le f(x')$, so that bounds of the outputs alone never prove them:
near $x=x'$ both sides meet. What is bounded instead are slopes, and a counter-example is a pair or a triple of points.
"""
