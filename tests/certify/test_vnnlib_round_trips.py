"""Random formulas, written as text and read again, hold at the same points as by their definition."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.formulas import holds, negate
from ftheta.certify.vnnlib import parse_query

from ..thoroughness import max_examples
from .vnnlib_texts import formulas, gaps, linear_terms, points, polynomial_terms, value_of, write

LO, HI = Fraction(-1), Fraction(1)
# -- version 1.0 ------------------------------------------------------------------------------------------------------
NAMES_ONE = ["X_0", "X_1", "X_2", "Y_0", "Y_1"]
DECLARATIONS_ONE = "".join(f"(declare-const {name} Real)\n" for name in NAMES_ONE)
BOX_ONE = [("and", (">=", name, LO), ("<=", name, HI)) for name in NAMES_ONE[:3]]
ONE = formulas(linear_terms(NAMES_ONE), ["<=", "<", ">=", ">", "=", "!="], ["and", "or", "not"])


@max_examples(60)
@given(
    st.lists(ONE, max_size=3),
    st.lists(points(NAMES_ONE), min_size=8, max_size=8),
    gaps,
    st.booleans(),
)
def test_a_property_of_version_1_holds_where_its_assertions_do(asserted, at, gap, box_first):
    assertions = [*BOX_ONE, *asserted] if box_first else [*asserted, *BOX_ONE]
    text = DECLARATIONS_ONE + "\n".join(
        f"(assert{gap}{write(formula, gap)})" for formula in assertions
    )
    query = parse_query(text)
    question = query.question()
    assert (question.inputs, question.outputs) == (3, 2)
    for point in at:
        x = [point[name] for name in NAMES_ONE[:3]]
        y = [point[name] for name in NAMES_ONE[3:]]
        truth = all(value_of(formula, point) for formula in assertions)
        assert query.admits(x, y) == truth
        assert question.admits(x, y) == truth
        assert holds(negate(query.formula), x, y) != truth


# -- version 2.0: two networks, a hidden node, a scalar ---------------------------------------------------------------
NETWORKS_TWO = """(vnnlib-version <2.0>)
(declare-network f
    (declare-input A real [2, 1])
    (declare-hidden H real [] "node")
    (declare-output B real [1,2]))
(declare-network g (isomorphic-to f)
    (declare-input C Real [2,1])
    (declare-output D Real [1,2]))
"""
INPUTS_TWO = ["A[0,0]", "A[1,0]", "C[0,0]", "C[1,0]"]
# of each network its outputs, then its hidden nodes
OUTPUTS_TWO = ["B[0,0]", "B[0,1]", "H", "D[0,0]", "D[0,1]"]
NAMES_TWO = INPUTS_TWO + OUTPUTS_TWO
BOX_TWO = [("and", (">=", name, LO), ("<=", name, HI)) for name in INPUTS_TWO]
RELATIONS_TWO = ["<=", "<", ">=", ">", "==", "!="]
LINEAR_TWO = formulas(linear_terms(NAMES_TWO), RELATIONS_TWO, ["and", "or"])
POLYNOMIAL_TWO = formulas(polynomial_terms(NAMES_TWO), RELATIONS_TWO, ["and", "or"])
spellings = st.sampled_from([("[", "["), ("[", " [ "), (",", " , ")])


def check_version_two(asserted, at, gap, spelling, linear):
    assertions = [*asserted, *BOX_TWO]
    text = "\n".join(f"(assert{gap}{write(formula, gap)})" for formula in assertions)
    query = parse_query(NETWORKS_TWO + text.replace(*spelling))
    question = query.question()
    assert not (linear and query.products)
    assert (query.inputs, query.outputs) == (4, 5)
    assert question.outputs == 5 + len(query.products)
    for point in at:
        x = [point[name] for name in INPUTS_TWO]
        y = [point[name] for name in OUTPUTS_TWO]
        truth = all(value_of(formula, point) for formula in assertions)
        assert query.admits(x, y) == truth
        assert question.admits(x, query.extend(x, y)) == truth


@max_examples(120)
@given(
    st.lists(LINEAR_TWO, max_size=3),
    st.lists(points(NAMES_TWO), min_size=6, max_size=6),
    gaps,
    spellings,
)
def test_a_linear_query_of_version_2_holds_where_its_assertions_do(asserted, at, gap, spelling):
    check_version_two(asserted, at, gap, spelling, linear=True)


@max_examples(40)
@given(
    st.lists(POLYNOMIAL_TWO, max_size=2),
    st.lists(points(NAMES_TWO), min_size=6, max_size=6),
    gaps,
    spellings,
)
def test_products_become_outputs_and_the_query_holds_where_its_assertions_do(
    asserted, at, gap, spelling
):
    check_version_two(asserted, at, gap, spelling, linear=False)


def test_names_of_inputs_and_outputs_are_those_of_the_file():
    query = parse_query(NETWORKS_TWO + "(assert (<= A[0,0] 1))")
    assert [query.name_input(i) for i in range(4)] == INPUTS_TWO
    assert [query.name_output(j) for j in range(5)] == OUTPUTS_TWO
    one = parse_query(DECLARATIONS_ONE)
    assert [one.name_input(i) for i in range(3)] + [
        one.name_output(j) for j in range(2)
    ] == NAMES_ONE
