"""Plans from counts: how many people of which value go where, before anybody's quasi-identifiers meet their value.

Here belongs what sees counts, limits and public information only (levels, planner, buckets, program), or
quasi-identifiers and public information only (blocks, knowledge). Proofs against an insider rest on that; so nothing
here is given a person together with their sensitive value, but for `levels.draw`, which draws uniformly among those
with a value. Methods stand in the rooms beside this one.
"""
