"""Fingerprints in pipelines of scikit-learn, beside networks in one table."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rdkit")
pytest.importorskip("cuik_molmaker")

from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator as Made
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import caveat
from caveat.exceptions import InvalidValueError, OptionError
from caveat.molecules import Fingerprints

SMILES = ["C" * n + tail for n in range(1, 13) for tail in ("", "O", "N", "=O", "c1ccccc1")]
Y = np.array([float(Chem.MolFromSmiles(text).GetNumAtoms()) for text in SMILES])


@pytest.mark.parametrize("counts", [False, True])
def test_they_are_those_of_rdkit(counts):
    made = Fingerprints(radius=3, size=512, counts=counts).transform(SMILES)
    make = Made.GetMorganGenerator(radius=3, fpSize=512)
    ask = make.GetCountFingerprint if counts else make.GetFingerprint
    for row, text in zip(made, SMILES, strict=True):
        bits = ask(Chem.MolFromSmiles(text))
        on = bits.GetNonzeroElements() if counts else dict.fromkeys(bits.GetOnBits(), 1)
        wanted = np.zeros(512)
        wanted[list(on)] = list(on.values())
        np.testing.assert_array_equal(row, wanted)


def test_baselines_stand_in_one_table():
    forest = make_pipeline(Fingerprints(), RandomForestRegressor(10, random_state=0))
    process = make_pipeline(
        Fingerprints(counts=True), GaussianProcessRegressor(RBF(10.0) + WhiteKernel(), optimizer=None)
    )  # fmt: skip
    trees = [
        make_pipeline(
            Fingerprints(),
            HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=3, random_state=seed),
        )
        for seed in range(2)
    ]
    train, test = SMILES[::2], SMILES[1::2]
    for model in (forest, process, *trees):
        model.fit(train, Y[::2])
    predictions = {
        "forest": caveat.from_model(forest, test),
        "process": caveat.from_model(process, test),
        "boosting": caveat.from_model(trees, test),
    }
    assert {name: one.members for name, one in predictions.items()} == {
        "forest": 10, "process": 1, "boosting": 2,
    }  # fmt: skip
    result = caveat.compare(
        {name: predictions[name] for name in ("forest", "process")}, Y[1::2], resamples=50,
        random_state=0, metrics=["rmse"],
    )  # fmt: skip
    assert {row.technique for row in result.rows} == {"forest", "process"}
    assert cross_val_score(clone(forest), SMILES, Y, cv=3).shape == (3,)


def test_frames_and_names():
    frame = pd.DataFrame({"mol": SMILES, "y": Y})
    made = Fingerprints(column="mol", size=64)
    np.testing.assert_array_equal(
        made.fit_transform(frame), Fingerprints(size=64).transform(frame["mol"])
    )
    assert made.get_feature_names_out()[:2].tolist() == ["morgan0", "morgan1"]


def test_errors():
    check_is_fitted(Fingerprints())  # there is nothing to learn
    with pytest.raises(InvalidValueError, match=r"row 1 .*not a valid SMILES"):
        Fingerprints().transform(["C", "C("])
    with pytest.raises(OptionError, match="size"):
        Fingerprints(size=0).fit(SMILES)
