from hypothesis import given
from hypothesis import strategies as st

from chaffinch._core import Interner, permutation


@given(st.lists(st.lists(st.text(max_size=20), max_size=5), max_size=30))
def test_ids_are_dense_and_in_order_of_first_sight(rows):
    interner = Interner()
    ptr, ids = interner.intern_nested(rows)
    flat = [s for row in rows for s in row]
    assert interner.strings() == list(dict.fromkeys(flat))
    assert [interner.strings()[i] for i in ids.tolist()] == flat
    assert [b - a for a, b in zip(ptr.tolist(), ptr.tolist()[1:], strict=False)] == [len(r) for r in rows]


@given(st.lists(st.text(), min_size=1), st.text())
def test_a_frozen_interner_answers_minus_one_for_unknown_strings(known, probe):
    interner = Interner()
    interner.intern_nested([known])
    _, ids = interner.intern_nested([[probe]], frozen=True)
    assert ids.tolist() == [list(dict.fromkeys(known)).index(probe) if probe in known else -1]
    assert len(interner) == len(set(known))


@given(st.integers(0, 500), st.integers(0, 2**64 - 1))
def test_a_permutation_holds_every_number_once_and_repeats_for_its_seed(n, seed):
    order = permutation(n, seed).tolist()
    assert sorted(order) == list(range(n))
    assert order == permutation(n, seed).tolist()
