import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import caveat


def test_all_is_sorted_complete_and_resolves():
    assert caveat.__all__ == sorted(caveat.__all__)
    assert set(caveat.__all__) == {*caveat._HOMES, *caveat._MODULES}
    for name in caveat.__all__:
        assert getattr(caveat, name) is not None
    assert set(caveat.__all__) <= set(dir(caveat))


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(caveat.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {**caveat._HOMES, **dict.fromkeys(caveat._MODULES)}


def test_submodules_are_imported_when_asked_for():
    assert caveat.__getattr__("predictions") is caveat.predictions


def test_unknown_attribute():
    message = "^module 'caveat' has no attribute 'Categoricall'; did you mean 'Categorical'\\?$"
    with pytest.raises(AttributeError, match=message):
        _ = caveat.Categoricall
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing_like_it'$"):
        _ = caveat.nothing_like_it
    assert not hasattr(caveat, "_evaluate")


def test_old_names_say_the_new_ones():
    with pytest.raises(caveat.exceptions.UnknownNameError, match="expected_normalized_calibrat"):
        caveat.metrics.METRICS["expected_normalised_calibration_error"]
    with pytest.raises(caveat.exceptions.OptionError, match="its options: alpha, scaled"):
        caveat.measure([[0.5, 0.5]], "renyi", normalised=True)
    with pytest.raises(caveat.exceptions.OptionError, match="it has bins, kind, norm, binning"):
        caveat.metrics.METRICS["ece"].state([0, 1], [0.2, 0.8], bin=3)


def test_old_options_say_the_new_ones(capsys):
    from caveat.cli import main

    assert main(["evaluate", "x.csv", "--normalise"]) == 2
    assert "--normalize" in capsys.readouterr().err


def run(code: str) -> list[str]:
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def test_import_is_light():
    modules = run("import caveat, sys, json; print(json.dumps(sorted(sys.modules)))")
    heavy = {"torch", "matplotlib", "plotly", "pandas", "pyarrow", "scipy", "sklearn", "numpy"}
    assert heavy.isdisjoint(modules)


def test_predictions_and_splits_need_only_numpy():
    modules = run(
        "import caveat, sys, json\n"
        "p = caveat.Categorical([[0.5, 0.5]])\n"
        "caveat.decompose(p); caveat.measure(p, 'geometric')\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    heavy = {"torch", "matplotlib", "plotly", "pandas", "pyarrow", "scipy.stats", "sklearn"}
    assert heavy.isdisjoint(modules)


def test_errors_are_value_errors():
    from caveat import exceptions

    for name in exceptions.__all__:
        assert issubclass(getattr(exceptions, name), ValueError)
