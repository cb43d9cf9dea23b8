"""Random candidates become an active set: sampled softmax, the baseline (Bengio and Senecal 2008; Jean et al. 2015).

S candidate classes are drawn without replacement for a whole batch, whatever its inputs are.  A sample's active set is
the candidates and its own labels.  From each logit the logarithm of the class's expected count Q in the draw is
subtracted, so that frequent candidates weigh less; from the labels' too, which is what TensorFlow's
``sampled_softmax_loss`` does: a label then weighs as the candidate that it might have been, although it is always
there.
"""

from __future__ import annotations

import numpy as np

from pyslide.arrays import FloatArray, IntArray


def candidate_set(candidates: IntArray, labels: IntArray) -> IntArray:
    """Return the candidates and the sample's labels, ascending; a candidate that is a label is a label, once."""
    return np.union1d(candidates, labels)


def log_uniform_probabilities(ranks: IntArray, population: int) -> FloatArray:
    """Return how probable one log-uniform draw is to give each of some classes: log((r + 2) / (r + 1)) / log(n + 1).

    About Zipf's law, and without a sum over all classes.

    Parameters
    ----------
    ranks : ndarray of int
        Places of the classes by falling frequency, from 0.
    population : int
        n, all classes.
    """
    return np.log1p(1 / (ranks + 1.0)) / np.log(population + 1.0)


def expected_counts(ranks: IntArray, distribution: str, candidates: int, tries: int, population: int) -> FloatArray:
    """Return Q, how often some classes are expected among the candidates: the probability that they are drawn.

    A uniform draw of S from n has every class with probability S/n.  A log-uniform one is made class by class, and a
    class that came before is dropped, until S are distinct; in so many tries a class of probability p comes at least
    once with probability 1 - (1 - p)^tries.  (That is exact for a number of tries given beforehand; that it depends
    on the draw is neglected, as in TensorFlow's ``log_uniform_candidate_sampler``.)

    Parameters
    ----------
    ranks : ndarray of int
        Places of the classes by falling frequency, from 0.
    distribution : {"uniform", "log_uniform"}
    candidates : int
        S.
    tries : int
        The draws that were made, those of classes that came before included.
    population : int
        n.
    """
    if distribution == "uniform":
        return np.full(ranks.size, candidates / population)
    with np.errstate(divide="ignore"):  # of one class alone the logarithm is -inf, and Q is 1
        return -np.expm1(tries * np.log1p(-log_uniform_probabilities(ranks, population)))


def candidate_log_weights(
    ranks: IntArray, distribution: str, candidates: int, tries: int, population: int
) -> FloatArray:
    """Return what is added to the logits of the active classes: -log Q, of candidates and labels alike (section 3).

    Q is the same for all under the uniform distribution, and a softmax does not change by a constant: there the
    correction does nothing.

    Parameters
    ----------
    ranks : ndarray of int, shape (s,)
        Of the active classes.
    distribution, candidates, tries, population
        See `expected_counts`.
    """
    return -np.log(expected_counts(ranks, distribution, candidates, tries, population))
