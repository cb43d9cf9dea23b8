"""pyslide: a vectorised, pure-Python reference implementation of SLIDE."""

__version__ = "0.1.0"
