"""Random enclosures and claims for property-based tests."""

from hypothesis import strategies as st

from ftheta.logic import AtMost, Basis, Enclosure, Identity

finite = st.floats(-1e6, 1e6, allow_nan=False)
ends = st.one_of(finite, st.just(float("inf")), st.just(float("-inf")))


@st.composite
def enclosures(draw, bases=tuple(Basis), ends=ends):
    a = draw(ends)
    b = draw(ends)
    if draw(st.booleans()):
        b = a
    lo = min(a, b)
    hi = max(a, b)
    basis = draw(st.sampled_from(bases))
    if basis is not Basis.SAMPLED:
        return Enclosure(lo, hi, basis)
    confidence = draw(st.one_of(st.none(), st.floats(0.5, 0.999999)))
    return Enclosure(lo, hi, basis, draw(st.integers(1, 10**6)), confidence)


compared = st.builds(
    lambda kind, left, right: kind("x", left, right),
    st.sampled_from([AtMost, Identity]),
    enclosures(),
    enclosures(),
)
