"""Verification: right implementations pass, wrong ones are told what they do, and bad harnesses are survived."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from pyslide.cli import main
from pyslide.conformance.known_failures import KnownFailure
from pyslide.conformance.library import computed
from pyslide.conformance.own import Specification
from pyslide.conformance.python_adapter import PythonAdapter
from pyslide.conformance.replies import HarnessError
from pyslide.conformance.reports import REPORTS
from pyslide.conformance.subprocess_adapter import SubprocessAdapter
from pyslide.conformance.verifying import Verifier, selected
from pyslide.conventions import ORIGINAL_CPP, PAPER

SERVE = [sys.executable, "-m", "pyslide.conformance.serve", "pyslide.conformance.own:Specification"]


@pytest.fixture(scope="module")
def vectors():
    return computed()


def verify(implementation, vectors, *operations, **verifier):
    return Verifier(**verifier).verify(PythonAdapter(implementation), selected(vectors, operations))


def test_the_spec_conforms(vectors):
    report = verify(Specification(), vectors)
    assert report.conforms
    assert set(report.counts) <= {"passed", "skipped"}


def test_the_spec_conforms_through_a_program(vectors):
    report = Verifier().verify(SubprocessAdapter(SERVE), vectors)
    assert report.conforms, [finding.case.id for finding in report.findings if finding.unexpected]


def test_the_original_program_conforms_to_its_own_profile_only(vectors):
    program = Specification(ORIGINAL_CPP)
    assert not verify(program, vectors).conforms
    assert verify(program, vectors, profile=ORIGINAL_CPP, profile_name="ORIGINAL_CPP").conforms


@pytest.mark.parametrize(
    ("operation", "question", "answer"),
    [
        ("simhash_codes", "sign_bit", "zero_at_zero_or_above"),
        ("simhash_codes", "sign_bit", "one_above_zero"),
        ("bucket_keys", "packing", "natural_log_bits"),
        ("bucket_keys", "packing", "positional_reversed"),
        ("dwta_codes", "empty_bin", "code_is_zero"),
        ("dwta_codes", "donor", "densified_so_far"),
        ("dwta_codes", "borrowed_code", "shifted_by_attempt"),
        ("dwta_codes", "dense_input", "every_coordinate"),
        ("minhash_codes", "densification_failure", "minus_one"),
        ("build_table", "bucket_policy", "reservoir_one_over_n"),
        ("build_table", "insertion_order", "given_order"),
        ("vanilla", "vanilla_stop", "all_tables"),
        ("hard_threshold", "threshold", "more_than"),
        ("active_set", "label_forcing", "never"),
        ("pad", "padding", "none"),
        ("union", "query", "intersection"),
        ("softmax", "softmax", "maximum_from_zero"),
        ("output_error", "batch_reduction", "sum"),
        ("adam", "adam_epsilon", "uncorrected"),
        ("update_rows", "adam_rows", "every_weight"),
        ("training_trace", "adam_rows", "every_weight"),
        ("training_trace", "active_set", "union_of_batch"),
    ],
)
def test_another_answer_is_named(vectors, operation, question, answer):
    report = verify(Specification(PAPER.replace(**{question: answer})), vectors, operation)
    assert not report.conforms
    for finding in report.findings:
        if finding.status == "failed":
            assert {question: answer} in finding.answers


def test_a_trace_names_the_first_stage_that_departs(vectors):
    report = verify(Specification(PAPER.replace(adam_rows="every_weight")), vectors, "training_trace")
    places = [finding.difference.place for finding in report.findings if finding.status == "failed"]
    assert places
    assert all(".weights" in place or ".biases" in place for place in places)


class NegatedErrors(Specification):
    def output_error(self, **given):
        return {"error": -super().__getattr__("output_error")(**given)["error"]}


def test_a_slip_is_named(vectors):
    report = verify(NegatedErrors(), vectors, "output_error")
    failed = [finding for finding in report.findings if finding.status == "failed"]
    assert failed
    assert all("other sign" in " ".join(finding.explanations) for finding in failed)


class OnlyRelu:
    def relu(self, *, sums):
        if not np.isfinite(sums).all():
            raise ValueError("not finite")
        return np.maximum(sums, 0)


def test_a_part_is_enough(vectors):
    report = verify(OnlyRelu(), vectors)
    assert report.conforms
    assert report.counts["passed"] == len(selected(vectors, ["relu"]))


class AcceptsAnything:
    def relu(self, *, sums):
        return np.maximum(sums, 0)


def test_inputs_that_are_not_refused_are_a_failure(vectors):
    report = verify(AcceptsAnything(), vectors, "relu")
    assert [finding.case.kind for finding in report.findings if finding.status == "failed"] == ["invalid"]


class Float32Softmax:
    precision = "float32"

    def softmax(self, *, logits):
        if not np.isfinite(logits).all():
            raise ValueError("not finite")
        shifted = np.exp((logits - logits.max(initial=-np.inf)).astype(np.float32))
        return shifted / shifted.sum()


def test_float32_is_judged_as_float32(vectors):
    report = verify(Float32Softmax(), vectors, "softmax")
    assert report.conforms
    assert report.counts["skipped"] == 1
    assert not verify(Float32Softmax(), vectors, "softmax", precision="float64").conforms


def test_known_failures(vectors):
    known = [
        KnownFailure("relu-invalid-*", "checks are left to the caller"),
        KnownFailure("relu-plain-01", "an old fault"),
        KnownFailure("relu-plane-01", "mistyped"),
    ]
    report = verify(AcceptsAnything(), vectors, "relu", known=known)
    assert report.conforms
    assert [entry.id for entry in report.unmatched] == ["relu-plane-01"]
    assert [finding.case.id for finding in report.unexpected_passes] == ["relu-plain-01"]
    text = REPORTS["terminal"](report)
    assert "matches no case" in text
    assert "and passes" in text


@pytest.mark.parametrize("form", list(REPORTS))
def test_every_report_names_the_failure(vectors, form):
    wrong = Specification(PAPER.replace(packing="natural_log_bits"))
    text = REPORTS[form](verify(wrong, vectors, "bucket_keys", rerun="pyslide verify --python a:B"))
    assert "bucket-keys-plain-02" in text
    assert "natural_log_bits" in text
    assert "pyslide verify --python a:B --case bucket-keys-plain-02" in text


HARNESS = """
import json, os, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if message["command"] == "start":
        print(json.dumps({"version": 1, "name": "odd", "operations": ["relu"]}), flush=True)
    elif message["command"] == "run":
        BODY
