"""``python -m reference_tests.statistical``: the table of all claims and what the draws say."""

import sys

from reference_tests.statistical.claims import claims
from reference_tests.statistical.running import run


def main() -> int:
    """Print the table; 1 if a claim is rejected."""
    lines = run(claims())
    print(f"{'check':42} {'layer':10} {'N':>7} {'exact':>8} {'error':>6} {'alpha':>8} {'power':>6} {'count':>7} "
          f"{'tail':>9}  verdict")  # fmt: skip
    for layer, alpha, power, (check, trials, count, tail, rejected) in lines:
        print(
            f"{check.name:42} {layer:10} {trials:7d} {check.probability:8.5f} {check.detectable_error:6.3f} "
            f"{alpha:8.1e} {power:6.4f} {count:7d} {tail:9.2g}  {'REJECTED' if rejected else 'holds'}"
        )
    print(f"{len(lines)} claims, {sum(line.verdict.trials for line in lines)} draws", file=sys.stderr)
    return 1 if any(line.verdict.rejected for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
