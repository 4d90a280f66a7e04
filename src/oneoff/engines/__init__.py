"""WHERE IT RUNS: the waist between an algorithm over blocks of rows and the machines that hold them.

An engine knows how to open a table in many files, to count over all of it, to change it batch by batch and to bring
the rows of a block together (`waist`). It knows nothing about people, promises or methods; what runs on it
(`oneoff.larger`) knows nothing about machines. There is one algorithm and several callers.
"""

from oneoff.engines.waist import ENGINES, Engine, Frame, TextFormat, engine

__all__ = ["ENGINES", "Engine", "Frame", "TextFormat", "engine"]
