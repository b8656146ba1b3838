"""Separator, decimal mark and encoding are detected, or asked for, and never guessed wrong."""

import codecs
import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from caveat.exceptions import CaveatError, FileFormatError, OptionError
from caveat.files import Dialect, column_names, read_features, read_predictions, sniff
from caveat.files.dialect import START, number_pattern

from .tables import text


def sniffed(folder, content, name="table.csv", **options):
    return sniff(text(folder, content, name), **options)


class TestRealFiles:
    """Files as programs write them."""

    def test_write_csv2_of_r(self, tmp_path):
        content = (
            '"";"risk";"died";"age";"ward"\n'
            '"1";0,0312;"no";61,5;"Innere; Süd"\n'
            '"2";0,75;"yes";NA;NA\n'
            '"3";1e-04;"no";70;"Chirurgie"\n'
        )
        path = text(tmp_path, content)
        found = read_predictions(path, target="died", group=["ward"])
        assert found.prediction.mean[:, 1].tolist() == [0.0312, 0.75, 0.0001]
        assert found.y.tolist() == ["no", "yes", "no"]
        assert found.groups["ward"].tolist() == ["Innere; Süd", None, "Chirurgie"]
        assert found.recognized[0] == "the file is read with delimiter=';' and decimal=','"

    def test_unicode_text_of_excel(self, tmp_path):
        content = "p\ty\tStraße\r\n0,5\t1\tMüllerweg\r\n0,25\t0\t\r\n"
        path = text(tmp_path, codecs.BOM_UTF16_LE + content.encode("utf-16-le"))
        found = read_predictions(path, group=["Straße"])
        assert found.prediction.mean[:, 1].tolist() == [0.5, 0.25]
        assert found.groups["Straße"].tolist() == ["Müllerweg", None]
        assert found.recognized[0] == (
            r"the file is read with delimiter='\t' and decimal=',' and encoding='utf-16-le'"
        )
        assert column_names(path) == ["p", "y", "Straße"]

    def test_names_of_windows(self, tmp_path):
        path = text(tmp_path, "p;y;Ort\n0,5;1;Köln\n0,25;0;Zürich – „See“\n".encode("cp1252"))
        found = read_predictions(path, group=["Ort"])
        assert found.groups["Ort"].tolist() == ["Köln", "Zürich – „See“"]
        assert found.recognized[0].endswith("encoding='cp1252'")

    def test_missing_points_of_sas(self, tmp_path):
        path = text(tmp_path, "p,y,x\n0.5,1,.\n0.25,0,1.5\n0.75,1,2.5\n")
        table = read_predictions(path, weight="x", missing="drop")
        assert table.sample_weight.tolist() == [1.5, 2.5]
        path = text(tmp_path, "p,y,x\n 0.5, 1, .\n 0.25, 0, 1.5\n 0.75, 1, 2.5\n")
        table = read_predictions(path, weight="x", missing="drop")
        assert table.prediction.mean[:, 1].tolist() == [0.25, 0.75]
        assert table.sample_weight.tolist() == [1.5, 2.5]

    def test_comma_csv_of_pandas_with_decimal_commas(self, tmp_path):
        path = text(tmp_path, 'p,y\n"0,5",1\n"0,25",0\n')
        for options in ({}, {"decimal": ","}):
            found = read_predictions(path, **options)
            assert found.prediction.mean[:, 1].tolist() == [0.5, 0.25]

    def test_what_is_usual_is_not_said(self, tmp_path):
        for content, name in (
            ("p,y\n0.5,1\n0.2,0\n", "a.csv"),
            ("p\ty\n0.5\t1\n0.2\t0\n", "a.tsv"),
        ):
            path = text(tmp_path, content, name)
            assert "the file is read" not in str(read_predictions(path).recognized)
        path = text(tmp_path, "p;y\n0,5;1\n0,2;0\n".encode("utf-16"))
        found = read_predictions(path, delimiter=";", decimal=",", encoding="utf-16")
        assert "the file is read" not in str(found.recognized)

    def test_packed(self, tmp_path):
        content = "p|y|Ort\n0,5|1|Köln\n0,2|0|\n".encode("utf-16")
        path = text(tmp_path, gzip.compress(content), "a.csv.gz")
        assert read_predictions(path, group=["Ort"]).groups["Ort"].tolist() == ["Köln", None]


