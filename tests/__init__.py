"""Tests run in several processes at once, so libraries of matrices do not divide their work among threads besides:
these wait for each other busily, which takes longer than the work."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when numpy is imported
    os.environ.setdefault(name, "1")
