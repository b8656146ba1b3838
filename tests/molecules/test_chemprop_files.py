"""Files as chemprop itself writes them, read with and without options."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("chemprop")
torch = pytest.importorskip("torch")

from chemprop import nn  # noqa: E402
from chemprop.cli.predict import save_individual_predictions, save_predictions  # noqa: E402

from caveat.files import read_predictions  # noqa: E402

# What chemprop warns of is its own.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

N = 6
RNG = np.random.default_rng(0)
MEAN, UNC, TRUTH = RNG.normal(size=(N, 1)), RNG.random((N, 1)), RNG.normal(size=N)


@pytest.fixture
def arguments(tmp_path):
    frame = pd.DataFrame({"smiles": ["C"] * N, "logP": TRUTH, "kind": np.arange(N) % 3})
    frame.to_csv(tmp_path / "test.csv", index=False)
    return SimpleNamespace(
        test_path=tmp_path / "test.csv", output=tmp_path / "preds.csv", no_header_row=False,
        uncertainty_method="mve",
    )  # fmt: skip


def model(kind, **settings):
    return SimpleNamespace(predictor=getattr(nn, kind)(**settings))


def write(arguments, kind, names, preds, uncs, **settings):
    given = [torch.from_numpy(values) for values in (preds, uncs)]
    save_predictions(arguments, model(kind, **settings), names, *given, arguments.output)


@pytest.mark.parametrize("method", ["ensemble", "dropout", "mve", "evidential-total"])
def test_variances(arguments, method):
    arguments.uncertainty_method = method
    write(arguments, "MveFFN", ["logP"], MEAN, UNC)
    table = read_predictions(arguments.output, target_file=arguments.test_path, target="logP")
    np.testing.assert_allclose(table.prediction.mean[0], MEAN)
    np.testing.assert_allclose(table.prediction.variance[0], UNC, atol=1e-6)
    np.testing.assert_allclose(table.y, TRUTH)


def test_half_widths(arguments):
    arguments.uncertainty_method = "quantile-regression"
    write(arguments, "QuantileFFN", ["logP"], MEAN, UNC)
    table = read_predictions(
        arguments.output, mean="logP", half_width="logP_unc", coverage=0.9,
        target_file=arguments.test_path, target="logP",
    )  # fmt: skip
    np.testing.assert_allclose(table.prediction.upper - MEAN, UNC, atol=1e-6)


def test_two_classes(arguments):
    arguments.uncertainty_method = "classification-dirichlet"
    p = RNG.random((N, 1))
    write(arguments, "BinaryDirichletFFN", ["toxic"], p, UNC)
    table = read_predictions(arguments.output, probability="toxic")
    np.testing.assert_allclose(table.prediction.mean[:, 1], p[:, 0])


def test_several_classes(arguments):
    arguments.uncertainty_method = "classification"
    p = RNG.dirichlet(np.ones(3), (N, 1)).astype(np.float32)
    write(arguments, "MulticlassClassificationFFN", ["kind"], p, UNC, n_classes=3)
    table = read_predictions(arguments.output, target_file=arguments.test_path, target="kind")
    np.testing.assert_allclose(table.prediction.mean, p[:, 0], atol=1e-6)
    assert table.y.tolist() == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("method", ["ensemble", "mve"])
def test_the_models_of_an_ensemble(arguments, method):
    arguments.uncertainty_method = method
    means, uncs = RNG.normal(size=(3, N, 1)), RNG.random((3, N, 1))
    given = [torch.from_numpy(values) for values in (means, uncs)]
    save_individual_predictions(
        arguments, model("MveFFN"), ["a", "b", "c"], ["logP"], *given, arguments.output
    )
    path = arguments.output.with_name("preds_individual.csv")
    table = read_predictions(path, target="logP")
    np.testing.assert_allclose(table.prediction.mean, means)
    wanted = uncs if method == "mve" else np.zeros_like(uncs)
    np.testing.assert_allclose(table.prediction.variance, wanted, atol=1e-6)
    np.testing.assert_allclose(table.y, TRUTH)
