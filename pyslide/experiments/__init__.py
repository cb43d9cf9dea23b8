"""Experiments: what was measured, and the commands that measure it again."""
