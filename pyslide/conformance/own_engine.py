"""``pyslide.engine`` as an implementation under test: every operation for a batch of one.

The engine takes input that was checked at the door, so that inputs are first put to the operation of the spec, which
refuses what makes no sense; its answer is thrown away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from pyslide.arrays import FloatArray, IntArray
from pyslide.conformance.operation import Given
from pyslide.conformance.operations import OPERATIONS
from pyslide.conformance.operations.layers import read_family, read_tables
from pyslide.conformance.operations.optimizing import read_optimizer
from pyslide.conformance.operations.tables import policy_of
from pyslide.conformance.own_engine_trace import batch_of, buckets_by_key, computed_layer, trace_stages
from pyslide.conventions import PAPER, Conventions
from pyslide.engine import backward, forward, hashing, keys, loss, network, optimizer, sampling, schedule, tables
from pyslide.engine.ragged import ActiveSets
from pyslide.parameters import DensifiedWinnerTakeAllParameters, Family, MinHashParameters, SimHashParameters
from pyslide.parameters import WinnerTakeAllParameters as WinnerTakeAll
from pyslide.spec.sampling import Sampling

WIDE = 62
"""Bits of a table's address that hold any key of a vector."""
Outputs = Mapping[str, Any]
"""Outputs by name."""


def one_set(neurons: IntArray) -> ActiveSets:
    """Return the active sets of a batch of one."""
    return ActiveSets(np.array([0, neurons.size]), neurons)


def flattened(buckets: list[IntArray]) -> tables.Buckets:
    """Return one sample's buckets."""
    members = np.concatenate([np.empty(0, dtype=np.int64), *buckets])
    return tables.Buckets(np.array([[bucket.size for bucket in buckets]], dtype=np.int64).reshape(1, -1), members)


def population_of(*ids: IntArray) -> int:
    """Return a number of neurons that holds all of these."""
    return 1 + max((int(one.max(initial=0)) for one in ids), default=0)


def held(given: Given) -> tables.Tables:
    """Return a table that is given by its keys, members and arrivals."""
    lengths = np.array([bucket.size for bucket in given["buckets"]], dtype=np.int64)
    members = np.concatenate([np.empty(0, dtype=np.int64), *given["buckets"]])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return tables.Tables(given["keys"].astype(np.int64), offsets, members, given["arrivals"], WIDE)


def plain_table(table: tables.Tables) -> Outputs:
    """Return a table as its keys, buckets and arrivals."""
    pairs = buckets_by_key(table)
    return {
        "keys": [key for key, _ in pairs],
        "buckets": [members for _, members in pairs],
        "arrivals": table.arrivals.tolist(),
    }


