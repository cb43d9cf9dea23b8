"""SLIDE, one sample at a time: the algorithm as a person reads it.

The rooms in the order in which data flows through them:

1. `~pyslide.spec.vectors`: what flows: sparse vectors
2. `~pyslide.spec.hashing`: a vector becomes K*L codes
3. `~pyslide.spec.keys`: K codes become the key of a bucket
4. `~pyslide.spec.tables`: neurons are kept in buckets
5. `~pyslide.spec.sampling`: buckets become an active set; `~pyslide.spec.candidates`: or random candidates do
6. `~pyslide.spec.forward`: activations of the active set
7. `~pyslide.spec.loss`: what the output should have been
8. `~pyslide.spec.backward`: gradients of the active weights
9. `~pyslide.spec.optimizer`: the weights move
10. `~pyslide.spec.schedule`: when tables are rebuilt
11. `~pyslide.spec.step`: all of it, once
12. `~pyslide.spec.inference`: what the trained network predicts

Everything is float64.  Nothing is mutated, and nothing is random: every projection, permutation, draw and order
is an argument.
"""
