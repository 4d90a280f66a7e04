"""WHERE IT RUNS: a function over blocks of rows, and the merging of what it counts.

Everything so far runs in the calling process, where one table fits in memory; an engine for larger ones comes here
and ships the same kernels. Nothing in here decides what is published.
"""