class TestDelimiter:
    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    def test_alone(self, tmp_path, mark):
        assert sniffed(tmp_path, f"p{mark}y\n0.5{mark}1\n").delimiter == mark
        assert sniffed(tmp_path, f"p{mark}y\n", "a.tsv").delimiter == mark

    def test_the_header_decides(self, tmp_path):
        rows = "0,5;a,b|c\td\n" * 3
        assert sniffed(tmp_path, "p;note\n" + rows).delimiter == ";"

    def test_names_and_text_in_quotes(self, tmp_path):
        content = '"p;1","a|b",y\n0.5,"x;\ny|""z""",1\n0.25,"x;y|z",0\n'
        assert sniffed(tmp_path, content).delimiter == ","
        path = text(tmp_path, content)
        assert read_predictions(path, probability="p;1").prediction.mean[:, 1].tolist() == [
            0.5,
            0.25,
        ]

    def test_text_with_other_marks_in_some_rows(self, tmp_path):
        assert sniffed(tmp_path, "a;b,y\n1,2\nx;y,3\n").delimiter == ","

    def test_two_readings(self, tmp_path):
        for content in ("p,x;y\n0,5;1\n", "a|b;c\n1|2;3\n"):
            with pytest.raises(FileFormatError, match=r"can be separated by .*; say which: delim"):
                sniffed(tmp_path, content)
        assert sniffed(tmp_path, "p,x;y\n0,5;1\n", decimal=",").delimiter == ";"

    def test_none_that_fits_is_the_usual_one(self, tmp_path):
        content = "a,b;c\n1\n2,3,4\n5;6;7\n"
        assert sniffed(tmp_path, content).delimiter == ","
        with pytest.raises(FileFormatError, match="Expected 2 columns, got 1"):
            read_features(text(tmp_path, content))

    def test_one_column(self, tmp_path):
        assert sniffed(tmp_path, "p\n0.5\n0.25\n") == Dialect(thousands=",")
        assert sniffed(tmp_path, "p\nred, blue\nred\n") == Dialect()
        with pytest.raises(FileFormatError, match=r"commas in its numbers; if .* add decimal=','"):
            sniffed(tmp_path, "p\n0,5\n0,25\n")
        path = text(tmp_path, "p\n0,5\n0,25\n")
        assert read_predictions(path, decimal=",").prediction.mean[:, 1].tolist() == [0.5, 0.25]
        assert sniffed(tmp_path, "p\n0.5\n", decimal=".").delimiter == ","

    def test_marks_in_a_name_that_no_row_has(self, tmp_path):
        assert sniffed(tmp_path, "risk of a|b\n0.5\n0.25\n").delimiter == ","
        assert sniffed(tmp_path, "a|b,c;d\n1,2\n3,4\n").delimiter == ","

    def test_an_empty_line_is_no_header(self, tmp_path):
        assert sniffed(tmp_path, "\n\n") == Dialect()

    def test_a_part_is_enough(self, tmp_path):
        rows = '0,5;"a;b"\n' * 30_000
        assert sniffed(tmp_path, "p;y\n" + rows) == Dialect(";", ",", thousands=".")
        assert sniffed(tmp_path, "p;y\n0,5;" + '"' + "a;b\n" * START).delimiter == ";"
        names = ";".join(f"a_long_name_of_a_column_{i}" for i in range(20_000))
        assert len(names) > START
        path = text(tmp_path, f"{names}\n" + ";".join(["0,5"] * 20_000) + "\n")
        assert sniff(path).decimal == ","
        assert sniffed(tmp_path, names).delimiter == ";"
        assert sniffed(tmp_path, "a;" + "b" * 2**22).delimiter == ";"

    def test_an_entry_that_is_too_long_for_python(self, tmp_path):
        content = "p;y\n0,5;1\n0,5;" + "a" * 200_000 + "\n"
        assert sniffed(tmp_path, content).decimal == ","


