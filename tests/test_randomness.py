"""Secrets are drawn from the keystream of a key, evenly, and the source gives nothing else away."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from hypothesis import given
from hypothesis import strategies as st

from oneoff.randomness import ChaCha20, secret_generator

KEY = bytes(range(32))


def keystream(key: bytes, size: int) -> bytes:
    return Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(size))


@given(st.binary(min_size=32, max_size=32))
def test_numpy_gets_the_keystream(key: bytes) -> None:
    words = np.frombuffer(keystream(key, 8 * 300), dtype="<u8")
    assert ChaCha20(key).random_raw(300).tolist() == words.tolist()
    assert secret_generator(key).bytes(300) == keystream(key, 300)
    assert secret_generator(key).integers(2**64, size=300, dtype=np.uint64).tolist() == words.tolist()
    assert secret_generator(key).random(300).tolist() == [(word >> 11) / 2**53 for word in words.tolist()]
    halves = np.frombuffer(keystream(key, 400), dtype="<u4")
    assert secret_generator(key).integers(2**32, size=100, dtype=np.uint32).tolist() == halves.tolist()


def test_a_key_repeats_and_no_key_does_not() -> None:
    one, two, other = secret_generator(KEY), secret_generator(KEY), secret_generator(KEY[::-1])
    assert one.permutation(1000).tolist() == two.permutation(1000).tolist() != other.permutation(1000).tolist()
    assert one.bytes(8) == two.bytes(8), "they went on alike"
    assert len({secret_generator().bytes(16) for _ in range(20)}) == 20


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), bytes(64)])
def test_a_key_has_32_bytes(key: bytes) -> None:
    with pytest.raises(ValueError, match=r"shape|size"):
        secret_generator(key)


def test_the_stream_outlives_who_made_it() -> None:
    """NumPy keeps an address: what stands there must stay."""
    rngs = [secret_generator(KEY) for _ in range(200)]
    rubbish = [np.full(2000, 7, dtype=np.uint32) for _ in range(200)]
    assert len({rng.bytes(5000) for rng in rngs}) == 1
    assert len(rubbish) == 200


def test_a_source_is_never_doubled() -> None:
    """Two sources of the same secrets would draw the same twice; a pickle would write the key to a disk."""
    rng = secret_generator(KEY)
    for double in (copy.deepcopy, pickle.dumps, lambda each: each.spawn(2), lambda each: copy.copy(each.bit_generator)):
        with pytest.raises((NotImplementedError, TypeError)):
            double(rng)


def chi_square(counts: list[int]) -> float:
    """In deviations from what is expected, for many classes nearly normal."""
    expected, free = sum(counts) / len(counts), len(counts) - 1
    return (sum((count - expected) ** 2 / expected for count in counts) - free) / (2 * free) ** 0.5


def test_draws_are_even() -> None:
    rng = secret_generator(KEY)
    orders = Counter(tuple(row) for row in rng.permuted(np.tile(np.arange(4), (24_000, 1)), axis=1).tolist())
    assert abs(chi_square([orders[order] for order in permutations(range(4))])) < 4
    assert abs(chi_square(np.bincount(rng.integers(0, 1000, 100_000), minlength=1000).tolist())) < 4
    assert abs(chi_square(np.histogram(rng.random(100_000), 500, (0, 1))[0].tolist())) < 4
    assert abs(chi_square(np.bincount(np.frombuffer(rng.bytes(100_000), dtype=np.uint8), minlength=256).tolist())) < 4


@pytest.mark.slow
def test_whole_permutations_are_even() -> None:
    rng, draws = secret_generator(KEY), 50_000
    orders = Counter(tuple(rng.permutation(6).tolist()) for _ in range(draws))
    assert abs(chi_square([orders[order] for order in permutations(range(6))])) < 4
    at = np.stack([np.bincount(column, minlength=40) for column in _shuffles(rng, 40, 20_000).T])
    assert max(abs(chi_square(row.tolist())) for row in at) < 4.5


def _shuffles(rng: np.random.Generator, people: int, times: int) -> np.ndarray:
    return np.stack([rng.permutation(people) for _ in range(times)])


@pytest.mark.slow
def test_chance_works_where_kernels_are_followed_line_by_line() -> None:
    """NUMBA_DISABLE_JIT makes Python functions of kernels; NumPy still needs machine code."""
    code = f"from oneoff.randomness import secret_generator as made; print(made({KEY!r}).bytes(40).hex())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.strip() == keystream(KEY, 40).hex()
