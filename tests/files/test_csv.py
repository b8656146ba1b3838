"""What people call CSV."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from caveat import Categorical
from caveat._groups import MISSING, attributes
from caveat.exceptions import CaveatError, FileFormatError, OptionError
from caveat.files import read_features, read_predictions

from .tables import text, write


def test_bom_quoted_newlines_and_text_that_looks_like_numbers(tmp_path):
    path = text(
        tmp_path,
        '\ufeffp,y,"two\nlines",id\n0.5,"a\nb",x,007\n0.25,c,"",01\n',
    )
    found = read_predictions(path, group=["two\nlines"])
    assert found.prediction.classes.tolist() == ["a\nb", "c"]
    assert found.y.tolist() == ["a\nb", "c"]
    assert found.ids.tolist() == ["007", "01"]
    assert found.groups["two\nlines"].tolist() == ["x", None]


def test_decimal_commas_that_were_named_otherwise(tmp_path):
    path = text(tmp_path, "p;y\n0,5;1\n0,25;0\n")
    with pytest.raises(
        CaveatError, match="data row 1 holds the text '0,5'; for decimal commas add decimal=','"
    ):
        read_predictions(path, decimal=".")
    path = text(tmp_path, "p;y\n0.5;1\n0.25;0\n")
    with pytest.raises(
        CaveatError, match=r"'p' holds numbers written as text; .* decimal='.' reads decimal points"
    ):
        read_predictions(path, decimal=",")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter must be a single character of ASCII; got ';;'"),
        ({"decimal": ""}, "decimal must be a single character of ASCII; got ''"),
        ({"decimal": "\u00b7"}, "decimal must be a single character of ASCII; got"),
        ({"delimiter": "\u00a7"}, "delimiter must be a single character of ASCII; got"),
        ({"decimal": ","}, "delimiter and decimal are both ','; they must differ"),
    ],
)
def test_marks_that_cannot_be(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        read_predictions(text(tmp_path, "p,y\n1,1\n"), **options)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("p,y\n", "there are columns, but no rows below their names"),
        ("\n", "does not begin with the names of its columns"),
        ("p,y,p\n1,1,1\n", "has more than one column 'p'; give each its own name"),
        ("p,y\n0.5,1\n0.5\n", "cannot be read: CSV parse error: Expected 2 columns, got 1"),
        (
            "p,y\n0.5,1\n,0\n,0\n",
            r"column 'p' has no number in data row 2 \(2 of 3 rows have none\)",
        ),
        ("p,y\n,1\nnan,0\n", r"column 'p' has no number in data row 1 \(2 of 2 rows have none\)"),
        ("p,y\n0.5,1\n0.5,\n", r"column 'y' has no label in data row 2 \(1 of 2 rows have none\)"),
        ("p,y\n0.5,1\nabc,0\n", "column 'p' must be numbers; data row 2 holds the text 'abc'$"),
        (
            "p,y\n2020-01-01,1\n2020-01-02,0\n",
            r"column 'p' holds date32\[day\] values, not numbers",
        ),
        (
            "p,y\n2,1\n0.5,0\n",
            r"is 2, outside \[0, 1\]; values up to 2 look like percentages: percent=True divides",
        ),
        ("p,y\n2,1\n-1,0\n", r"outside \[0, 1\]; probabilities are never negative; name logits"),
        (
            "p,y\n200,1\n50,0\n",
            r"is 200, outside \[0, 1\]; probabilities lie between 0 and 1, but not that of data row 1$",
        ),
        ("p,y\n0.5,1\n0.2,0\n1.02,0\n", r"between 0 and 1, but not that of data row 3$"),
        (
            "p_a,p_b,y\n60,40,a\n30.5,69,b\n",
            "sum to 100; values up to 69 look like percentages: percent=True divides them by 100",
        ),
        ("p,y\n98.2,1\n-0.1,0\n", r"is 98.2, outside \[0, 1\]; probabilities are never negative$"),
        (
            "p,y\n98.2%,1\n7%,0\n",
            "holds the text '98.2%'; remove the percent signs, and add percent=True for prob",
        ),
        (
            "p_a,p_b,y\n3,5,a\n1,7,b\n",
            "sum to 8; normalize=True divides each row .* counts and votes",
        ),
        ("p_a,p_b,y\n3,-5,a\n1,-7,b\n", "is -5, below 0; probabilities are never negative; name"),
        ("p_a,p_b,y\n1e308,1e308,a\n", "normalize=True divides each row by its sum, as counts"),
        ("p,y\n0.5,a\n0.5,b\n0.5,c\n", r"'y' has 3 labels \('a', 'b', 'c'\), but one column of"),
        ("p,y\n0.5,a\n0.5,a\n", "'y' is 'a' in every row; name the class .* with positive="),
        ("p_a,p_b,y\n1,0,c\n", "'y' is 'c' in data row 1, but the classes are 'a', 'b'"),
        (
            "p_a,p_b,y\n1,0.1,a\n",
            "of sample 0 sum to 1.1; normalize=True divides each row by its sum",
        ),
        (
            "mean,std,y\n1,-1,1\n",
            "std of sample 0 is -1, below 0; variances and standard deviations a",
        ),
        ("mean,std,y\ninf,1,1\n", "mean of sample 0 is inf; .*, and all numbers are finite"),
        ("mean,var,y\n1,-1,1\n", "variance of sample 0 is -1, below 0; variances and standard dev"),
        (
            "q0.1,q0.9,y\n2,1,1\n",
            "is 2, above the next, 1; quantiles must be finite and not cross; sort=True",
        ),
        ("mean,std,y\n1,1,a\n", "column 'y' must be numbers; data row 1 holds the text 'a'"),
        ("p,y,weight\n1,1,x\n", "column 'weight' must be numbers; data row 1 holds the text 'x'"),
        ("p,y,cluster\n1,1,\n1,0,2\n", r"column 'cluster' has no name in data row 1 \(1 of 2 rows"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, content, message):
    path = text(tmp_path, content)
    with pytest.raises(CaveatError, match=message) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(str(path))


def test_text_that_is_not_utf8_beyond_what_was_looked_at(tmp_path):
    long = b"p,y,sex\n" + b"0.5,1,f\n" * 10**5 + b"0.5,0,\xff\n"
    path = text(tmp_path, long)
    with pytest.raises(FileFormatError, match="is not UTF-8 text all through; name its encoding"):
        read_predictions(path)
    path = text(tmp_path, b"p,y,sex\n" + b"0.5,1,f\n" * 10**6 + b"0.5,\xff,f\n")
    with pytest.raises(FileFormatError, match=r"not UTF-8 text all through; .* encoding='cp1252'"):
        read_predictions(path)
    path = text(tmp_path, b"p,y,sex\n" + b"0.5,1,f\n" * 10**6 + b"0.5,0,\xff\n")
    with pytest.raises(CaveatError, match=r"'sex' is not UTF-8 text; .* a CSV with encoding="):
        read_predictions(path, group="sex")
    found = read_predictions(path, group="sex", encoding="latin-1")
    assert found.groups["sex"].iloc[-1] == "\xff"


def test_numbers_may_be_normalized_and_quantiles_sorted(tmp_path):
    path = text(tmp_path, "p_a,p_b,p_c,y\n0.333,0.333,0.333,a\n")
    third = read_predictions(path, normalize=True).prediction.probabilities
    np.testing.assert_allclose(third, 1 / 3)
    path = text(tmp_path, "q0.1,q0.9,y\n2,1,1\n")
    assert read_predictions(path, sort=True).prediction.values.ravel().tolist() == [1, 2]


def test_a_single_column(tmp_path):
    assert read_predictions(text(tmp_path, "p\n0.5\n")).prediction.mean.tolist() == [[0.5, 0.5]]
    found = read_predictions(text(tmp_path, "q0.5\n3\n")).prediction
    assert (found.levels.tolist(), found.values.ravel().tolist()) == ([0.5], [3.0])


def test_numbers_written_as_text(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"p": ["0.5"], "y": [1]}), path)
    with pytest.raises(
        CaveatError, match="'p' holds numbers written as text; store them as numbers"
    ):
        read_predictions(path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_no_file_of_python_is_handed_to_the_threads_of_arrow(tmp_path, monkeypatch, ending):
    # They may drop it after the reader has returned, and need the interpreter for that: a process
    # that ends at that moment, as one with an error message does, is aborted.
    given = []
    read = pyarrow.csv.read_csv
    monkeypatch.setattr(
        "pyarrow.csv.read_csv", lambda file, **more: given.append(file) or read(file, **more)
    )
    read_predictions(write(tmp_path, ending, {"p": [0.5, 0.25], "y": [0, 1]}))
    (file,) = given
    assert isinstance(file, pa.NativeFile)
    assert not isinstance(file, pa.PythonFile)
    assert file.closed


def test_a_file_of_several_compressed_parts(tmp_path):
    parts = [b"p,y\n", b"0.5,1\n", b"0.25,0\n"]
    path = text(tmp_path, b"".join(map(gzip.compress, parts)), "table.csv.gz")
    assert read_predictions(path).y.tolist() == [1, 0]


class TestPercent:
    def test_two_classes(self, tmp_path):
        path = text(tmp_path, "p,y\n60,1\n30.5,0\n0,0\n100,1\n")
        found = read_predictions(path, percent=True)
        np.testing.assert_allclose(found.prediction.mean[:, 1], [0.6, 0.305, 0, 1])
        assert found.recognized[1] == "'p': probability of 1, the other class is 0, in percent"

    def test_many_classes(self, tmp_path):
        path = text(tmp_path, "p_a,p_b,p_c,y\n60,30,10,a\n33.3,33.3,33.4,b\n")
        found = read_predictions(path, percent=True)
        np.testing.assert_allclose(
            found.prediction.mean, [[0.6, 0.3, 0.1], [0.333, 0.333, 0.334]], rtol=1e-12
        )
        assert found.recognized[0].endswith("of the classes 'a', 'b', 'c', in percent")

    @pytest.mark.parametrize(
        ("content", "options", "message"),
        [
            (
                "p,y\n101,1\n50,0\n",
                {},
                "is 1.01, .*; probabilities lie between 0 and 100, but not that of data row 1$",
            ),
            ("p_a,p_b,y\n60,30,a\n", {}, "sum to 0.9; normalize=True divides each row by its sum"),
            ("p_a,p_b,y\n0.6,0.4,a\n", {}, "the rows sum to 1 as they are: leave out percent=True"),
            ("p_a,p_b,y\n300,1,a\n", {}, "sum to 3.01; normalize=True .* as counts and votes need"),
            ("l,y\n300,1\n1,0\n", {"logit": "l"}, "percent=True goes with probability="),
            ("mean,std,y\n300,1,1\n", {}, "percent=True goes with probability="),
        ],
    )
    def test_what_is_no_percentage(self, tmp_path, content, options, message):
        with pytest.raises(CaveatError, match=message):
            read_predictions(text(tmp_path, content), percent=True, **options)

    def test_a_saved_prediction_is_what_it_is(self, tmp_path):
        Categorical([[0.5, 0.5]]).save(tmp_path / "a.npz")
        with pytest.raises(OptionError, match="percent=True goes with probability="):
            read_predictions(tmp_path / "a.npz", percent=True)


MARKS = ["", "NA", "N/A", "n/a", "na", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", ".", "\\N"]


class TestMissing:
    """What R, pandas and others write where a value is missing is no class and no group."""

    @pytest.mark.parametrize("mark", MARKS)
    @pytest.mark.parametrize("quote", ["", '"'])
    def test_a_label(self, tmp_path, mark, quote):
        path = text(tmp_path, f"p,y\n0.5,yes\n0.25,{quote}{mark}{quote}\n0.75,no\n")
        message = r"column 'y' has no label in data row 2 \(1 of 3 rows have none\); remove .*; keep_na=True"
        with pytest.raises(CaveatError, match=message):
            read_predictions(path)

    @pytest.mark.parametrize("mark", MARKS)
    def test_a_group(self, tmp_path, mark):
        path = text(tmp_path, f"p,y,sex,ward\n0.5,1,f,1\n0.25,0,{mark},{mark}\n0.75,1,m,2\n")
        found = read_predictions(path, group=["sex", "ward"])
        assert found.groups["sex"].tolist() == ["f", None, "m"]
        by_value = attributes(found.groups, 3)
        assert [part.values for part in by_value] == [("f", "m", MISSING), ("1", "2", MISSING)]

    def test_a_group_that_is_missing_everywhere(self, tmp_path):
        path = text(tmp_path, "p,y,sex\n0.5,1,NA\n0.25,0,NA\n")
        (part,) = attributes(read_predictions(path, group=["sex"]).groups, 2)
        assert part.values == (MISSING,)

    @pytest.mark.parametrize(("option", "what"), [("id", "name"), ("cluster", "name")])
    def test_a_name(self, tmp_path, option, what):
        path = text(tmp_path, "p,y,code\n0.5,1,AO\n0.25,0,NA\n")
        with pytest.raises(
            CaveatError, match=rf"'code' has no {what} in data row 2 .*keep_na=True"
        ):
            read_predictions(path, **{option: "code"})
        found = read_predictions(path, keep_na=True, **{option: "code"})
        assert (found.ids if option == "id" else found.cluster).tolist() == ["AO", "NA"]

    def test_a_number(self, tmp_path):
        for keep in (False, True):
            with pytest.raises(CaveatError, match="'p' has no number in data row 2"):
                read_predictions(text(tmp_path, "p,y\n0.5,1\nNA,0\n"), keep_na=keep)

    def test_namibia(self, tmp_path):
        path = text(tmp_path, "p_NA,p_AO,y,land\n0.5,0.5,NA,NA\n0.25,0.75,AO,\n")
        found = read_predictions(path, group=["land"], keep_na=True)
        assert found.y.tolist() == ["NA", "AO"]
        assert found.groups["land"].tolist() == ["NA", None]

    def test_none_is_a_name(self, tmp_path):
        path = text(tmp_path, "p,y,drug\n0.5,None,None\n0.25,some,x\n")
        found = read_predictions(path, group=["drug"])
        assert found.y.tolist() == ["None", "some"]
        assert found.groups["drug"].tolist() == ["None", "x"]

    @pytest.mark.parametrize("ending", ["parquet", "npz", "arrow", "feather", "jsonl"])
    def test_other_formats_have_missing_values_of_their_own(self, tmp_path, ending):
        path = write(tmp_path, ending, {"p": [0.5, 0.25], "y": ["NA", "b"], "land": ["NA", "AO"]})
        found = read_predictions(path, group=["land"])
        assert found.y.tolist() == ["NA", "b"]
        assert found.groups["land"].tolist() == ["NA", "AO"]

    def test_features(self, tmp_path):
        path = text(tmp_path, "x,land,y\n1,NA,a\n2,AO,b\n3,AO,a\n")
        with pytest.raises(CaveatError, match="column 'land' has no label in data row 1"):
            read_features(path, "y")
        found = read_features(path, "y", keep_na=True)
        assert found.names == ("x", "land=AO", "land=NA")


@pytest.mark.parametrize("options", [{"probability": "y"}, {"probability": ["p", "y"]}])
def test_the_target_is_no_prediction(tmp_path, options):
    path = text(tmp_path, "p,y\n0.5,1\n0.25,0\n")
    with pytest.raises(OptionError, match="'y' is named both as the prediction and as the target"):
        read_predictions(path, target="y", **options)