class TestDecimal:
    @pytest.mark.parametrize(
        ("entries", "decimal"),
        [
            ("0,5 1", ","),
            ("0,523", ","),
            ("12,5 1,234", ","),
            ("-,5", ","),
            ("1234,567", ","),
            ("1,5e-3 2", ","),
            ("1.234,56", ","),
            ("1.234.567", ","),
            ("0.523", "."),
            ("1.5 NA . 2", "."),
            ("1,234.56", "."),
            ("1,234,567 0", "."),
            ("1 2 3", "."),
            ("01.02.2020 03.02.2020", "."),
            ("2020-01-01", "."),
            ("1,5kg", "."),
            ("0,5 0.5", "."),
            ("a b", "."),
        ],
    )
    def test_of_one_column(self, tmp_path, entries, decimal):
        rows = "".join(f"x;{entry}\n" for entry in entries.split())
        found = sniffed(tmp_path, "a;b\n" + rows)
        assert (found.decimal, found.doubtful) == (decimal, ())

    def test_in_some_columns_only(self, tmp_path):
        content = "n;p;day;y\n12;0,5;01.02.2020;1\n1.234;0,25;24.12.2020;0\n"
        assert sniffed(tmp_path, content) == Dialect(";", ",", thousands=".")
        path = text(tmp_path, content)
        found = read_predictions(path, group=["day"])
        assert found.prediction.mean[:, 1].tolist() == [0.5, 0.25]
        assert found.groups["day"].tolist() == ["01.02.2020", "24.12.2020"]
        # In a file that Excel has touched it may be either.
        with pytest.raises(CaveatError, match=r"column 'n': 1.234 is 1.234 or 1234, and the file"):
            read_predictions(path, weight="n")
        found = read_predictions(path, weight="n", decimal=",")
        assert found.sample_weight.tolist() == [12, 1234]
        assert "'n': '.' between thousands is left out" in found.recognized

    @pytest.mark.parametrize("mark", [";", "\t"])
    def test_points_that_come_late(self, tmp_path, mark):
        content = f"p{mark}n{mark}y\n" + f"1{mark}1{mark}1\n" * 60_000
        path = text(tmp_path, content + f"0{mark}1.234{mark}0\n")
        assert len(read_predictions(path)) == 60_001
        with pytest.raises(CaveatError, match=r"column 'n': 1.234 is 1.234 or 1234, and the file"):
            read_predictions(path, weight="n")
        packed = text(tmp_path, gzip.compress(path.read_bytes()), "table.csv.gz")
        with pytest.raises(CaveatError, match=r"column 'n': 1.234 is 1.234 or 1234, and the file"):
            read_predictions(packed, weight="n")
        assert read_predictions(path, weight="n", decimal=",").sample_weight[-1] == 1234
        assert read_predictions(path, weight="n", decimal=".").sample_weight[-1] == 1.234
        for number in ("0.5", "1e3"):
            path = text(tmp_path, content + f"0{mark}{number}{mark}0\n")
            assert read_predictions(path, weight="n").sample_weight[-1] == float(number)

    def test_a_doubt_that_comes_late(self, tmp_path):
        content = "p,n\n" + "0.5,1\n" * 60_000 + '0.5,"1,234"\n'
        with pytest.raises(CaveatError, match=r"column 'n': 1,234 is 1.234 or 1234, and the file"):
            read_predictions(text(tmp_path, content), weight="n")
        content = "p,n\n" + "1,1\n" * 90_000 + '0,"1,234"\n'
        with pytest.raises(
            CaveatError, match=r"'n' must be numbers; .* '1,234'; say with decimal="
        ):
            read_predictions(text(tmp_path, content), weight="n")

    def test_thousands(self, tmp_path):
        path = text(tmp_path, "mean;std;y\n1.234,56;1,5;1.234\n-12.345.678,9;2;0,5\n")
        found = read_predictions(path)
        assert found.prediction.mean.ravel().tolist() == [1234.56, -12345678.9]
        assert found.y.tolist() == [1234.0, 0.5]
        path = text(tmp_path, 'mean,std,y\n"1,234.56",1.5,"1,234"\n12.5,2,NA\n')
        found = read_predictions(path, missing="drop", decimal=".")
        assert (found.prediction.mean.ravel().tolist(), found.y.tolist()) == ([1234.56], [1234])

    @pytest.mark.parametrize(
        "content", ['p,n,y\n1,"1,234",1\n0,"2,500",0\n', "p;n;y\n1;1,234;1\n0;2,500;0\n"]
    )
    def test_two_readings(self, tmp_path, content):
        path = text(tmp_path, content)
        assert sniff(path).doubtful == (("n", "1,234"),)
        assert read_predictions(path).y.tolist() == [1, 0]
        message = r"column 'n': 1,234 is 1.234 or 1234, .*; say it with decimal=',' or decimal='.'"
        with pytest.raises(CaveatError, match=message):
            read_predictions(path, weight="n")
        assert read_predictions(path, weight="n", decimal=".").sample_weight.tolist() == [
            1234,
            2500,
        ]
        found = read_predictions(path, weight="n", decimal=",").sample_weight
        assert found.tolist() == [1.234, 2.5]

    def test_points_are_doubtful_with_semicolons_and_tabs_only(self, tmp_path):
        unclear = (("n", "1.234"),)
        for mark, doubtful in ((",", ()), ("|", ()), ("\t", unclear), (";", unclear)):
            content = f"p{mark}n\n1{mark}1.234\n0{mark}2\n"
            assert sniffed(tmp_path, content).doubtful == doubtful
        with pytest.raises(CaveatError, match=r"column 'n': 1.234 is 1.234 or 1234, and the file"):
            read_predictions(tmp_path / "table.csv", weight="n")

    def test_columns_that_contradict_each_other(self, tmp_path):
        content = "p;x;n;version;y\n0,5;1,5;1,234;1.2;1\n0,25;2,5;2;1.3;0\n"
        path = text(tmp_path, content)
        assert sniff(path) == Dialect(";", ",", doubtful=(("n", "1,234"),))
        assert read_predictions(path).prediction.mean[:, 1].tolist() == [0.5, 0.25]
        with pytest.raises(CaveatError, match=r"'version' holds numbers .* decimal='.' reads"):
            read_predictions(path, weight="version")
        with pytest.raises(CaveatError, match=r"column 'n': 1,234 is 1.234 or 1234"):
            read_predictions(path, weight="n")
        path = text(tmp_path, 'p,codes,y\n0.5,"1,2",1\n0.25,"2,3",0\n')
        found = read_predictions(path, group=["codes"])
        assert found.prediction.mean[:, 1].tolist() == [0.5, 0.25]
        assert found.groups["codes"].tolist() == ["1,2", "2,3"]

    def test_a_text_column_stays_text(self, tmp_path):
        path = text(tmp_path, "p;y;id\n0,5;1,234;1.234\n0,25;0;7\n")
        found = read_predictions(path)
        assert found.ids.tolist() == ["1.234", "7"]
        assert found.prediction.classes.tolist() == ["0", "1,234"]

    def test_large_whole_numbers(self, tmp_path):
        path = text(tmp_path, "p;y;n\n0,5;1;9.007.199.254.740.993\n0,2;0;1\n")
        assert read_predictions(path, weight="n").sample_weight.tolist() == [2.0**53, 1.0]

    def test_blanks_around_numbers(self, tmp_path):
        path = text(tmp_path, "p,w,y\n1, 2,1\n0, NA ,0\n1,3 ,1\n")
        found = read_predictions(path, weight="w", missing="drop")
        assert found.sample_weight.tolist() == [2, 3]

    def test_numbers_that_come_late(self, tmp_path):
        content = "p;w;y\n" + "0,5;NA;1\n" * 200 + "0,5;1.234,5;0\n"
        found = read_predictions(text(tmp_path, content), weight="w", missing="drop", positive=1)
        assert found.sample_weight.tolist() == [1234.5]

    def test_numbers_of_a_pattern(self):
        import re

        regex = re.compile(number_pattern(",", "."))
        for word in ("1", "1,5", ",5", "5,", "+1.234,5", "-1.234.567", "1,5e-3", "0012,5"):
            assert regex.fullmatch(word), word
        for word in ("", ",", ".", "1.23", "1.2345", "0.123", "1,2,3", "1.234.56", "e5", "1 234"):
            assert not regex.fullmatch(word), word


