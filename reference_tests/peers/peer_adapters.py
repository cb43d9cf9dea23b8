"""Well-known packages as implementations under test: each offers the operations of ours that it has.

They are put to the kit like any other: ``pyslide verify --python reference_tests.peers.peer_adapters:Torch``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pyslide.conformance.replies import Skipped


def fitted(projection: Any, vectors: Any) -> Any:
    """Return a projection of scikit-learn, which warns of more components than coordinates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return projection.fit(vectors)


class ScikitLearn:
    """scikit-learn: softmax, and the signs of its random projections as SimHash."""

    name = "scikit-learn"

    def softmax(self, *, logits: Any) -> Any:
        """Return the softmax of one row."""
        from sklearn.utils.extmath import softmax

        if not np.isfinite(logits).all():
            raise ValueError("scikit-learn does not check")
        return softmax(logits[None, :])[0] if logits.size else logits

    def random_codes(self, *, family: str, bin_size: int, kept: int, vectors: Any, count: int, seed: int) -> Any:
        """Return the signs of Gaussian projections."""
        from sklearn.random_projection import GaussianRandomProjection

        if family != "simhash":
            raise Skipped("scikit-learn has no such family")
        projection = fitted(GaussianRandomProjection(n_components=count, random_state=seed), vectors)
        return (projection.transform(vectors) >= 0).astype(int)


class SparseScikitLearn(ScikitLearn):
    """scikit-learn's projections with three values, of density 1."""

    name = "scikit-learn, signs"

    def random_codes(self, *, family: str, bin_size: int, kept: int, vectors: Any, count: int, seed: int) -> Any:
        """Return the signs of projections of signs."""
        from sklearn.random_projection import SparseRandomProjection

        if family != "simhash":
            raise Skipped("scikit-learn has no such family")
        projection = fitted(SparseRandomProjection(n_components=count, density=1.0, random_state=seed), vectors)
        signs = np.sign(projection.components_)  # a scale that rounds would hide ties
        return (np.asarray(vectors @ signs.T) >= 0).astype(int)


class Datasketch:
    """datasketch: MinHash, a permutation of universal hashing for each code."""

    name = "datasketch"

    def random_codes(self, *, family: str, bin_size: int, kept: int, vectors: Any, count: int, seed: int) -> Any:
        """Return the minima of the largest coordinates."""
        from datasketch import MinHash

        if family != "minhash":
            raise Skipped("datasketch has no such family")
        codes = []
        for vector in vectors:
            sketch = MinHash(num_perm=count, seed=seed % 2**32)
            sketch.update_batch([str(one).encode() for one in np.argsort(-vector, kind="stable")[:kept]])
            codes.append(sketch.hashvalues.astype(np.int64))
        return np.array(codes)


class Faiss:
    """faiss: the bits of ``IndexLSH``, each of an index of its own, since one index's rotation is orthogonal."""

    name = "faiss"

    def random_codes(self, *, family: str, bin_size: int, kept: int, vectors: Any, count: int, seed: int) -> Any:
        """Return the signs of random rotations."""
        import faiss

        if family != "simhash":
            raise Skipped("faiss has no such family")
        dimension = vectors.shape[1]
        bits = []
        for number in range(count):
            rotation = faiss.RandomRotationMatrix(dimension, 1)
            rotation.init((1000 * seed + number) % 2**31)
            bits.append(rotation.apply(vectors.astype(np.float32))[:, 0] >= 0)
        return np.array(bits).T.astype(int)


class Torch:
    """PyTorch: activations, the loss, and the optimisers, in float64."""

    name = "PyTorch"

    @staticmethod
    def _tensors(*arrays: Any) -> Any:
        import torch

        for array in arrays:
            if not np.isfinite(array).all():
                raise ValueError("PyTorch does not check")
        return [torch.tensor(np.asarray(array, dtype=np.float64)) for array in arrays]

    def relu(self, *, sums: Any) -> Any:
        """Return max(0, z)."""
        (tensor,) = self._tensors(sums)
        return tensor.relu().numpy()

    def softmax(self, *, logits: Any) -> Any:
        """Return the softmax."""
        (tensor,) = self._tensors(logits)
        return tensor.softmax(0).numpy()

    def cross_entropy(self, *, logits: Any, wanted: Any) -> Any:
        """Return the loss against wanted probabilities."""
        import torch

        if logits.shape != wanted.shape:
            raise ValueError("expected as many logits as wanted outputs")
        if not wanted.any():
            return 0.0
        return float(torch.nn.functional.cross_entropy(*self._tensors(logits, wanted)))

    def output_error(self, *, probabilities: Any, wanted: Any, samples: int) -> Any:
        """Return the derivative by the logits, by automatic differentiation."""
        import torch

        if samples < 1 or probabilities.shape != wanted.shape:
            raise ValueError("expected a batch, and as many wanted outputs as probabilities")
        if not (probabilities > 0).all() or abs(probabilities.sum() - 1) > 1e-9:
            raise Skipped("needs the logits of positive probabilities that sum to 1")
        logits, targets = self._tensors(np.log(probabilities), wanted)
        logits.requires_grad_()
        (torch.nn.functional.cross_entropy(logits, targets) / samples).backward()
        return logits.grad.numpy()

    def preactivations(self, *, weights: Any, biases: Any, active: Any, indices: Any, values: Any) -> Any:
        """Return the sums of the active neurons by a dense product."""
        import torch

        if (np.diff(active) <= 0).any() or (np.diff(indices) <= 0).any() or biases.size != len(weights):
            raise ValueError("PyTorch does not check")
        rows, offsets, entries = self._tensors(weights, biases, values)
        dense = torch.zeros(rows.shape[1], dtype=torch.float64)
        dense[torch.tensor(indices)] = entries
        return torch.nn.functional.linear(dense, rows, offsets)[torch.tensor(active)].numpy()

    def adam(
        self, *, values: Any, gradient: Any, first: Any, second: Any, step: int, learning_rate: float,
        first_decay: float, second_decay: float, epsilon: float,
    ) -> dict[str, Any]:
        """Return weights and moments after a step of ``torch.optim.Adam``."""
        import torch

        if step < 1 or epsilon <= 0 or gradient.shape != values.shape:
            raise ValueError("PyTorch does not check")
        weights, slope, mean, square = self._tensors(values, gradient, first, second)
        weights.grad = slope
        optimizer = torch.optim.Adam([weights], learning_rate, (first_decay, second_decay), epsilon)
        optimizer.state[weights] = {
            "step": torch.tensor(float(step - 1)), "exp_avg": mean, "exp_avg_sq": square
        }  # fmt: skip
        optimizer.step()
        return {"values": weights.numpy(), "first": mean.numpy(), "second": square.numpy()}

    def sgd(
        self, *, values: Any, gradient: Any, velocity: Any, learning_rate: float, momentum: float
    ) -> dict[str, Any]:
        """Return weights and velocity after a step of ``torch.optim.SGD``."""
        import torch

        if not 0 <= momentum < 1 or learning_rate <= 0:
            raise ValueError("PyTorch does not check")
        weights, slope, buffer = self._tensors(values, gradient, velocity)
        weights.grad = slope
        optimizer = torch.optim.SGD([weights], learning_rate, momentum)
        optimizer.state[weights] = {"momentum_buffer": buffer}
        optimizer.step()
        return {"values": weights.numpy(), "velocity": buffer.numpy() if momentum else gradient}
