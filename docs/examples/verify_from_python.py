# %% [markdown]
# # Verify an implementation from Python
#
# What `pyslide verify` does can be done from Python: choose vectors, put them to an object, read the report. The
# object has methods that are named like the kit's operations. Here TopK keeps the *larger* of two ids that occur
# equally often, and the reservoir accepts the n-th arrival with probability 1/n in place of R/n.

# %%
import random
from collections import Counter

from pyslide.conformance.library import computed
from pyslide.conformance.python_adapter import PythonAdapter
from pyslide.conformance.random_claims import claims
from pyslide.conformance.reports import terminal
from pyslide.conformance.verifying import Verifier, selected


class Mine:
    """Three operations, of which two are wrong."""

    def hard_threshold(self, *, buckets, minimum_count):
        if minimum_count < 1:
            raise ValueError("minimum_count")
        counts = Counter(neuron for bucket in buckets for neuron in bucket)
        return sorted(neuron for neuron, count in counts.items() if count >= minimum_count)

    def top_k(self, *, buckets, budget):
        if budget < 0:
            raise ValueError("budget")
        counts = Counter(neuron for bucket in buckets for neuron in bucket)
        return sorted(sorted(counts, key=lambda neuron: (-counts[neuron], -neuron))[:budget])

    def random_reservoirs(self, *, capacity, arrivals, count, seed):
        draw = random.Random(seed)
        buckets = []
        for _ in range(count):
            members = list(range(capacity))
            for neuron in range(capacity, arrivals):
                if draw.random() < 1 / (neuron + 1):
                    members[draw.randrange(capacity)] = neuron
            buckets.append(members)
        return buckets


# %% [markdown]
# A vector for every edge of an operation, and claims about random choices, which are counted. Nothing is random for
# the vectors.

# %%
vectors = selected(computed(), ["hard_threshold", "top_k"])
laws = [claim for claim in claims() if claim.operation == "random_reservoirs"]
report = Verifier().verify(PythonAdapter(Mine()), vectors, laws)
print(terminal(report))

# %% [markdown]
# The report can be asked, too.

# %%
wrong = {finding.case.operation for finding in report.findings if finding.unexpected}
print(sorted(wrong))
assert not report.conforms
assert wrong == {"random_reservoirs", "top_k"}
