"""A command run in this process."""

import pytest

from pyslide.cli import main


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and returns its exit code, stdout and stderr."""

    def call(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call
