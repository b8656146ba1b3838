"""Workers that are killed early, late, or all at once."""

import pytest

from ..experiments.test_cluster import kill_workers


@pytest.mark.filterwarnings("ignore:a worker was lost:RuntimeWarning")
@pytest.mark.parametrize(("after", "all_of_them"), [(1, False), (1, True), (7, True)])
def test_killed_workers_change_nothing(tmp_path, monkeypatch, after, all_of_them):
    kill_workers(tmp_path, monkeypatch, after, all_of_them)
