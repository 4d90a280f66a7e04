"""The keystream against the vectors of its standard, a twin in Python's integers, and another library."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given
from hypothesis import strategies as st

from oneoff.kernels.keystream import AT, BLOCKS, FIRST, below, next_uint32, next_uint64, refill, stream_of
from tests.kernels.keystream_twin import Bits, block
from tests.tables import examples

KEYS = st.binary(min_size=32, max_size=32)
NUMBERED = bytes(range(32))

# Key, block, nonce (12 bytes) and keystream: section 2.3.2, then appendix A.1, vectors 1 to 5.
VECTORS = [
    (NUMBERED, 1, "000000090000004a00000000",
     "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
     "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"),
    (bytes(32), 0, "00" * 12,
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
     "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"),
    (bytes(32), 1, "00" * 12,
     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
     "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"),
    (bytes(31) + b"\1", 1, "00" * 12,
     "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
     "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"),
    (b"\0\xff" + bytes(30), 2, "00" * 12,
     "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
     "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096"),
    (bytes(32), 0, "00" * 11 + "02",
     "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
     "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "count", "nonce", "expected"), VECTORS)
def test_blocks_are_those_of_the_standard(key: bytes, count: int, nonce: str, expected: str) -> None:
    stream = stream_of(key)
    stream[12], stream[13:16] = count, np.frombuffer(bytes.fromhex(nonce), dtype="<u4")
    state = stream[:16].tolist()
    refill(stream)
    assert stream[FIRST : FIRST + 16].astype("<u4").tobytes().hex() == expected
    assert np.array(block(state), dtype="<u4").tobytes().hex() == expected


@examples(10)
@given(KEYS)
def test_buffers_follow_each_other(key: bytes) -> None:
    size = 3 * 64 * BLOCKS + 20
    expected = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(size))
    stream = stream_of(key)
    drawn = np.array([next_uint32(stream) for _ in range(size // 4)], dtype="<u4")
    assert drawn.tobytes() == expected


@examples(10)
@given(KEYS, st.integers(0, BLOCKS))
def test_blocks_are_counted_beyond_32_bits(key: bytes, before: int) -> None:
    """Without the carry the stream would begin anew after 256 GiB."""
    count = 2**32 - before
    stream, bits = stream_of(key), Bits(key, count)
    stream[12], stream[13] = count & (2**32 - 1), count >> 32
    assert [next_uint32(stream) for _ in range(32 * BLOCKS)] == [bits.draw() for _ in range(32 * BLOCKS)]
    assert stream[12:14].tolist() == [2 * BLOCKS - before, 1]


@given(KEYS, st.lists(st.sampled_from(["32", "64", "below"]), max_size=40), st.integers(1, 2**31), st.integers(0, 5))
def test_numbers_take_words_in_turn(key: bytes, kinds: list[str], bound: int, left: int) -> None:
    """Also where a number of 64 bits has one half in one buffer and the other in the next."""
    stream, bits = stream_of(key), Bits(key)
    refill(stream)
    stream[AT] = 16 * BLOCKS - left
    for _ in range(16 * BLOCKS - left):
        bits.draw()
    for kind in kinds:
        if kind == "32":
            assert next_uint32(stream) == bits.draw()
        elif kind == "64":
            assert next_uint64(stream) == bits.draw() + (bits.draw() << 32)
        else:
            assert below(stream, bound) == bits.below(bound)
