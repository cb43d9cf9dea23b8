"""Speed, as ratios measured side by side in one run: ``pyslide bench``."""

from pyslide.bench.cases import Case
from pyslide.bench.run import Measurement, measure
from pyslide.bench.shapes import SHAPES, Shape

__all__ = ["SHAPES", "Case", "Measurement", "Shape", "measure"]
