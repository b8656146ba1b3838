"""Tables as files."""

from pathlib import Path
from typing import Any

from ..exceptions import OptionError
from ._console import say, working

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


def check_files(output: Path | None, page: Path | None) -> None:
    """Raise if the rows or the page of a result cannot be written."""
    check_output(output)
    check_page(page)


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


def write_result(result: Any, output: Path | None, page: Path | None, **options: Any) -> None:
    """Write the rows of a result and a page about it, where they are wanted."""
    if output is not None:
        write_table(result, output)
    if page is not None:
        with working("writing the page"):
            result.report(page, **options)


def say_written(result: Any, output: Path | None, page: Path | None = None) -> None:
    """Print where the rows and the page are."""
    if output is not None:
        say(f"all {len(result.to_frame())} rows: {output}", error=True)
    if page is not None:
        say(f"report: {page}")


def header(name: str, source: Any, random_state: int) -> dict[str, Any]:
    """Return what a result for machines begins with: by what, when and from what it was made."""
    from datetime import UTC, datetime

    from .. import __version__

    return {
        "format": f"caveat {name} 1",
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source,
        "random_state": random_state,
    }


def write_frame(frame: Any, path: Path, **marks: str) -> None:
    """Write a frame; the ending says how, and the marks how a CSV separates."""
    if path.suffix.lower() == ".csv":
        frame.to_csv(path, index=False, **marks)
    elif path.suffix.lower() == ".json":
        frame.to_json(path, orient="records")
    else:
        frame.to_parquet(path, index=False)
