"""Files that appear when they are complete."""

import json
from pathlib import Path

import pytest

from caveat._writing import PARTIAL, read_json, replacing, write_json
from caveat.exceptions import FileFormatError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_reader_sees_the_old_file_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "state.npz"
    path.write_text("old")
    with replacing(path) as beside:
        beside.write_text("new")
        assert path.read_text() == "old"
        # Writers that choose a format by the ending, and patterns that look for files, rely on it.
        assert (beside.parent, beside.suffix) == (tmp_path, ".npz")
        assert beside.name.startswith(PARTIAL)
    assert path.read_text() == "new"
    assert names(tmp_path) == ["state.npz"]


def stopped(path: str) -> None:
    with replacing(path) as beside:
        beside.write_text("half")
        raise KeyboardInterrupt


def test_a_block_that_is_stopped_changes_nothing(tmp_path):
    path = tmp_path / "state.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        stopped(str(path))
    assert path.read_text() == "old"
    assert names(tmp_path) == ["state.json"]


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "state.json"):
        pass


def test_json_there_and_back(tmp_path):
    path = tmp_path / "state.json"
    write_json(path, {"a": [1, 2.5, None]})
    assert json.loads(path.read_text()) == read_json(path, "") == {"a": [1, 2.5, None]}


@pytest.mark.parametrize("text", ["{", "5", '"ab"'])
def test_what_is_no_object_is_refused(tmp_path, text):
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=r"state.json is not readable JSON; delete it$"):
        read_json(path, "delete it")