"""


def odd_harness(tmp_path, body):
    path = tmp_path / "harness.py"
    path.write_text(HARNESS.replace("BODY", body))
    return [sys.executable, str(path)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("os._exit(7)", "exit code 7"),
        ("print('garbage', flush=True)", "expected JSON"),
        ("print('[1]', flush=True)", "expected a JSON object"),
        ("print('{\"id\": \"other\"}', flush=True)", "expected a reply to"),
        ("time.sleep(60)", "no reply within"),
        ("sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush()", "expected JSON"),
        ("print('words', file=sys.stderr); os._exit(1)", "stderr: words"),
    ],
)
def test_odd_harnesses_are_survived(vectors, tmp_path, body, message):
    adapter = SubprocessAdapter(odd_harness(tmp_path, body), time_limit=0.5)
    report = Verifier().verify(adapter, selected(vectors, ["relu"])[:2])
    assert [finding.status for finding in report.findings] == ["errored", "errored"]
    assert all(message in finding.message for finding in report.findings)
    assert not report.conforms


def test_a_harness_that_breaks_for_ever_is_given_up(vectors, tmp_path):
    adapter = SubprocessAdapter(odd_harness(tmp_path, "os._exit(7)"), restarts=2)
    with pytest.raises(HarnessError, match="again and again"):
        Verifier().verify(adapter, selected(vectors, ["relu"]))


def test_children_end_with_the_harness(vectors, tmp_path):
    body = f"""import subprocess
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open({str(tmp_path / 'child')!r}, "w").write(str(child.pid)); time.sleep(60)"""
    adapter = SubprocessAdapter(odd_harness(tmp_path, body), time_limit=1.0)
    Verifier().verify(adapter, selected(vectors, ["relu"])[:1])
    child = int((tmp_path / "child").read_text())
    time.sleep(0.2)
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(child)], capture_output=True, text=True).stdout.strip()
    assert state in ("", "Z", "Zs", "ZN")  # gone, or waiting for whoever inherited it


def test_exit_codes(tmp_path, capsys):
    spec = "pyslide.conformance.own:Specification"
    assert main(["verify", "--python", spec, "--operations", "relu"]) == 0
    assert main(["verify", "--python", "test_conformance_verify:AcceptsAnything", "--operations", "relu"]) == 1
    assert main(["verify", "--python", spec, "--operations", "rehlu"]) == 2
    assert main(["verify", "--adapter", "/no/such/program", "--operations", "relu"]) == 3
    assert main(["verify", "--files", str(tmp_path), "--operations", "relu"]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_files_only(tmp_path, capsys):
    assert main(["export", str(tmp_path)]) == 0
    inputs = (tmp_path / "inputs.jsonl").read_bytes()
    first = json.loads(inputs.splitlines()[0])
    assert set(first) == {"command", "id", "operation", "inputs"}
    start = b'{"command": "start", "version": 1}\n'
    replies = subprocess.run(SERVE, input=start + inputs, capture_output=True, check=True).stdout
    (tmp_path / "answers.jsonl").write_bytes(b"".join(replies.splitlines(keepends=True)[1:]))
    assert main(["check", str(tmp_path)]) == 0
    assert "conforms to PAPER" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["simhash-codes-exact-ties", "simhash_codes", "known_bug"])
def test_everything_can_be_explained(name, capsys):
    assert main(["explain", name]) == 0
    assert name in capsys.readouterr().out


def test_an_unknown_id_is_a_usage_error(capsys):
    assert main(["explain", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


class WithFaults:
    """Faults that no convention names."""

    def wta_codes(self, *, dimension, indices, values, bins):
        dense = np.zeros(dimension)
        dense[np.arange(dimension) if indices is None else indices] = values
        return [max(range(len(row)), key=lambda place: (dense[row[place]], place)) for row in bins]

    def top_k(self, *, buckets, budget):
        found = [int(neuron) for bucket in buckets for neuron in bucket]
        return sorted(sorted(set(found), key=lambda neuron: (-found.count(neuron), -neuron))[:budget])

    def build_table(self, *, keys, capacity, **rest):
        members = {key: [neuron for neuron, own in enumerate(keys) if own == key] for key in sorted(set(keys.tolist()))}
        return {"keys": list(members), "buckets": [held[:capacity] for held in members.values()],
                "arrivals": [len(held) for held in members.values()]}  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "words"),
    [("wta_codes", "last of equal maxima"), ("top_k", "larger ids"), ("build_table", "refuses newcomers")],
)
def test_known_faults_are_named(vectors, operation, words):
    report = verify(WithFaults(), vectors, operation)
    plain = [one for one in report.findings if one.status == "failed" and one.case.kind == "plain"
             and one.case.inputs.get("policy") != "reservoir"]  # fmt: skip
    assert plain
    assert all(words in " ".join(finding.explanations) for finding in plain)
