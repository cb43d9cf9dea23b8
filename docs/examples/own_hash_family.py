# %% [markdown]
# # A hash family of your own
#
# Any object with `dimension`, `code_count`, `code_range` and `codes(indices, values)` is a hash family. This one is
# the cross-polytope hash: a vector is projected on r random directions, and its code says which projection is the
# largest in size, and its sign. `batch_codes` does the same for a CSR matrix, and is optional.

# %%
import numpy as np

from pyslide import Hashing, LayerSettings, Optimizer, Sampling, Trainer, TrainingSettings, exact_top_k
from pyslide.conventions import PAPER
from pyslide.data import planted_dataset
from pyslide.metrics import precision_at_k
from pyslide.parameters import HashFamily
from pyslide.spec.hashing import hash_codes
from pyslide.spec.vectors import from_dense


class CrossPolytope:
    """The place of the largest projection in size; 2r codes, two for each direction."""

    def __init__(self, generator, count, directions, dimension):
        self.projections = generator.standard_normal((count, directions, dimension))  # (C, r, d)
        self.dimension, self.code_count, self.code_range = dimension, count, 2 * directions

    def codes(self, indices, values):
        return self._codes(self.projections[:, :, indices] @ values)

    def batch_codes(self, rows):
        count, directions, dimension = self.projections.shape
        products = rows @ self.projections.reshape(count * directions, dimension).T
        return self._codes(products.reshape(-1, count, directions))

    @staticmethod
    def _codes(products):
        largest = np.argmax(np.abs(products), axis=-1)
        chosen = np.take_along_axis(products, largest[..., None], axis=-1)[..., 0]
        return 2 * largest + (chosen < 0)


family = CrossPolytope(np.random.default_rng(0), count=2000, directions=4, dimension=32)
assert isinstance(family, HashFamily)

# %% [markdown]
# Is it one? Similar vectors have to share codes more often, which is measured here. Opposite ones never do.

# %%
generator = np.random.default_rng(1)
x, noise = generator.standard_normal((2, 32))
noise -= noise @ x / (x @ x) * x
noise *= np.linalg.norm(x) / np.linalg.norm(noise)
first = hash_codes(from_dense(x), family, PAPER).codes
shares = []
for angle in (0, 30, 60, 90, 180):
    other = np.cos(np.radians(angle)) * x + np.sin(np.radians(angle)) * noise
    shares.append(np.mean(first == hash_codes(from_dense(other), family, PAPER).codes))
    print(f"{angle:3} degrees: {shares[-1]:.3f} of the codes are equal")
assert shares[0] == 1
assert shares[-1] == 0
assert shares == sorted(shares, reverse=True)

# %% [markdown]
# To train with it, let the settings ask for the right K and L, put the family in the place of the one that was
# drawn, and rebuild.

# %%
data = planted_dataset(1500, 200, 100, np.random.default_rng(2), nonzeros_per_row=15, labels_per_row=1)
hashing = Hashing(codes_per_table=2, tables=15, sampling=Sampling(minimum_active=20))
layers = (LayerSettings(neurons=32), LayerSettings(neurons=100, hashing=hashing))
settings = TrainingSettings(layers=layers, optimizer=Optimizer(learning_rate=0.005))
trainer = Trainer(settings, data.features, data.labels)
trainer.network.layers[-1].tables.family = CrossPolytope(np.random.default_rng(3), 2 * 15, directions=4, dimension=32)
trainer.rebuild(new_functions=False)
trainer.run(epochs=20)
precision = precision_at_k(exact_top_k(trainer.network, data.features, k=1).labels, data.labels, k=1)
print(f"P@1 on the training rows {precision:.2f}")
assert precision > 0.6
