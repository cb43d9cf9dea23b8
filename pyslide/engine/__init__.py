"""SLIDE, a batch at a time: the rooms of `pyslide.spec` under the same names, vectorised.

Every function gives for row i of a batch what its twin in ``spec`` gives for sample i: codes, keys, buckets and active
sets exactly, floating-point numbers within the rounding of the chosen precision.

A batch of vectors is a dense array (every coordinate is an entry) or a CSR array (its stored elements are the entries).
What belongs to active neurons is ragged: one flat array, cut by offsets.
"""
