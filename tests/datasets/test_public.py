"""The loaders, on small tables of the same form and, where they are, on the real ones."""

import lzma
import os
import re
from pathlib import Path

import numpy as np
import pytest

from caveat.datasets import _files, load_adult, load_compas
from caveat.exceptions import CaveatError, FileFormatError, OptionError

COMPAS = """id,sex,age_cat,race,priors_count,c_charge_degree,days_b_screening_arrest,is_recid,score_text,two_year_recid
1,Male,25 - 45,African-American,3,F,-1,0,Low,0
2,Female,Less than 25,Caucasian,0,M,30,1,High,1
3,Male,Greater than 45,Other,1,F,-30,0,"Low, a|b",1
4,Male,25 - 45,Other,1,F,31,0,Low,1
5,Male,25 - 45,Other,1,F,,0,Low,1
6,Male,25 - 45,Other,1,F,0,-1,Low,1
7,Male,25 - 45,Other,1,O,0,0,Low,1
8,Male,25 - 45,Other,1,F,0,0,N/A,1
"""
ADULT = """39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Own-child, White, Male, 2174, 0, 40, Cuba, <=50K
24, Private, 83311, HS-grad, 9, Divorced, Sales, Wife, Black, Female, 0, 0, 13, Peru, >50K
30, ?, 83311, HS-grad, 9, Divorced, Sales, Wife, Black, Female, 0, 0, 13, Peru, >50K

"""
ADULT_TEST = """|1x3 Cross validator
46, Private, 5, HS-grad, 9, Divorced, Sales, Wife, Other, Female, 0, 0, 40, Cuba, >50K.
45, Private, 5, HS-grad, 9, Divorced, Sales, Wife, White, Male, 0, 0, 40, ?, <=50K.
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "compas").mkdir()
    (tmp_path / "adult").mkdir()
    (tmp_path / "compas" / "compas-scores-two-years.csv").write_text(COMPAS)
    (tmp_path / "adult" / "adult.data.xz").write_bytes(lzma.compress(ADULT.encode()))
    (tmp_path / "adult" / "adult.test").write_text(ADULT_TEST)
    monkeypatch.setenv("CAVEAT_DATA", str(tmp_path))
    return tmp_path


class TestSmallTables:
    def test_compas(self, folder):
        data = load_compas()
        assert data.y.tolist() == [0, 1, 1]
        assert data.groups["race"].tolist() == ["African-American", "Caucasian", "Other"]
        assert data.groups["sex"].tolist() == ["Male", "Female", "Male"]
        assert data.groups["age"].tolist() == ["25 - 45", "Less than 25", "Greater than 45"]
        assert data.feature_names == (
            "age_cat=25 - 45", "age_cat=Greater than 45", "age_cat=Less than 25",
            "race=African-American", "race=Caucasian", "race=Other",
            "sex=Male", "priors_count", "c_charge_degree=M",
        )  # fmt: skip
        assert data.X.tolist() == [
            [1, 0, 0, 1, 0, 0, 1, 3, 0],
            [0, 0, 1, 0, 1, 0, 0, 0, 1],
            [0, 1, 0, 0, 0, 1, 1, 1, 0],
        ]
        assert not data.test.any()
        assert repr(data) == (
            "Dataset(3 samples, 9 features, groups by race, sex, age, no given split)"
        )

    def test_adult(self, folder):
        data = load_adult()
        assert data.y.tolist() == [0, 1, 1]
        assert data.test.tolist() == [False, False, True]
        assert data.groups["age"].tolist() == ["25 to 45", "under 25", "over 45"]
        assert data.groups["race"].tolist() == ["White", "Black", "Other"]
        numbers = dict(zip(data.feature_names, data.X.T, strict=True))
        assert numbers["age"].tolist() == [39, 24, 46]
        assert numbers["capital_gain"].tolist() == [2174, 0, 0]
        assert numbers["native_country=Peru"].tolist() == [0, 1, 0]
        assert "native_country=Cuba" not in numbers
        assert "workclass=?" not in numbers
        train, test = data.split()
        assert (len(train), len(test)) == (2, 1)

    def test_a_folder_without_the_file(self, folder, monkeypatch):
        (folder / "compas" / "compas-scores-two-years.csv").unlink()
        message = "has neither compas/compas-scores-two-years.csv nor compas/compas-scores-two-"
        with pytest.raises(OptionError, match=re.escape(message)):
            load_compas()

    def test_another_file(self, folder):
        path = folder / "compas" / "compas-scores-two-years.csv"
        path.write_text("a,b\n1,2\n")
        with pytest.raises(FileFormatError, match="lacks the column 'age_cat'"):
            load_compas()
        path.write_text("")
        with pytest.raises(FileFormatError, match="cannot be read as a table"):
            load_compas()
        (folder / "adult" / "adult.data.xz").write_bytes(b"no archive")
        with pytest.raises(FileFormatError, match=re.escape("adult.data.xz cannot be read")):
            load_adult()


class TestFetching:
    """Nothing is fetched here: pooch is asked, and answers from a folder."""

    def test_by_checksum(self, folder, monkeypatch):
        asked = []

        def retrieve(url, known_hash, fname, path):
            asked.append((url, known_hash, fname))
            return str(folder / "compas" / "compas-scores-two-years.csv")

        monkeypatch.delenv("CAVEAT_DATA")
        monkeypatch.setattr("pooch.retrieve", retrieve)
        assert len(load_compas()) == 3
        ((url, known_hash, name),) = asked
        assert url.startswith("https://")
        assert url.endswith("compas-scores-two-years.csv")
        assert re.fullmatch("sha256:[0-9a-f]{64}", known_hash)
        assert name == "compas-compas-scores-two-years.csv"

    @pytest.mark.parametrize("error", [OSError("no network"), ValueError("wrong hash")])
    def test_failing(self, error, monkeypatch):
        def retrieve(*_, **__):
            raise error

        monkeypatch.delenv("CAVEAT_DATA", raising=False)
        monkeypatch.setattr("pooch.retrieve", retrieve)
        with pytest.raises(CaveatError, match=f"could not be fetched \\({error}\\)") as caught:
            load_adult()
        assert "put it as adult/adult.data into a folder" in str(caught.value)
        assert caught.value.__cause__ is error


def real(place):
    """Return the folder of the real tables, or None."""
    given = os.environ.get("CAVEAT_DATA")
    beside = sorted(Path(__file__).parents[3].glob("*/data"))
    folders = [Path(given)] if given else beside
    return next((f for f in folders if any((f / place).parent.glob(f"{Path(place).name}*"))), None)


def counts(data, attribute):
    values = data.groups[attribute]
    return {
        str(value): tuple(np.bincount(data.y[values == value]).tolist())
        for value in np.unique(values)
    }


class TestRealTables:
    @pytest.fixture(autouse=True)
    def _there(self, request, monkeypatch):
        place = {"compas": "compas/compas-scores-two-years.csv", "adult": "adult/adult.data"}
        folder = real(place[request.node.name.split("_")[1]])
        if folder is None:
            pytest.skip("set CAVEAT_DATA to a folder with compas/ and adult/ to test real tables")
        monkeypatch.setenv("CAVEAT_DATA", str(folder))

    def test_compas_counts_are_published(self):
        data = load_compas()
        assert repr(data) in load_compas.__doc__
        assert data.X.shape == (6172, 12)
        race = counts(data, "race")
        assert race["African-American"] == (1514, 1661)
        assert race["Caucasian"] == (1281, 822)
        assert counts(data, "sex") == {"Female": (762, 413), "Male": (2601, 2396)}
        sizes = {value: sum(both) for value, both in counts(data, "age").items()}
        assert sizes == {"Less than 25": 1347, "25 - 45": 3532, "Greater than 45": 1293}

    def test_adult_counts_are_published(self):
        data = load_adult()
        assert repr(data) in load_adult.__doc__
        train, test = data.split()
        assert (len(data), len(train), len(test)) == (45222, 30162, 15060)
        assert data.X.shape[1] == 103
        race = counts(train, "race")
        assert race["Black"] == (2451, 366)
        assert race["White"] == (19094, 6839)
        assert counts(train, "sex") == {"Female": (8670, 1112), "Male": (13984, 6396)}
        assert test.y.sum() == 3700

    def test_adult_files_are_those_of_the_checksum(self):
        import hashlib

        from caveat.datasets._adult import TEST, TRAIN

        for file in (TRAIN, TEST):
            path = _files.locate(file)
            raw = path.read_bytes()
            content = lzma.decompress(raw) if path.suffix == ".xz" else raw
            assert hashlib.sha256(content).hexdigest() == file.sha256
