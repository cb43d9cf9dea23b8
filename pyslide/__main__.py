"""``python -m pyslide`` is the command line."""

import sys

from pyslide.cli import main

sys.exit(main())
