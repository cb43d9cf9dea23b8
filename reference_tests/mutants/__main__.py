"""``python -m reference_tests.mutants``: the matrix of mutants and the tests that catch them."""

from __future__ import annotations

import argparse
import json
import queue
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reference_tests.mutants.catalogue import MUTANTS, Mutant
from reference_tests.mutants.running import Verdict, copy_tree, judge


def verdicts(chosen: list[Mutant | None], jobs: int):
    """Judge mutants side by side, each job in its own copy of the tree."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            tree = Path(folder) / str(job)
            tree.mkdir()
            copy_tree(tree)
            trees.put(tree)

        def one(mutant: Mutant | None) -> Verdict:
            tree = trees.get()
            try:
                return judge(mutant, tree)
            finally:
                trees.put(tree)

        yield from pool.map(one, chosen)


def main() -> int:
    """Judge all mutants; 1 if one survives or the unchanged package fails."""
    parser = argparse.ArgumentParser(prog="python -m reference_tests.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="(2)")
    parser.add_argument("--only", action="append", metavar="NAME", help="a mutant, or part of its name")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if not options.only or any(part in mutant.name for part in options.only)]
    survivors = 0
    for verdict in verdicts([None, *chosen] if not options.only else list(chosen), options.jobs):
        name = "(the package unchanged)" if verdict.mutant is None else verdict.mutant.name
        healthy = (verdict.caught_by == "") == (verdict.mutant is None)
        survivors += not healthy
        caught_by = verdict.caught_by or ("passes" if verdict.mutant is None else "SURVIVES")
        if options.json:
            print(json.dumps({"mutant": name, "caught_by": verdict.caught_by, "seconds": verdict.seconds}), flush=True)
        else:
            print(f"{name:34}  {verdict.seconds:6.1f} s  {caught_by}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} not as they should be", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
