import inspect
import sys
from types import SimpleNamespace
from typing import Self

import caveat
from caveat._docstrings import describe_package, describe_parameters, entries_of, sections_of

TABLE = {
    "y_true": "y_true : array of shape (samples,)\n    True values.",
    "bins": "bins : int\n    Number of bins.",
    "kind": "kind : str",
    "sample_weight": "sample_weight : array of shape (samples,)",
    "mean": "mean, variance : arrays of shape (samples,)",
    "variance": "mean, variance : arrays of shape (samples,)",
}


def test_parameters_are_completed_in_the_order_of_the_signature_with_its_defaults():
    @describe_parameters(TABLE)
    def error(y_true, mean, variance, *, bins=15, kind="top", special="a", sample_weight=None):
        r"""Summary with :math:`\sigma`.

        More.

        Parameters
        ----------
        special : str, default="a"
            Its own words.

        Returns
        -------
        float

        Examples
        --------
        >>> 1
        1
        """

    assert inspect.getdoc(error) == (
        "Summary with :math:`\\sigma`.\n\nMore.\n\n"
        "Parameters\n----------\n"
        "y_true : array of shape (samples,)\n    True values.\n"
        "mean, variance : arrays of shape (samples,)\n"
        "bins : int, default=15\n    Number of bins.\n"
        'kind : str, default="top"\n'
        'special : str, default="a"\n    Its own words.\n'
        "sample_weight : array of shape (samples,), optional\n\n"
        "Returns\n-------\nfloat\n\n"
        "Examples\n--------\n>>> 1\n1"
    )


def test_what_the_docstring_says_comes_first_and_the_first_table_wins():
    @describe_parameters({"bins": "bins : int\n    First."}, TABLE)
    def error(y_true, bins=3):
        """Summary.

        Parameters
        ----------
        y_true : sequence
            Own.
        """

    assert "y_true : sequence\n    Own.\nbins : int, default=3\n    First." in error.__doc__


def test_constructors_are_completed_too():
    @describe_parameters(TABLE)
    class Method:
        """Summary."""

        def __init__(self, bins=15):
            pass

    assert inspect.getdoc(Method).endswith("bins : int, default=15\n    Number of bins.")


def test_without_docstrings_nothing_happens():
    def error(bins=15):
        pass

    assert describe_parameters(TABLE)(error) is error
    assert error.__doc__ is None


def test_without_parameters_there_is_no_section():
    @describe_parameters(TABLE)
    def nothing(other):
        """Summary."""

    assert nothing.__doc__ == "Summary.\n"


def test_sections_and_entries():
    sections = sections_of("Summary.\n\n    Parameters\n    ----------\n    a, b : int\n    *c\n")
    assert sections == {"": "Summary.\n\n", "Parameters": "a, b : int\n*c"}
    assert entries_of(sections["Parameters"]) == {"a": "a, b : int", "b": "a, b : int", "c": "*c"}
    assert entries_of("") == {}


def test_sections_that_many_share_stand_where_they_belong():
    table = {**TABLE, "Returns": "float\n    The error.", "References": "A paper."}

    @describe_parameters(table)
    def error(bins=15, **options):
        """Summary.

        Parameters
        ----------
        **options
            Others.

        Notes
        -----
        Why.

        Examples
        --------
        >>> 1
        1
        """

    titles = list(sections_of(error.__doc__))
    assert titles == ["", "Parameters", "Returns", "Notes", "References", "Examples"]
    assert sections_of(error.__doc__)["Returns"].strip() == "float\n    The error."
    assert "    Number of bins.\n**options\n    Others.\n" in error.__doc__

    @describe_parameters(table)
    def own(bins=15):
        """Summary.

        Returns
        -------
        int
        """

    assert sections_of(own.__doc__)["Returns"].strip() == "int"


