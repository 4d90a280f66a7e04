"""Compiled loops: arrays in, arrays out.

No validation, no labels, no random generator and no file in here; every kernel has a slow obvious twin in the tests.
Importing a module of this room imports numba, so the rooms above do it inside the functions that need it.
"""
