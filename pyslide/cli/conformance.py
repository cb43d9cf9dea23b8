"""``pyslide vectors``, ``verify``, ``export``, ``check`` and ``explain``: the conformance kit."""

from __future__ import annotations

import argparse

from pyslide.conformance.commands import add_commands


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the kit's commands."""
    add_commands(commands)
