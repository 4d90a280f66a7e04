"""HOW: one public function per file, named as in its paper, from a table and a promise to a plan.

A mechanism asks a promise only for its rule or its limits, so each serves every promise of its kind. Randomness comes
in as a generator. Nothing here writes a value or judges a release: that is for `releases` and `audit`.
"""