class TestEncoding:
    @pytest.mark.parametrize(
        ("mark", "encoding"),
        [
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (codecs.BOM_UTF32_LE, "utf-32-le"),
            (codecs.BOM_UTF32_BE, "utf-32-be"),
        ],
    )
    def test_byte_order_marks(self, tmp_path, mark, encoding):
        path = text(tmp_path, mark + "p,y,ß€😀\n0.5,1,Ω\n0.25,0,я\n".encode(encoding))
        found = read_predictions(path, group=["ß€😀"])
        assert found.groups["ß€😀"].tolist() == ["Ω", "я"]
        assert found.prediction.mean[:, 1].tolist() == [0.5, 0.25]
        assert sniff(path).encoding.removesuffix("-sig") == encoding

    def test_letters_that_are_cut_in_two(self, tmp_path):
        rows = "a" * (START - 1) + "ß\n"
        assert sniffed(tmp_path, rows).encoding == "utf-8"
        assert sniffed(tmp_path, "p,ü".encode()[:-1]).encoding == "cp1252"

    def test_what_cannot_be_known(self, tmp_path):
        with pytest.raises(FileFormatError, match="is UTF-8 in one place and not in another; name"):
            sniffed(tmp_path, "p,ü\n".encode() + "ö,1\n".encode("cp1252"))
        with pytest.raises(FileFormatError, match=r"neither UTF-8 .*encoding='cp850'"):
            sniffed(tmp_path, "p,ü\n".encode("cp850"))
        for encoding in ("utf-16-le", "utf-16-be"):
            path = text(tmp_path, "p,y\n0.5,1\n0.2,0\n".encode(encoding))
            with pytest.raises(FileFormatError, match=f"zero bytes .*encoding='{encoding}'"):
                sniff(path)
            assert read_predictions(path, encoding=encoding).y.tolist() == [1, 0]

    def test_named(self, tmp_path):
        path = text(tmp_path, "p,y,ü\n0.5,1,é\n0.25,0,\n".encode("cp850"))
        found = read_predictions(path, group=["ü"], encoding="CP850")
        assert found.groups["ü"].tolist() == ["é", None]
        with pytest.raises(FileFormatError, match="is not ASCII text all through; name its enc"):
            sniff(path, encoding="ascii")
        for name in ("latin-17", "base64", "a\0b"):
            with pytest.raises(OptionError, match="is not known; use a name such as 'utf-8'"):
                read_predictions(path, encoding=name)
        with pytest.raises(FileFormatError, match="is not ASCII text all through; name its enc"):
            read_predictions(path, encoding="ascii")
        late = text(tmp_path, b"p,y\n" + b"0.5,1\n" * 10**6 + b"0.5,\xff\n")
        with pytest.raises(FileFormatError, match="is not ASCII text all through; name its enc"):
            read_predictions(late, encoding="ascii")

    def test_no_file_of_python_here_either(self, tmp_path, monkeypatch):
        import pyarrow as pa
        import pyarrow.csv

        given = []
        read = pyarrow.csv.read_csv
        monkeypatch.setattr(
            "pyarrow.csv.read_csv", lambda file, **more: given.append(file) or read(file, **more)
        )
        read_predictions(text(tmp_path, "p,y\n0.5,1\n0.2,0\n".encode("utf-16")))
        assert isinstance(given[0], pa.BufferReader)


