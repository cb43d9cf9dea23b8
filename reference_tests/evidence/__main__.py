"""``python -m reference_tests.evidence``: corrupt every public function, and see whether its tests notice.

``check`` (the default) takes the tests of the registry; ``fill`` looks for tests where the registry has none that
notices, and writes the registry and docs/evidence.md anew.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys

import pytest

from reference_tests.evidence.registry import PAGE, REGISTRY, ROOT, page, read_registry, write_registry
from reference_tests.evidence.searching import KINDS, SEARCHED, Search


def search(known: dict[str, dict[str, str]], tests: list[str]) -> dict[str, dict[str, str]]:
    """Return the tests that noticed, by function and kind."""
    plugin = Search(known)
    quiet = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    # Hypothesis has been imported by then; its own assertions need not be rewritten.
    options = [*quiet, "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main([*options, *tests], plugins=[plugin])
    if not plugin.found:
        sys.exit(f"pytest ended with {code}:\n{output.getvalue()}")
    return plugin.found


def main() -> int:
    """Run a command; exit code 1 if a function lacks evidence."""
    parser = argparse.ArgumentParser(prog="python -m reference_tests.evidence", description=__doc__)
    parser.add_argument("action", nargs="?", choices=("check", "fill"), default="check")
    options = parser.parse_args()
    os.environ["HYPOTHESIS_PROFILE"] = "first"  # the first failure is enough; it need not be made smaller
    os.chdir(ROOT)
    registry = read_registry()
    if options.action == "fill":
        found = search(registry, list(SEARCHED))
        write_registry(found)
        PAGE.write_text(page(found), encoding="utf-8")
    else:
        files = sorted({test.partition("::")[0] for tests in registry.values() for test in tests.values()})
        found = search(registry, files)
    holes = [(name, kind) for name, tests in found.items() for kind in KINDS if kind not in tests]
    for name, kind in holes:
        print(f"{name}: no {kind} notices a wrong result")
    print(f"{len(found)} functions, {len(holes)} holes ({REGISTRY.relative_to(ROOT)})")
    return 1 if holes else 0


if __name__ == "__main__":
    raise SystemExit(main())