class Engine:
    """``pyslide.engine`` under given conventions, in float64."""

    name = "pyslide.engine"
    dtype: npt.DTypeLike = np.float64
    precision = "float64"

    def __init__(self, conventions: Conventions = PAPER) -> None:
        self.conventions = conventions

    def __getattribute__(self, name: str) -> Any:
        """Return a method; those that are operations refuse what the spec refuses."""
        method = super().__getattribute__(name)
        return partial(self._checked, name, method) if name in OPERATIONS else method

    def _checked(self, name: str, method: Callable[..., Outputs], **given: Any) -> Outputs:
        OPERATIONS[name].compute(given, self.conventions)
        return method(given)

    def _numbers(self, array: FloatArray) -> FloatArray:
        return array.astype(self.dtype)

    def _arrays(self, given: Given, *names: str) -> list[FloatArray]:
        return [self._numbers(given[name]) for name in names]

    def _codes(self, given: Given, family: Family) -> Outputs:
        codes, failures = hashing.hash_codes(batch_of(given, self.dtype), family, self.conventions)
        return {"codes": codes[0], "failures": failures[0]}

    def densify(self, given: Given) -> Outputs:
        """Return codes without empty bins."""
        answers = {
            name: getattr(self.conventions, name) for name in ("donor", "borrowed_code", "densification_failure")
        }
        columns = given["codes"][:, None], given["occupied"][:, None]
        codes, failures = hashing.densify(*columns, given["probes"], given["code_range"], **answers)
        return {"codes": codes[:, 0], "failures": failures[0]}

    def simhash_codes(self, given: Given) -> Outputs:
        """Return the signs of the inner products."""
        family = SimHashParameters(given["coordinates"], given["coefficients"], given["dimension"])
        return {"codes": self._codes(given, family)["codes"]}

    def wta_codes(self, given: Given) -> Outputs:
        """Return the places of the first maxima."""
        return {"codes": self._codes(given, WinnerTakeAll(given["bins"], given["dimension"]))["codes"]}

    def dwta_codes(self, given: Given) -> Outputs:
        """Return densified winner-take-all codes."""
        return self._codes(
            given, DensifiedWinnerTakeAllParameters(given["bins"], given["probes"], given["dimension"])
        )

    def minhash_codes(self, given: Given) -> Outputs:
        """Return densified MinHash codes."""
        parts = given["bins"], given["probes"], given["kept"], given["dimension"]
        return self._codes(given, MinHashParameters(*parts))

    def pack_key(self, given: Given) -> Outputs:
        """Return the packed codes."""
        digits = given["codes"].reshape(-1, 1, 1)  # (K, L, B)
        return {"key": str(int(keys.PACKINGS[self.conventions.packing](digits, given["base"])[0, 0]))}

    def fold_key(self, given: Given) -> Outputs:
        """Return the bucket of a wide key."""
        key, multiplier = (np.array([given[name]], dtype=np.uint64) for name in ("key", "multiplier"))
        return {"bucket": int(keys.fold_keys(key[:, None], multiplier, given["table_bits"])[0, 0])}

    def bucket_keys(self, given: Given) -> Outputs:
        """Return the keys of L tables."""
        rest = given["base"], given["codes_per_table"], given["table_bits"], given["multipliers"]
        return {"keys": keys.bucket_keys(given["codes"][None, :], *rest, self.conventions.packing)[0]}

    def neuron_keys(self, given: Given) -> Outputs:
        """Return the keys of all neurons."""
        plain = read_tables(given, Sampling(), 1)
        layer = computed_layer(given["weights"], given["biases"], plain, read_family(given), self.dtype)
        assert layer.tables is not None
        return {"keys": network.neuron_keys(layer, layer.tables, self.conventions)[0]}

    def build_table(self, given: Given) -> Outputs:
        """Return the table of all neurons."""
        order = given["order"] if self.conventions.insertion_order == "given_order" else np.arange(given["keys"].size)
        policy = policy_of(given, self.conventions)
        rows = given["keys"][:, None], order, given["capacity"], given["uniforms"][None, :]
        return plain_table(tables.build_tables(*rows, policy, WIDE))

    def insert_all(self, given: Given) -> Outputs:
        """Return the table after several arrivals."""
        arrivals = given["keys"], given["neurons"], given["capacity"], given["uniforms"]
        policy = policy_of(given, self.conventions)
        return plain_table(tables.insert_all(held(given["table"]), *arrivals, policy))

    def delete(self, given: Given) -> Outputs:
        """Return the table after one departure."""
        leaving = np.array([given["key"]]), np.array([given["neuron"]])
        return plain_table(tables.delete(held(given["table"]), *leaving))

    def move(self, given: Given) -> Outputs:
        """Return the table after some neurons' keys changed."""
        changes = given["old_keys"], given["new_keys"], given["neurons"], given["capacity"], given["uniforms"]
        policy = policy_of(given, self.conventions)
        return plain_table(tables.move(held(given["table"]), *changes, policy))

    def query_table(self, given: Given) -> Outputs:
        """Return the members of some buckets, one lookup a bucket."""
        table = held(given["table"])
        found = [tables.query_tables(table, np.array([[key]], dtype=np.int64)) for key in given["keys"]]
        return {"buckets": [one.members.tolist() for one in found]}

    def _sampled(self, given: Given, strategy: str) -> Outputs:
        settings = Sampling(
            strategy=strategy, budget=given.get("budget", 0), minimum_count=given.get("minimum_count", 1)
        )
        buckets = flattened(given["buckets"])
        order = given.get("order", np.arange(len(given["buckets"])))[None, :]
        population = population_of(buckets.members)
        chosen = sampling.sample(buckets, order, sampling.nobody(1), settings, self.conventions, population)
        return {"active": chosen.neurons}

    def union(self, given: Given) -> Outputs:
        """Return the union of the buckets."""
        return self._sampled(given, "union")

    def vanilla(self, given: Given) -> Outputs:
        """Return what vanilla sampling selects."""
        return self._sampled(given, "vanilla")

    def top_k(self, given: Given) -> Outputs:
        """Return what TopK sampling selects."""
        return self._sampled(given, "top_k")

    def hard_threshold(self, given: Given) -> Outputs:
        """Return what hard thresholding selects."""
        return self._sampled(given, "hard_threshold")

    def force_labels(self, given: Given) -> Outputs:
        """Return the active set with the labels."""
        labels = np.unique(given["labels"]) if self.conventions.label_forcing != "never" else np.empty(0, np.int64)
        population = population_of(given["selected"], labels)
        return {"active": sampling.force_labels(one_set(given["selected"]), one_set(labels), population).neurons}

    def pad(self, given: Given) -> Outputs:
        """Return the padded active set."""
        settings = Sampling(budget=given["budget"], minimum_active=given["minimum_active"])
        minimum = sampling.padding_target(settings, self.conventions)
        population = population_of(given["selected"], given["candidates"])
        padded = sampling.pad(one_set(given["selected"]), given["candidates"][None, :], minimum, population)
        return {"active": padded.neurons}

    def active_set(self, given: Given) -> Outputs:
        """Return the selected neurons, and with the padding the active set."""
        names = ("strategy", "budget", "minimum_count", "minimum_active")
        buckets, labels = flattened(given["buckets"]), np.unique(given["labels"])
        chosen = sampling.active_sets(
            buckets,
            given["order"][None, :],
            one_set(labels),
            given["candidates"][None, :],
            Sampling(**{name: given[name] for name in names}),
            self.conventions,
            population_of(buckets.members, labels, given["candidates"]),
        )
        return {"selected": chosen.selected.neurons, "active": chosen.active.neurons}

    def log_weights(self, given: Given) -> Outputs:
        """Return with what each active neuron enters the softmax."""
        sets = one_set(given["active"]), one_set(np.unique(given["selected"]))
        weights = sampling.log_weights(*sets, given["population"], self.conventions.padding_weight, self.dtype)
        return {"log_weights": weights}

    def preactivations(self, given: Given) -> Outputs:
        """Return the sums of the active neurons."""
        weights, biases = self._numbers(given["weights"]), self._numbers(given["biases"])
        inputs = batch_of({**given, "dimension": weights.shape[1]}, self.dtype)
        return {"sums": forward.preactivations(weights, biases, one_set(given["active"]), inputs).sums}

    def relu(self, given: Given) -> Outputs:
        """Return the activations of a hidden layer."""
        return {"outputs": forward.relu(self._numbers(given["sums"]))}

    def softmax(self, given: Given) -> Outputs:
        """Return the outputs of the last layer."""
        logits = self._numbers(given["logits"])
        return {"probabilities": forward.softmax(logits, np.array([0, logits.size]), self.conventions.softmax)}

    def targets(self, given: Given) -> Outputs:
        """Return the wanted outputs."""
        population = population_of(given["active"], given["labels"])
        return {"wanted": loss.targets(one_set(given["active"]), one_set(given["labels"]), population, self.dtype)}

    def cross_entropy(self, given: Given) -> Outputs:
        """Return the loss of one sample."""
        logits, wanted = self._numbers(given["logits"]), self._numbers(given["wanted"])
        return {"loss": loss.cross_entropy(logits, wanted, np.array([0, logits.size]))[0]}

    def output_error(self, given: Given) -> Outputs:
        """Return the derivatives by the logits, scaled for the batch."""
        probabilities, wanted = self._numbers(given["probabilities"]), self._numbers(given["wanted"])
        ends = np.array([0, wanted.size])
        error = backward.output_error(probabilities, wanted, ends, self.conventions.softmax)
        return {"error": error * backward.batch_scale(given["samples"], self.conventions.batch_reduction)}

    def backward(self, given: Given) -> Outputs:
        """Return the gradients of one layer for one sample, and the error of the layer below."""
        weights, error, active = self._numbers(given["weights"]), self._numbers(given["error"]), given["active"]
        inputs = batch_of({**given, "dimension": weights.shape[1]}, self.dtype)
        gradient = backward.sampled_gradient(error, one_set(active), inputs, weights.shape[0])
        whole = np.zeros(weights.shape, dtype=self.dtype)
        whole[gradient.rows] = optimizer.gradient_rows(gradient.left, gradient.right, slice(0, gradient.rows.size))
        below = backward.sampled_input_error(error, weights, one_set(active), inputs)
        return {
            "weight_gradient": whole[np.ix_(active, given["indices"])],
            "input_error": below.data,
            "error_below": backward.through_relu(below, inputs),
        }

    def adam(self, given: Given) -> Outputs:
        """Return weights and moments after one step of Adam."""
        values, gradient, first, second = self._arrays(given, "values", "gradient", "first", "second")
        settings = read_optimizer(given, "adam")
        optimizer.adam(gradient, first, second, given["step"], settings, self.conventions.adam_epsilon)
        values -= gradient
        return {"first": first, "second": second, "values": values}

    def sgd(self, given: Given) -> Outputs:
        """Return weights and velocity after one step of SGD."""
        values, gradient, velocity = self._arrays(given, "values", "gradient", "velocity")
        optimizer.sgd(gradient, velocity, read_optimizer(given, "sgd"))
        values -= gradient
        return {"velocity": velocity, "values": values}

    def update_rows(self, given: Given) -> Outputs:
        """Return a matrix of weights after a step that moves the touched rows."""
        values, first, second = self._arrays(given, "values", "first", "second")
        weights = optimizer.Weights(values, first, second, given["touches"].copy())
        rows = np.flatnonzero(given["touched"])
        left, right = sparse.csr_array(np.eye(rows.size)), self._numbers(given["gradient"])[rows]
        settings = read_optimizer(given, given["rule"])
        optimizer.update_rows(
            weights, rows, left.astype(self.dtype), right, given["step"], settings, self.conventions
        )
        moved = weights._asdict()
        if given["rule"] == "sgd":  # which leaves the second moment alone
            del moved["second"]
        return moved

    def rebuild_steps(self, given: Given) -> Outputs:
        """Return when the first few rebuilds fall due."""
        rest = given["count"], given["first_interval"], given["growth"]
        return {"times": schedule.rebuild_times(*rest), "steps": schedule.rebuild_steps(*rest)}

    def training_trace(self, given: Given) -> Outputs:
        """Return stages of several training steps."""
        return trace_stages(given, self.conventions, self.dtype)


class SingleEngine(Engine):
    """``pyslide.engine`` in float32, as it trains by default."""

    name = "pyslide.engine, float32"
    dtype = np.float32
    precision = "float32"
