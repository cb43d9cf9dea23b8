# %% [markdown]
# # Exact and sampled top k
#
# A trained network can rank all labels, or only those that its tables give. The second reads fewer weights and
# misses some of the best; how many, is its recall.

# %%
import numpy as np

from pyslide import (
    PAPER,
    Hashing,
    LayerSettings,
    Optimizer,
    Sampling,
    Trainer,
    TrainingSettings,
    exact_top_k,
    sampled_top_k,
)
from pyslide.data import planted_dataset
from pyslide.defaults import CONVENTIONS
from pyslide.inference import recall_against
from pyslide.metrics import precision_at_k

data = planted_dataset(3000, 500, 400, np.random.default_rng(1), nonzeros_per_row=20, labels_per_row=1)


def trained(codes_per_table):
    """Return a network whose keys have so many codes, in 40 tables, with its keys up to date."""
    hashing = Hashing(codes_per_table=codes_per_table, tables=40, sampling=Sampling(minimum_active=60))
    layers = (LayerSettings(neurons=64), LayerSettings(neurons=400, hashing=hashing))
    settings = TrainingSettings(layers=layers, optimizer=Optimizer(learning_rate=0.005), conventions=CONVENTIONS)
    trainer = Trainer(settings, data.features[:2500], data.labels[:2500])
    trainer.run(epochs=8)
    trainer.rebuild(new_functions=False)
    return trainer.network


# %% [markdown]
# More codes a key make buckets purer: fewer neurons are computed, and more of the best are missed. A row whose
# buckets hold fewer than k neurons has -1 in the places that are left.

# %%
features, labels = data.features[2500:], data.labels[2500:]
recalls = []
for codes_per_table in (1, 2, 3):
    network = trained(codes_per_table)
    exact, sampled = exact_top_k(network, features, k=5), sampled_top_k(network, features, 5, PAPER)
    recalls.append(recall_against(exact, sampled).mean())
    best = [precision_at_k(ranking.labels, labels, k=1) for ranking in (exact, sampled)]
    print(f"K={codes_per_table}: recall {recalls[-1]:.2f}, P@1 exact {best[0]:.2f}, sampled {best[1]:.2f}")
assert recalls == sorted(recalls, reverse=True)
