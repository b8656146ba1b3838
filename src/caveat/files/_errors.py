"""Errors in a file become one line that names the file."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..exceptions import CaveatError, FileFormatError


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Put the name of the file before the message of an error of ours."""
    try:
        yield
    except CaveatError as error:
        if str(error).startswith(str(path)):
            raise
        raise type(error)(f"{path}: {error}") from error
    except RecursionError as error:
        raise FileFormatError(f"{path} cannot be read: its values are nested too deeply") from error


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn any error of reading into one of ours that names the file."""
    import csv

    import pyarrow as pa

    try:
        with naming_file(path):
            yield
    except CaveatError:
        raise
    except UnicodeError as error:
        raise FileFormatError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        NotImplementedError,
        csv.Error,
        pa.ArrowException,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path} cannot be read: {words}") from error


@contextmanager
def decodable(path: Path) -> Iterator[None]:
    """Turn an error of decoding into one of ours that names the option."""
    import pyarrow as pa

    try:
        yield
    except (UnicodeDecodeError, pa.ArrowInvalid) as error:
        if isinstance(error, pa.ArrowInvalid) and "invalid UTF8" not in str(error):
            raise
        encoding = getattr(error, "encoding", "utf-8")
        raise FileFormatError(
            f"{path} is not {encoding.upper()} text all through; name its encoding, for example "
            "encoding='cp1252'"
        ) from error
