"""What hostile calls found."""

import numpy as np
import pytest

import caveat
from caveat import figures, plots
from caveat.exceptions import CaveatError, OptionError

RESULT = caveat.evaluate(caveat.Categorical.from_binary([0.1, 0.9]), [0, 1], resamples=0)


@pytest.mark.parametrize(
    "name",
    [name for name in plots.__all__ if name.startswith("plot_") and name != "plot_comparison"],
)
def test_results_of_another_kind(name):
    with pytest.raises(CaveatError, match=r"must be of type|are of an Evaluation"):
        getattr(plots, name)(3.0)


def test_comparison_of_another_kind():
    with pytest.raises(OptionError, match=r"^result must be of type Comparison; got a float$"):
        plots.plot_comparison(3.0, "ece")


def test_axes_that_are_none():
    with pytest.raises(OptionError, match=r"^ax must be of type Axes; got a int$"):
        plots.plot_confidence_curve(RESULT, ax=3)


def test_metrics_that_are_no_names():
    with pytest.raises(CaveatError, match="name of a metric is a str"):
        plots.plot_groups(RESULT, np.array([[0.5, 0.5]]))


def test_quantities_that_are_no_names():
    from caveat.experiments import shift_curves

    result = shift_curves(
        lambda X: caveat.Gaussian(X[:, 0], 1.0), np.arange(6.0)[:, None], np.arange(6.0),
        strengths=[0, 1], resamples=0, random_state=0,
    )  # fmt: skip
    with pytest.raises(OptionError, match=r"^quantity must be a name or a list of names; got 3$"):
        plots.plot_shift(result, 3)


def test_figures_of_something_else():
    with pytest.raises(OptionError, match=r"^figures are of an Evaluation; got a float$"):
        figures.confidence_curve(3.0)
