"""Applicability and acquisition: rdkit's similarities, and choices by hand."""

import numpy as np
import pytest

pytest.importorskip("rdkit")
pytest.importorskip("chemprop")

from rdkit import Chem
from rdkit.Chem import AllChem
from rdkit.DataStructs import TanimotoSimilarity

from caveat.exceptions import InvalidValueError, OptionError
from caveat.molecules import acquire, applicability

KNOWN = ["CCO", "c1ccccc1", "CC(=O)Nc1ccccc1", "C1CCCCC1"]
NEW = ["CCCO", "c1ccccc1CC", "C1CCNCC1", "CCO", "c1ccc2ccccc2c1"]


def test_similarity_is_that_of_pairs():
    made = applicability(KNOWN, NEW)
    generator = AllChem.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [
        [generator.GetFingerprint(Chem.MolFromSmiles(s)) for s in some] for some in (KNOWN, NEW)
    ]
    table = np.array([[TanimotoSimilarity(a, b) for a in prints[0]] for b in prints[1]])
    np.testing.assert_allclose(made.similarity, table.max(axis=1))
    np.testing.assert_array_equal(made.nearest, table.argmax(axis=1))
    assert made.known_scaffold.tolist() == [True, True, False, True, False]
    np.testing.assert_allclose(made.uncertainty, 1 - made.similarity)
    groups = made.groups()
    assert groups["scaffold"].tolist() == ["known", "known", "new", "known", "new"]
    assert groups["similarity"][3] == "above 0.8"
    assert set(groups["similarity"]) <= {"below 0.4", "0.4 to 0.6", "0.6 to 0.8", "above 0.8"}


def test_without_diversity_the_most_uncertain_are_taken():
    uncertainty = np.array([0.3, 0.9, 0.1, 0.7, 0.5])
    assert acquire(NEW, uncertainty, 3, diversity=0).tolist() == [1, 3, 4]


def test_duplicates_are_not_taken_twice():
    pool = ["CCCCO", "CCCCO", "CCCCO", "c1ccncc1"]
    chosen = acquire(pool, [0.9, 0.8, 0.7, 0.1], 2, diversity=2.0)
    assert set(chosen.tolist()) == {0, 3}


@pytest.mark.parametrize(
    ("uncertainty", "count", "error", "words"),
    [
        ([1.0, np.inf], 1, InvalidValueError, "molecule 1 is inf"),
        ([1.0, 2.0], 3, OptionError, "the pool has 2"),
    ],
)
def test_bad_input(uncertainty, count, error, words):
    with pytest.raises(error, match=words):
        acquire(["C", "CC"], uncertainty, count)
