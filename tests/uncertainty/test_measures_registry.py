import numpy as np
import pytest

import caveat
from caveat.exceptions import OptionError, UnknownNameError
from caveat.uncertainty import MEASURES

P = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
H = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]])


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_by_name(name):
    options = {"H": H} if name == "homophily_uncertainty" else {}
    values = caveat.measure(P, name, **options)
    assert values.shape == (20,)
    np.testing.assert_array_equal(values, MEASURES[name].function(caveat.Categorical(P), **options))
    certain = caveat.measure([[1.0, 0.0, 0.0]], name, **options)
    assert certain[0] == (1 if name == "confused_classes" else 0)


def test_names_and_options():
    with pytest.raises(UnknownNameError, match="did you mean 'shannon'"):
        caveat.measure(P, "shanon")
    with pytest.raises(
        OptionError, match="renyi_entropy has no option alhpa; its options: alpha, scaled"
    ):
        caveat.measure(P, "renyi", alhpa=2)
    with pytest.raises(OptionError, match="homophily_uncertainty needs H; its options: H, maximum"):
        caveat.measure(P, "homophily")
    with pytest.raises(OptionError, match="margin has no option scaled; its options: none"):
        caveat.measure(P, "margin", scaled=True)
