"""Small cases for the tests of the bench, and what they start in other processes."""

import os

import numpy as np

from pyslide.bench import SHAPES, Case
from pyslide.bench.cases import synthetic_rows
from pyslide.bench.memory import peak_resident_bytes
from pyslide.conventions import PAPER
from pyslide.defaults import CONVENTIONS
from pyslide.settings import Hashing
from pyslide.spec.sampling import Sampling

TINY = SHAPES["width-1000"]._replace(features=200, labels=60, nonzeros=9, hidden=16, batch=16)
TABLES = Hashing(codes_per_table=2, tables=5, sampling=Sampling(minimum_active=20))
PLAIN = PAPER


def tiny_case(steps=4, threads=1, conventions=CONVENTIONS, **shape):
    small = TINY._replace(**shape)
    return Case(synthetic_rows(small, steps), small, TABLES, conventions, threads)


class Served:
    """Something that works, fails, or dies when told."""

    def environment(self, name):
        return os.environ.get(name)

    def number(self):
        return os.getpid()

    def fail(self):
        raise ValueError("one too many")

    def die(self):
        os._exit(7)

    def allocate(self, numbers):
        self.array = np.ones(numbers)
        return peak_resident_bytes()


def broken():
    raise KeyError("cannot be built")