NUMBER = st.floats(-1e6, 1e6).map(lambda x: round(x, 4)) | st.integers(-5000, 5000).map(float)
WORD = st.text(st.sampled_from('ab ,;|\t".€éß\n'), min_size=1, max_size=6).filter(
    lambda word: word.strip() == word
)


@settings(
    max_examples=150,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    data=st.data(),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    newline=st.sampled_from(["\n", "\r\n"]),
    form=st.sampled_from(["{!r}", "{:.3f}", "{:g}", "{:,.2f}", "{:,.0f}."]),
    packed=st.booleans(),
)
def test_what_was_written_is_read(
    tmp_path, data, delimiter, decimal, encoding, quoting, newline, form, packed
):
    """Whatever the way of writing: the same numbers and names, or an error that names the option."""
    rows = data.draw(
        st.lists(st.tuples(NUMBER, NUMBER.map(abs), NUMBER, WORD), min_size=1, max_size=8)
    )
    rows = [(*(float(form.format(x).replace(",", "")) for x in row[:3]), row[3]) for row in rows]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=newline)
    writer.writerow(["mean", "std", "y", "größe"])

    def written(number):
        return form.format(number).translate(str.maketrans(",.", ",." if decimal == "." else ".,"))

    writer.writerows([*map(written, row[:3]), row[3]] for row in rows)
    content = out.getvalue().encode(encoding)
    if encoding == "utf-16-be":
        content = codecs.BOM_UTF16_BE + content
    name = "table.csv.gz" if packed else "table.csv"
    path = text(tmp_path, gzip.compress(content, mtime=0) if packed else content, name)
    asked = ""
    try:
        found = read_predictions(path, group=["größe"])
    except CaveatError as error:  # what the file leaves open is asked for
        asked = str(error)
        found = read_predictions(
            path, group=["größe"], delimiter=delimiter, decimal=decimal, encoding=encoding
        )
    assert not asked or any(f"{name}=" in asked for name in ("decimal", "delimiter", "encoding"))
    np.testing.assert_array_equal(found.prediction.mean.ravel(), [row[0] for row in rows])
    np.testing.assert_allclose(found.prediction.variance.ravel(), [row[1] ** 2 for row in rows])
    np.testing.assert_array_equal(found.y, [row[2] for row in rows])
    groups = [None if group is None else str(group) for group in found.groups["größe"]]
    assert groups == [None if row[3] == "." else row[3] for row in rows]


def test_the_same_every_time(tmp_path):
    path = text(tmp_path, "p;y\n0,5;1\n")
    assert len({sniff(path) for _ in range(3)}) == 1


@pytest.mark.parametrize("mark", ["\t", ";", "|"])
def test_options_overrule_what_is_seen(tmp_path, mark):
    path = text(tmp_path, f"p{mark}x,y\n0.5,1\n")
    assert sniff(path, delimiter=",") == Dialect(",", ".", thousands=",")
    assert sniff(path, delimiter=mark).delimiter == mark
    assert column_names(path, ",") == [f"p{mark}x", "y"]
    assert column_names(path, mark, None, "latin-1") == ["p", "x,y"]
