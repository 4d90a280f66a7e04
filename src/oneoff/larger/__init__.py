"""TABLES LARGER THAN MEMORY: the same methods, block by block, on any engine.

A table in many files is counted once (`header`: the domain of every column), coded, cut along its quasi-identifiers
into blocks that fit a worker (`cutting`), and each block is anonymized, checked and written by the functions that do it
for a table in memory (`block`). What the blocks say adds up to what is said of the release (`publishing`).
"""
