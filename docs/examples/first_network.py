# %% [markdown]
# # A first network
#
# Rows with a few features and labels out of many: planted here, so that the example needs no file. `pyslide.load`
# reads files, and `load_standard_library` the data set that ships.

# %%
import numpy as np

from pyslide import Hashing, LayerSettings, Optimizer, Sampling, Trainer, TrainingSettings, exact_top_k
from pyslide.data import planted_dataset
from pyslide.defaults import CONVENTIONS
from pyslide.metrics import precision_at_k

data = planted_dataset(3000, 500, 400, np.random.default_rng(1), nonzeros_per_row=20, labels_per_row=1)
train, test = slice(0, 2500), slice(2500, 3000)
print(data.features.shape, data.labels.shape)

# %% [markdown]
# One hidden layer, and an output layer with tables: keys of K = 2 codes, L = 20 tables. What the tables find is
# filled up with random neurons to 60 of the 400, which enter with the inverse of their probability.

# %%
hashing = Hashing(family="dwta", codes_per_table=2, tables=20, sampling=Sampling(minimum_active=60))
layers = (LayerSettings(neurons=64), LayerSettings(neurons=400, hashing=hashing))
settings = TrainingSettings(layers=layers, optimizer=Optimizer(learning_rate=0.005), conventions=CONVENTIONS)
trainer = Trainer(settings, data.features[train], data.labels[train])

# %% [markdown]
# A callback is called after each step; what it returns joins `trainer.history`. Steps are there already.

# %%
trainer.run(epochs=8)
for epoch in range(8):
    steps = [row for row in trainer.history if row["epoch"] == epoch]
    loss, share = (np.mean([row[name] for row in steps]) for name in ("loss", "active_share"))
    print(f"epoch {epoch}: loss {loss:.2f}, {share:.0%} of the output neurons active")

# %% [markdown]
# Held-out rows are ranked with all neurons.

# %%
ranking = exact_top_k(trainer.network, data.features[test], k=5)
precision = precision_at_k(ranking.labels, data.labels[test], k=1)
print(f"P@1 {precision:.2f}")
assert precision > 0.6
