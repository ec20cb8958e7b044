import numpy as np
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from kakuran.wide.matrices import full, hamming, pack, pack_dense, popcount, unpack

BITS = arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 200)), elements=st.integers(0, 1))


@settings(deadline=None)
@given(BITS)
def test_packing_sparse_or_dense_and_unpacking_changes_nothing(bits):
    assert (pack_dense(bits) == pack(csr_array(bits))).all()
    assert (unpack(pack_dense(bits), bits.shape[1]) == bits).all()


@settings(deadline=None)
@given(BITS)
def test_rows_differ_in_as_many_cells_packed_as_unpacked(bits):
    words = pack_dense(bits)
    assert hamming(words[0], words[-1]) == (bits[0] != bits[-1]).sum()


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_bits_of_a_word_are_counted_right(word):
    assert popcount(np.uint64(word)) == word.bit_count()


def test_full_rows_have_no_bit_beyond_the_last_column():
    assert unpack(full(2, 70), 128).sum(axis=1).tolist() == [70, 70]
