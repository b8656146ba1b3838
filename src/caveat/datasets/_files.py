"""Files of public data: in the user's folder, or downloaded with a checksum."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import CaveatError, FileFormatError, OptionError

FOLDER = "CAVEAT_DATA"


@dataclass(frozen=True)
class PublicFile:
    """A file, its place in the user's folder, and the one public source it is fetched from."""

    place: str
    url: str
    sha256: str


def locate(file: PublicFile) -> Path:
    """Return the path of a file; it is fetched only if no folder is named."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return _fetched(file)
    places = [file.place, f"{file.place}.xz"]
    if file.place.endswith(".gz"):
        places = [file.place, file.place.removesuffix(".gz")]
    for place in places:
        path = Path(folder) / place
        if path.is_file():
            return path
    raise OptionError(
        f"{FOLDER} names the folder {folder}, which has neither {' nor '.join(places)}; "
        f"put the file of {file.url} there, or unset {FOLDER} to have it fetched"
    )


def _fetched(file: PublicFile) -> Path:
    import pooch

    name = file.place.replace("/", "-")
    try:
        path = pooch.retrieve(
            file.url, f"sha256:{file.sha256}", fname=name, path=pooch.os_cache("caveat")
        )
    except (OSError, ValueError) as error:
        raise CaveatError(
            f"{file.url} could not be fetched ({error}); put it as {file.place} into a folder, and "
            f"name that folder in the environment variable {FOLDER}"
        ) from error
    return Path(path)


def public_folder(wanted: str) -> Path:
    """Return the folder of public data; these files are not fetched."""
    root = os.environ.get(FOLDER)
    if not root:
        raise OptionError(
            f"{wanted} is not fetched; name the folder that has it in the environment variable "
            f"{FOLDER}"
        )
    return Path(root)


def read_public(place: str, **options: Any) -> Any:
    """Return a file of the public folder as a frame; it may be packed by xz."""
    root = public_folder(place)
    path = next((p for p in (root / place, root / f"{place}.xz") if p.is_file()), None)
    if path is None:
        raise OptionError(f"{FOLDER} names the folder {root}, which has no {place} or {place}.xz")
    return read_csv(path, **options)


def read_csv(path: Path, **options: Any) -> Any:
    """Return a file as a frame; raise if it is none."""
    import lzma

    import pandas as pd

    try:
        return pd.read_csv(path, **options)
    except (ValueError, OSError, EOFError, lzma.LZMAError) as error:
        raise FileFormatError(
            f"{path} cannot be read as a table ({error}); get it again"
        ) from error


def read_table(file: PublicFile, columns: list[str] | None, wanted: list[str]) -> Any:
    """Return a file as a frame that has the wanted columns; ``columns`` names them if it does not.

    In a file without names, a line that begins with ``|`` is a remark.
    """
    path = locate(file)
    options: dict[str, Any] = {"names": columns, "comment": "|"} if columns else {}
    frame = read_csv(path, skipinitialspace=True, **options)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise FileFormatError(
            f"{path} lacks the column {missing[0]!r}; it should be the file of {file.url}"
        )
    return frame
