"""Tables as they are: published splits, categories and missing values."""

import os
from pathlib import Path

import numpy as np
import pytest

from caveat.datasets import load_mixed, load_uci
from caveat.datasets._tables import UCI
from caveat.exceptions import FileFormatError, OptionError

from .tables import uci_files, write_archive, write_california

HEAD = "sex,age,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,c_charge_degree,"
COMPAS = f"""{HEAD}days_b_screening_arrest,c_charge_desc,two_year_recid
Male,69,Other,0,0,0,0,F,-1,Battery,0
Female,34,Caucasian,0,0,1,2,M,,,1
"""
PERSON = "39, State-gov, 1, Bachelors, 13, Never-married, Sales, Wife, White, Male, 2, 0, 40, "


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("form", ["xz", "gz", "folder"])
def test_splits_are_read_from_an_archive_or_a_folder(folder, form):
    texts = uci_files()
    if form == "folder":
        place = folder / "uci_regression" / "UCI_Datasets" / "yacht" / "data"
        place.mkdir(parents=True)
        for name, text in texts.items():
            (place / f"{name}.txt").write_text(text)
    else:
        write_archive(folder, {"yacht": texts, "concrete": uci_files(seed=1)}, form)
    table = load_uci("yacht")
    assert repr(table) == "RawTable(40 samples, 2 features, regression, 3 splits)"
    data = np.loadtxt(texts["data"].splitlines())
    np.testing.assert_allclose(table.X, data[:, [0, 2]])
    np.testing.assert_allclose(table.y, data[:, 1])
    for i, (train, test) in enumerate(table.splits):
        assert sorted([*train, *test]) == list(range(40))
        assert test.tolist() == [float(v) for v in texts[f"index_test_{i}"].split()]


def test_what_is_missing_is_said(folder, monkeypatch):
    with pytest.raises(OptionError, match=r"has neither uci_regression/UCI_Datasets nor an arch"):
        load_uci("yacht")
    write_archive(folder, {"concrete": uci_files()})
    with pytest.raises(OptionError, match=r"UCI_Datasets\.tar\.xz has no table bostonHousing"):
        load_uci("boston-housing")
    with pytest.raises(OptionError, match="name must be one of 'boston-housing', 'concrete'"):
        load_uci("boston")
    with pytest.raises(OptionError, match="which has no california_housing/housing"):
        load_mixed("california")
    monkeypatch.delenv("CAVEAT_DATA")
    with pytest.raises(OptionError, match="is not fetched; name the folder that has it in the"):
        load_uci("yacht")


def test_damaged_files_are_refused(folder):
    texts = uci_files()
    for broken in ({"index_target": "x"}, {"n_splits": "9"}, {"index_test_0": "77 1"}):
        write_archive(folder, {"yacht": {**texts, **broken}})
        with pytest.raises(FileFormatError, match="does not hold yacht in the form of yaringal/"):
            load_uci("yacht")
    (folder / "uci_regression" / "UCI_Datasets.tar.xz").write_bytes(b"no archive")
    with pytest.raises(FileFormatError, match="cannot be read"):
        load_uci("yacht")
    (folder / "california_housing").mkdir()
    (folder / "california_housing" / "housing.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match=r"housing\.csv cannot be read as a table"):
        load_mixed("california")


def test_tables_keep_categories_and_missing_values(folder):
    write_california(folder)
    table = load_mixed("california")
    assert repr(table) == "RawTable(60 samples, 3 features, regression, no given split)"
    assert set(table.X["ocean_proximity"]) == {"INLAND", "NEAR BAY"}
    assert table.X["total_bedrooms"].isna().sum() == 9
    assert 0.5 < table.y.mean() < 5
    (folder / "compas").mkdir()
    (folder / "compas" / "compas-scores-two-years.csv").write_text(COMPAS)
    table = load_mixed("compas")
    assert table.y.tolist() == [0, 1]
    assert table.X["c_charge_desc"].isna().tolist() == [False, True]
    assert "decile_score" not in table.X
    (folder / "adult").mkdir()
    (folder / "adult" / "adult.data").write_text(f"{PERSON}?, <=50K\n{PERSON}Cuba, >50K\n")
    (folder / "adult" / "adult.test").write_text(f"|1x3\n{PERSON}Peru, >50K.\n")
    table = load_mixed("adult")
    assert table.y.tolist() == [0, 1, 1]
    assert table.X["native_country"].isna().tolist() == [True, False, False]
    ((train, test),) = table.splits
    assert (train.tolist(), test.tolist()) == ([0, 1], [2])
    with pytest.raises(OptionError, match="name must be one of 'adult', 'compas', 'california'"):
        load_mixed("yacht")


REAL = Path(os.environ.get("CAVEAT_DATA", ""), "uci_regression", "UCI_Datasets.tar.xz")
SIZES = {
    "boston-housing": (506, 13), "concrete": (1030, 8), "energy": (768, 8), "kin8nm": (8192, 8),
    "naval": (11934, 16), "power-plant": (9568, 4), "wine-quality": (1599, 11), "yacht": (308, 6),
}  # fmt: skip


@pytest.mark.skipif(not REAL.exists(), reason="needs UCI_Datasets in the folder of CAVEAT_DATA")
def test_the_public_tables():
    assert set(SIZES) | {"protein"} == set(UCI)
    for name, size in SIZES.items():
        table = load_uci(name)
        assert table.X.shape == size
        assert len(table.splits) == 20
        for train, test in table.splits:
            assert len(np.union1d(train, test)) == len(train) + len(test) == size[0]
