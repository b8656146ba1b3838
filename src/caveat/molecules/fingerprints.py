"""Molecules as rows of numbers, for any model of tables."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from .._constructors import declared
from .._validation import check_integer
from .features import as_smiles, read_molecules

__all__ = ["Fingerprints"]


@declared(kw_only=True)
class Fingerprints(TransformerMixin, BaseEstimator):
    """Morgan fingerprints of molecules, as the first step of a pipeline of scikit-learn.

    With a forest, boosted trees or a Gaussian process behind it, it is the baseline that a network
    over molecules has to beat; `caveat.from_model` reads the whole pipeline.

    Parameters
    ----------
    radius : int
        How many bonds around each atom count.
    size : int
        Bits; different neighborhoods may share one.
    counts : bool
        Whether to count neighborhoods rather than to mark them.
    column : str or None
        The column of a frame that holds the SMILES.

    Examples
    --------
    >>> import caveat
    >>> from caveat.molecules import Fingerprints
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> smiles = ["C" * n + tail for n in range(1, 11) for tail in ("", "O", "N")]
    >>> model = make_pipeline(Fingerprints(), RandomForestRegressor(10, random_state=0))
    >>> caveat.from_model(model.fit(smiles, [float(len(text)) for text in smiles]), ["CCCO"])
    Gaussian: 10 members x 1 sample x 1 target (0)
    """

    radius: int = 2
    size: int = 2048
    counts: bool = False
    column: str | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the options; there is nothing to learn.

        Parameters
        ----------
        X : list of str, Series, array, or frame with ``column``
        y : object, optional
            Ignored; pipelines pass it.
        """
        check_integer(self.radius, "radius", least=0)
        check_integer(self.size, "size")
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the fingerprints, (molecules, size).

        Parameters
        ----------
        X : list of str, Series, array, or frame with ``column``
        """
        from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

        self.fit(X)
        molecules = read_molecules(as_smiles(X, self.column))
        make = GetMorganGenerator(radius=self.radius, fpSize=self.size)
        read = make.GetCountFingerprintAsNumPy if self.counts else make.GetFingerprintAsNumPy
        return np.stack([read(molecule) for molecule in molecules]).astype(np.float32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = tags.requires_fit = False
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each bit."""
        return np.array([f"morgan{i}" for i in range(self.size)], dtype=object)
