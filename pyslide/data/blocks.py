"""A text file, plain or gzipped, as blocks of whole lines: at no time is more than a block of it in memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from pyslide.errors import FormatError, OutOfRangeError, TruncatedFileError

BLOCK_BYTES = 1 << 20
"""How much text is read at once: large enough to hide NumPy's call overhead, small enough for the cache."""

_GZIP_MAGIC = b"\x1f\x8b"


def open_text(path: Path) -> BinaryIO:
    """Open a plain or gzipped file for reading bytes; the first two bytes decide, not the name."""
    with path.open("rb") as stream:
        compressed = stream.read(2) == _GZIP_MAGIC
    return cast(BinaryIO, gzip.open(path, "rb")) if compressed else path.open("rb")


def line_blocks(path: Path, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Read a file as blocks of whole lines.

    Parameters
    ----------
    path : Path
        A text file, plain or gzipped.
    block_bytes : int
        How much to read at once, at least 1.  A longer line makes a longer block.

    Yields
    ------
    first_line : int
        The number of the block's first line, counted from 1.
    block : bytes
        Whole lines, each ending in a newline; one is added to the last line of the file where it is missing.

    Raises
    ------
    TruncatedFileError
        When a gzip stream ends too early.
    FormatError
        When a gzip stream is damaged.
    OutOfRangeError
        When ``block_bytes`` is below 1.
    """
    if block_bytes < 1:
        raise OutOfRangeError(f"block_bytes must be at least 1, got {block_bytes}")
    line, pending = 1, io.BytesIO()
    with open_text(path) as stream:
        while chunk := _read(stream, path, line, block_bytes):
            cut = chunk.rfind(b"\n") + 1
            pending.write(chunk[:cut] if cut else chunk)
            if cut:
                block = pending.getvalue()
                yield line, block
                line += block.count(b"\n")
                pending = io.BytesIO()
                pending.write(chunk[cut:])
    if rest := pending.getvalue():
        yield line, rest + b"\n"


def _read(stream: BinaryIO, path: Path, line: int, size: int) -> bytes:
    try:
        return stream.read(size)
    except EOFError as error:
        raise TruncatedFileError("the gzip stream ends too early, at or after this line", path, line) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(f"the gzip stream is damaged at or after this line: {error}", path, line) from error
