"""``python -m pyslide.conformance``."""

from pyslide.conformance.commands import main

if __name__ == "__main__":
    raise SystemExit(main())
