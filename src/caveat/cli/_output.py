"""Tables as files."""

from pathlib import Path
from typing import Any

from ..exceptions import OptionError

_ENDINGS = (".csv", ".json", ".parquet")


def check_output(
    path: Path | None, endings: tuple[str, ...] = _ENDINGS, option: str = "--output"
) -> None:
    """Raise before any work is done if a file cannot be written."""
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise OptionError(f"{option} {path}: the ending must be one of {', '.join(endings)}")
    if not path.parent.is_dir():
        raise OptionError(f"{option} {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise OptionError(f"{option} {path}: this is a folder; give a file")


def check_page(path: Path | None, option: str = "--report") -> None:
    """Raise if a page cannot be written."""
    check_output(path, (".html", ".htm"), option)


def check_folder(path: Path | None, option: str) -> None:
    """Raise if the path is a file instead of a folder."""
    if path is not None and path.exists() and not path.is_dir():
        raise OptionError(f"{option} {path}: this is a file; give a folder")


def write_table(result: Any, path: Path) -> None:
    """Write the rows of a result; the ending says how."""
    if path.suffix.lower() == ".json":
        path.write_text(result.to_json() + "\n", encoding="utf-8")
    else:
        write_frame(result.to_frame(), path)


def write_frame(frame: Any, path: Path) -> None:
    """Write a frame; the ending says how."""
    if path.suffix.lower() == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix.lower() == ".json":
        frame.to_json(path, orient="records")
    else:
        frame.to_parquet(path, index=False)