def test_a_package_is_described_at_once(monkeypatch):
    def measure(bins=15) -> caveat.Categorical:
        """Measure.

        Examples
        --------
        >>> measure(3)
        """

    def plain(other):
        """Plain."""

    class Method:
        """A method."""

        def fit(self, bins) -> Self:
            """Fit."""

        @classmethod
        def load(cls, bins) -> int:
            """Load."""

        @classmethod
        def make(cls, bins) -> Self:
            """Make."""

        def draw(self, random_state=None, progress=False):
            """Draw."""

        def _hidden(self, bins):
            """Hidden."""

    offered = {"measure": measure, "plain": plain, "Method": Method, "SIZE": 1}
    package = SimpleNamespace(__all__=[*offered, "imported_later"], **offered)
    monkeypatch.setitem(sys.modules, "a_package", package)
    describe_package("a_package", TABLE)
    assert sections_of(measure.__doc__)["Returns"].strip() == "Categorical"
    assert ">>> from a_package import measure\n" in measure.__doc__
    assert plain.__doc__ == "Plain.\n"
    assert sections_of(Method.fit.__doc__)["Returns"].strip() == "self"
    assert "Returns" not in sections_of(Method.load.__doc__)
    assert "bins : int\n    Number of bins." in Method.load.__doc__
    assert sections_of(Method.make.__doc__)["Returns"].strip() == "Method"
    assert sections_of(Method.draw.__doc__)["Parameters"].strip() == (
        "random_state : int, Generator or None, optional\n"
        "progress : bool, default=False\n    Whether to show a progress bar."
    )
    assert Method._hidden.__doc__ == "Hidden."


def returned(text, kind="float", told="From 0 to 1."):
    def value(x):
        pass

    value.__doc__ = f"Summary.\n{text}"
    describe_parameters(returns=(kind, told))(value)
    return sections_of(value.__doc__).get("Returns")


def test_what_is_returned_gets_its_type_and_a_first_sentence():
    section = "\nReturns\n-------\n"
    assert returned("") == "float\n    From 0 to 1."
    assert returned("", told="") == "float"
    assert returned("", kind="") is None
    assert (
        returned(f"{section}NaN without samples.") == "float\n    From 0 to 1. NaN without samples."
    )
    assert returned(f"{section}From 0 (best) upwards.") == "float\n    From 0 (best) upwards."
    # A section with a type is left as it is.
    assert returned(f"{section}dict\n    By class.") == "dict\n    By class."
    assert returned(f"{section}list of str") == "list of str"


def test_examples_import_what_they_show():
    def example(code, package="a.b"):
        def value():
            pass

        value.__doc__ = f"Summary.\n\nExamples\n--------\n{code}"
        describe_parameters(package=package)(value)
        return sections_of(value.__doc__)["Examples"].splitlines()

    line = ">>> from a.b import value"
    assert example(">>> value(1)\n1") == [line, ">>> value(1)", "1"]
    assert example(">>> import c\n>>> c.x(\n...     value(1))") == [
        ">>> import c", line, ">>> c.x(", "...     value(1))",
    ]  # fmt: skip
    # Neither twice, nor if it is called by another name.
    assert example(f"{line}\n>>> value(1)") == [line, ">>> value(1)"]
    for other in (">>> from a.b import Kind, value", ">>> from caveat import value"):
        assert example(f"{other}\n>>> value(1)") == [other, ">>> value(1)"]
    # Another package may have something else of that name.
    other = ">>> from a.c import value"
    assert example(f"{other}\n>>> value(1)") == [line, other, ">>> value(1)"]
    assert example(">>> a.b.value(1)") == [">>> a.b.value(1)"]
    assert example(">>> value(1)", package="") == [">>> value(1)"]


def test_keyword_options_are_kept():
    @describe_parameters(TABLE)
    def plot(bins=3, **options):
        """Summary.

        Parameters
        ----------
        **options
            Of the chart.
        """

    assert list(entries_of(sections_of(plot.__doc__)["Parameters"])) == ["bins", "options"]
