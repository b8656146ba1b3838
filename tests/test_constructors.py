"""Constructors made from declared fields."""

import inspect
from dataclasses import InitVar, field

import pytest

from caveat._constructors import Declared, declared


@declared()
class Base:
    """A base.

    Parameters
    ----------
    size : int
        How large.
    name : str
        What it is called.

        In two paragraphs.
    low, high : float
        The limits.

    Attributes
    ----------
    total : int

    Examples
    --------
    >>> {name}(1).size
    1
    """

    size: int
    name: str = "a"
    low: float = 0.0
    high: float = field(default=1.0, kw_only=True)


@declared(kw_only=True)
class Child(Base):
    """A child.

    It says more.

    Parameters
    ----------
    bias : bool
        Whether there is one.
    scale : float or None
    free : object

    Attributes
    ----------
    other : float
        Another one.

    Examples
    --------
    >>> 1 + 1
    2
    """

    name: str = "b"
    bias: InitVar[bool] = True
    scale: float | None = None
    free: object = None
    undocumented: int = 3

    def __post_init__(self, bias):
        self.total = bias


def test_the_docstring_lists_all_parameters_with_the_defaults_of_the_class():
    assert Child.__doc__ == inspect.cleandoc(
        """A child.

        It says more.

        Parameters
        ----------
        size : int
            How large.
        low, high : float, default=0.0
            The limits.
        name : str, default="b"
            What it is called.

            In two paragraphs.
        bias : bool, default=True
            Whether there is one.
        scale : float or None, default=None
        free : object, optional

        Attributes
        ----------
        total : int
        other : float
            Another one.

        Examples
        --------
        >>> 1 + 1
        2"""
    )


def test_the_signature_is_real_and_what_is_passed_on_is_not_stored():
    signature = inspect.signature(Child)
    assert list(signature.parameters) == [
        "size", "low", "name", "bias", "scale", "free", "undocumented", "high"
    ]  # fmt: skip
    assert signature.parameters["bias"].annotation is bool
    made = Child(3, bias=False)
    assert (made.size, made.name, made.total) == (3, "b", False)
    assert not hasattr(Child, "bias")


def test_a_name_that_was_meant_is_suggested():
    with pytest.raises(TypeError, match=r"^Child has no parameter 'scael'; did you mean 'scale'\?"):
        Child(3, scael=1.0)
    with pytest.raises(TypeError, match="Base has no parameter 'xyz'; known are size, name, low"):
        Base(3, xyz=1)


def test_an_example_of_a_base_is_shown_under_the_name_of_the_class():
    @declared()
    class Grandchild(Base):
        """Another one."""

    assert Grandchild.__doc__.endswith("Examples\n--------\n>>> Grandchild(1).size\n1")
    assert "Examples" not in Base.__doc__


def test_without_docstrings_there_is_nothing_to_complete():
    @declared()
    class Plain:
        size: int = 1

    assert Plain().size == 1
    assert Plain.__doc__ == ""


def test_the_fields_of_subclasses_are_parameters_by_keyword():
    class Method(Declared):
        """A method.

        Parameters
        ----------
        bins : int
            How many.
        """

        bins: int = field(default=3, kw_only=False)
        kind: str = "a"
        learned_: int = field(init=False)

    class Own(Declared):
        def __init__(self, rate=1.0):
            self.rate = rate

    assert [Method(4, kind="b").bins, Method().kind, Own(2.0).rate] == [4, "a", 2.0]
    assert "bins : int, default=3" in Method.__doc__
    assert not hasattr(Method(), "learned_")
    with pytest.raises(TypeError, match="positional argument"):
        Method(4, "b")
    with pytest.raises(TypeError, match=r"Own has no parameter 'rat'; did you mean 'rate'\?"):
        Own(rat=2.0)
