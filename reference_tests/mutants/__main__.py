"""``python -m reference_tests.mutants``: the matrix of mutants and the tests that catch them.

With ``--kit`` the mutants of the spec and the engine are put to the conformance kit as if they were somebody else's.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from reference_tests.mutants.catalogue import MUTANTS, Mutant
from reference_tests.mutants.kit import UNSEEN, concerned, diagnose
from reference_tests.mutants.running import copy_tree, judge

Judged = TypeVar("Judged")


def in_trees(chosen: list[Mutant | None], jobs: int, judge_one: Callable[[Any, Path], Judged]) -> Iterator[Judged]:
    """Judge mutants side by side, each job in its own copy of the tree."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            tree = Path(folder) / str(job)
            tree.mkdir()
            copy_tree(tree)
            trees.put(tree)

        def one(mutant: Mutant | None) -> Judged:
            tree = trees.get()
            try:
                return judge_one(mutant, tree)
            finally:
                trees.put(tree)

        yield from pool.map(one, chosen)


def run_tests(chosen: list[Mutant | None], options: argparse.Namespace) -> int:
    """Print which test catches each mutant, and return how many are not as they should be."""
    survivors = 0
    for verdict in in_trees(chosen, options.jobs, judge):
        name = "(the package unchanged)" if verdict.mutant is None else verdict.mutant.name
        healthy = (verdict.caught_by == "") == (verdict.mutant is None)
        survivors += not healthy
        caught_by = verdict.caught_by or ("passes" if verdict.mutant is None else "SURVIVES")
        if options.json:
            print(json.dumps({"mutant": name, "caught_by": verdict.caught_by, "seconds": verdict.seconds}), flush=True)
        else:
            print(f"{name:34}  {verdict.seconds:6.1f} s  {caught_by}", flush=True)
    return survivors


def run_kit(chosen: list[Mutant | None], options: argparse.Namespace) -> int:
    """Print what the conformance kit says of each mutant, and return how many it says something wrong of."""
    odd = 0
    for diagnosis in in_trees(chosen, options.jobs, diagnose):
        known = diagnosis.mutant.name in UNSEEN
        healthy = diagnosis.right != known
        odd += not healthy
        first = diagnosis.operations[0] if diagnosis.operations else "conforms"
        remark = "" if healthy else f"  EXPECTED {' or '.join(diagnosis.expected)}"
        print(f"{diagnosis.mutant.name:34}  {first:16}  {diagnosis.explanation[:90]}{remark}", flush=True)
    return odd


def main() -> int:
    """Judge all mutants; 1 if one is not as it should be, or the unchanged package fails."""
    parser = argparse.ArgumentParser(prog="python -m reference_tests.mutants", description=__doc__)
    parser.add_argument("--kit", action="store_true", help="put them to the conformance kit, not to the tests")
    parser.add_argument("--jobs", type=int, default=2, help="(2)")
    parser.add_argument("--only", action="append", metavar="NAME", help="a mutant, or part of its name")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen: list[Mutant | None] = [
        mutant for mutant in MUTANTS if not options.only or any(part in mutant.name for part in options.only)
    ]
    if options.kit:
        chosen = [mutant for mutant in chosen if mutant is not None and concerned(mutant)]
        odd = run_kit(chosen, options)
    else:
        odd = run_tests(chosen if options.only else [None, *chosen], options)
    print(f"{len(chosen)} mutants, {odd} not as they should be", file=sys.stderr)
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main())
