"""What people call CSV."""

import numpy as np
import pytest

from caveat.exceptions import CaveatError, FileFormatError, OptionError
from caveat.files import read_predictions

from .tables import text


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


@pytest.mark.parametrize(
    ("mark", "shown"), [(";", "';' (and --decimal ',' if"), ("\t", r"$'\t'"), ("|", "'|'")]
)
def test_another_separator_is_suggested(tmp_path, mark, shown):
    path = text(tmp_path, f"p{mark}y\n0.5{mark}1\n0.5{mark}0\n")
    with pytest.raises(FileFormatError) as caught:
        read_predictions(path)
    assert f"seems to be separated by {mark!r}, not ',': add --delimiter {shown}" in str(
        caught.value
    )
    assert read_predictions(path, delimiter=mark).y.tolist() == [1, 0]


def test_decimal_commas(tmp_path):
    path = text(tmp_path, "p;y\n0,5;1\n0,25;0\n")
    with pytest.raises(
        CaveatError, match="data row 1 holds the text '0,5'; for decimal commas add --d"
    ):
        read_predictions(path, delimiter=";")
    found = read_predictions(path, delimiter=";", decimal=",")
    assert found.prediction.mean[:, 1].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter must be a single character; got ';;'"),
        ({"decimal": ""}, "decimal must be a single character; got ''"),
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
        ("p,y\n2,1\n0.5,0\n", r"of sample 0 is 2, outside \[0, 1\]; name logits with --logit"),
        ("p,y\n0.5,a\n0.5,b\n0.5,c\n", r"'y' has 3 labels \('a', 'b', 'c'\), but one column of"),
        ("p,y\n0.5,a\n0.5,a\n", "'y' is 'a' in every row; name the class .* with --positive"),
        ("p_a,p_b,y\n1,0,c\n", "'y' is 'c' in data row 1, but the classes are 'a', 'b'"),
        ("p_a,p_b,y\n1,0.1,a\n", "of sample 0 sum to 1.1; --normalise divides each row by its sum"),
        (
            "mean,std,y\n1,-1,1\n",
            "std of sample 0 is -1, below 0; variances and standard deviations a",
        ),
        ("mean,var,y\n1,-1,1\n", "variance of sample 0 is -1, below 0; variances and standard dev"),
        (
            "q0.1,q0.9,y\n2,1,1\n",
            "is 2, above the next, 1; quantiles must be finite and not cross; --so",
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


def test_text_that_is_not_utf8(tmp_path):
    with pytest.raises(FileFormatError, match="is not UTF-8 text; save it as UTF-8"):
        read_predictions(text(tmp_path, b"p,\xff\n0.5,1\n"))
    long = b"p,y\n" + b"0.5,1\n" * 10**6 + b"0.5,\xff\n"
    with pytest.raises(CaveatError, match=r"(is not UTF-8|cannot be read: .*UTF8)"):
        read_predictions(text(tmp_path, long))


def test_numbers_may_be_normalised_and_quantiles_sorted(tmp_path):
    path = text(tmp_path, "p_a,p_b,p_c,y\n0.333,0.333,0.333,a\n")
    third = read_predictions(path, normalise=True).prediction.probabilities
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
