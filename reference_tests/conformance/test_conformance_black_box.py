"""Random choices judged by counts: right ones pass, and each known fault is caught and named."""

import numpy as np
import pytest

from pyslide.cli import main
from pyslide.conformance import random_claims as subject
from pyslide.conformance.operations import OPERATIONS, RANDOM_OPERATIONS
from pyslide.conformance.own import Specification
from pyslide.conformance.python_adapter import PythonAdapter
from pyslide.conformance.random_claims import claims
from pyslide.conformance.verifying import Verifier
from pyslide.conventions import ORIGINAL_CPP, PAPER


class OnlyRandom:
    """The random operations of an implementation, by default the spec's."""

    def __init__(self, conventions=PAPER):
        self.own = Specification(conventions)

    def random_codes(self, **given):
        return self.own.random_codes(**given)["codes"]

    def random_keys(self, **given):
        return self.own.random_keys(**given)["keys"]

    def random_reservoirs(self, **given):
        return self.own.random_reservoirs(**given)["buckets"]

    def random_active_sets(self, **given):
        return self.own.random_active_sets(**given)["active"]


class BiasedSigns(OnlyRandom):
    """Signs are + in 53 of 100 cases; d = 6, of which 2 coordinates are chosen."""

    def random_codes(self, *, family, vectors, count, seed, **rest):
        if family != "simhash":
            return super().random_codes(family=family, vectors=vectors, count=count, seed=seed, **rest)
        generator = np.random.default_rng(seed)
        signs = np.where(generator.random((count, 6)) < 0.53, 1.0, -1.0)
        chosen = np.argsort(generator.random((count, 6)), axis=1) < 2
        return (vectors @ (signs * chosen).T >= 0).astype(int)


class DroppedTable(OnlyRandom):
    """The last table repeats the one before."""

    def random_keys(self, **given):
        keys = np.array(super().random_keys(**given))
        keys[:, :, -1] = keys[:, :, -2]
        return keys.tolist()


class WrongPower(OnlyRandom):
    """A code less is packed."""

    def random_keys(self, *, codes_per_table, **given):
        return super().random_keys(codes_per_table=codes_per_table - 1, **given)


class SwappedKeys(OnlyRandom):
    """K and L are swapped: 3 codes for each of 2 tables, of which the second is counted twice."""

    def random_keys(self, *, codes_per_table, tables, **given):
        keys = np.array(super().random_keys(codes_per_table=tables, tables=codes_per_table, **given))
        return np.concatenate([keys, keys[:, :, -1:]], axis=2).tolist()


class FixedOrder(OnlyRandom):
    """Tables are read in their own order."""

    def random_active_sets(self, *, buckets, budget, count, strategy, **given):
        if strategy != "vanilla":
            return super().random_active_sets(buckets=buckets, budget=budget, count=count, strategy=strategy, **given)
        return [subject.vanilla(buckets, np.arange(len(buckets)), budget, PAPER.vanilla_stop).tolist()] * count


class PaddingInVain(OnlyRandom):
    """As many random neurons as are missing, whether or not they are in already."""

    def random_active_sets(self, *, buckets, minimum_active, population, count, seed, strategy, **given):
        if strategy == "vanilla":
            return super().random_active_sets(
                buckets=buckets, minimum_active=minimum_active, population=population, count=count, seed=seed,
                strategy=strategy, **given,
            )  # fmt: skip
        generator = np.random.default_rng(seed)
        known = sorted({int(neuron) for bucket in buckets for neuron in bucket})
        missing = minimum_active - len(known)
        return [sorted({*known, *generator.permutation(population)[:missing].tolist()}) for _ in range(count)]


def judge(implementation, profile=PAPER, like=""):
    wanted = [claim for claim in claims(profile) if claim.id.startswith(like)]
    report = Verifier(profile=profile).verify(PythonAdapter(implementation), [], wanted)
    return {finding.case.id: finding for finding in report.findings}, report


@pytest.mark.parametrize("conventions", [PAPER, ORIGINAL_CPP], ids=["PAPER", "ORIGINAL_CPP"])
def test_the_spec_draws_as_its_conventions_say(conventions):
    _, report = judge(OnlyRandom(conventions), conventions)
    assert report.conforms
    assert set(report.counts) == {"passed"}


def test_seeds_vary_and_repeat():
    asked = {"vectors": np.array(subject.TIES), "codes_per_table": 2, "tables": 3, "count": 5}
    first, again, other = (Specification().random_keys(**asked, seed=seed)["keys"] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("implementation", "failing", "words"),
    [
        (OnlyRandom(PAPER.replace(bucket_policy="reservoir_one_over_n")), "random-reservoirs-arrival-9", "with 1/n"),
        (OnlyRandom(PAPER.replace(projection="gaussian")), "random-codes-simhash", "Gaussian"),
        (OnlyRandom(PAPER.replace(sign_bit="zero_at_zero_or_above")), "random-codes-ties", "the other bit"),
        (BiasedSigns(), "random-codes-fair-signs", ""),
        (DroppedTable(), "random-keys-any-table", "one table less"),
        (WrongPower(), "random-keys-table-0", "1 codes a table"),
        (SwappedKeys(), "random-keys-any-table", "K and L swapped"),
        (FixedOrder(), "random-active-sets-vanilla-8", "same order"),
        (PaddingInVain(), "random-active-sets-padding-0", "in vain"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, OnlyRandom) else None,
)
def test_wrong_draws_are_caught_and_named(implementation, failing, words):
    operation = "-".join(failing.split("-")[:2])
    found, report = judge(implementation, like=operation)
    assert not report.conforms
    assert found[failing].status == "failed"
    assert words in " ".join(found[failing].explanations)


def test_answers_that_are_none_are_errors():
    class Short(OnlyRandom):
        def random_reservoirs(self, **given):
            return super().random_reservoirs(**given)[:-1]

        def random_keys(self, **given):
            return 3

    found, _ = judge(Short())
    assert found["random-reservoirs-arrival-0"].status == "errored"
    assert "expected 1000 draws, got 999" in found["random-reservoirs-arrival-0"].message
    assert found["random-keys-table-0"].status == "errored"


def test_random_operations_have_no_vectors():
    assert not set(RANDOM_OPERATIONS) & set(OPERATIONS)
    assert {claim.operation for claim in claims()} == set(RANDOM_OPERATIONS)


def test_one_claim_can_be_asked_again(capsys):
    arguments = ["verify", "--python", "pyslide.conformance.own:Specification", "--case", "random-codes-wta"]
    assert main(arguments) == 0
    assert "1 passed" in capsys.readouterr().out


@pytest.mark.parametrize("seed", [1, 2])
def test_arbitrary_inputs_can_be_made_anew(capsys, seed):
    whole = ["verify", "--python", "pyslide.conformance.own_engine:Engine", "--vary-seed", str(seed)]
    assert main(whole) == 0
    assert " failed" not in capsys.readouterr().out.splitlines()[-1]


def test_a_varied_case_has_other_inputs(tmp_path, capsys):
    for name, extra in (("plain", []), ("varied", ["--vary-seed", "3"])):
        assert main(["export", str(tmp_path / name), "--case", "softmax-plain-01", *extra]) == 0
    plain, varied = ((tmp_path / name / "inputs.jsonl").read_text() for name in ("plain", "varied"))
    assert plain != varied
