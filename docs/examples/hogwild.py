# %% [markdown]
# # A race, replayed
#
# Workers without locks read weights that others change meanwhile. The simulator takes the order of events as data: a
# batch *reads* (its forward and backward pass), *gathers* the rows that it is about to write and computes their new
# values, and *writes*. So what happened can be replayed, and what might happen can be tried.

# %%
import numpy as np

from pyslide import PAPER, Hashing, LayerSettings, Optimizer, Sampling, Trainer, TrainingSettings
from pyslide.data import planted_dataset
from pyslide.simulator import Act, BatchData, Event, Interleaving, own_copy, replay, serialised, with_staleness

data = planted_dataset(64, 50, 30, np.random.default_rng(1), nonzeros_per_row=8, labels_per_row=1)
hashing = Hashing(codes_per_table=1, tables=4, bin_size=4, sampling=Sampling(minimum_active=8))
layers = (LayerSettings(neurons=16), LayerSettings(neurons=30, hashing=hashing))
trainer = Trainer(TrainingSettings(layers=layers, dtype="float64"), data.features, data.labels)
batches = [
    BatchData(trainer.features[rows], trainer.labels[rows], trainer.draws(16))
    for rows in (np.arange(start, start + 16) for start in range(0, 64, 16))
]


def after(interleaving):
    """Return the output weights after four batches in this order."""
    network = own_copy(trainer.network)
    replay(network, batches, interleaving, Optimizer(rule="sgd", learning_rate=1.0), PAPER)
    return network.layers[-1].weights


# %% [markdown]
# One worker: every batch is done before the next begins.

# %%
alone = after(serialised(4))

# %% [markdown]
# Two batches read the same weights, and both write. The second gathers before the first has written, so that it
# overwrites rows that they share: the first one's update of these is lost.

# %%
READ, GATHER, WRITE = Act.READ, Act.GATHER, Act.WRITE
race = [Event(0, READ), Event(1, READ), Event(0, GATHER), Event(1, GATHER), Event(0, WRITE), Event(1, WRITE)]
rest = [Event(batch, act) for batch in (2, 3) for act in (READ, GATHER, WRITE)]
raced = after(Interleaving(tuple(race + rest)))
print("staleness of the batches:", Interleaving(tuple(race + rest)).staleness().tolist())
print(f"largest difference from one worker: {np.abs(raced - alone).max():.4f}")
assert np.abs(raced - alone).max() > 0

# %% [markdown]
# If batch 1 gathers just before it writes, it misses the write of batch 0 in what it read, but nothing is
# overwritten.

# %%
for staleness in range(4):
    difference = np.abs(after(with_staleness(4, staleness)) - alone).max()
    print(f"every batch misses {staleness} writes: largest difference {difference:.4f}")
assert np.array_equal(after(with_staleness(4, 0)), alone)
