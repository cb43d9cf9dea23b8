"""The kit that verifies other implementations of SLIDE."""
