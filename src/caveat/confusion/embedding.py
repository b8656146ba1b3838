"""Samples on a plane: near each other where their features are alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, generator
from .._validation import FloatArray, check_integer, check_number
from ..exceptions import ShapeError
from ..predictions import Categorical
from ..results.tables import Plottable
from ._given import as_classes
from ._neighbors import features_of

_MOST_FEATURES = 50
"""More features are reduced to their first principal components: distances are nearly the same."""
_LEAST = 5


@dataclass(frozen=True, repr=False, eq=False)
class SampleEmbedding(Plottable):
    """Samples on a plane, by t-SNE; see `embed_samples`.

    Attributes
    ----------
    rows : ndarray of int of shape (shown,)
        Which samples are shown.
    places : ndarray of shape (shown, 2)
    prediction : Categorical
        What the model says of these samples.
    total : int
        How many samples there were.
    """

    rows: NDArray[np.intp]
    places: FloatArray
    prediction: Categorical
    total: int

    def __repr__(self) -> str:
        return f"SampleEmbedding: {len(self.rows):,} of {self.total:,} samples"


def embed_samples(
    X: Any,
    prediction: Any,
    *,
    samples: int = 1000,
    perplexity: float = 30.0,
    random_state: RandomState = None,
) -> SampleEmbedding:
    """Place samples on a plane so that samples with like features are near each other.

    The places are those of scikit-learn's t-SNE. Neighbors on the plane are neighbors in the space
    of the features; distances between groups, and how large groups are, say nothing. The chart
    ``"embedding"`` colors the samples by a measure of uncertainty.

    Parameters
    ----------
    X : array of shape (samples, features)
        The samples, or what a network makes of them in its last hidden layer; all axes but the
        first are features. Only the first 50 principal components of more features are used.
    prediction : Categorical, or an array of probabilities
        What the model says of the same samples.
    samples : int, default=1000
        At most so many are shown, drawn at random; the time grows with their number.
    perplexity : float, default=30.0
        About how many neighbors each sample has; less than a third of the samples.

    References
    ----------
    .. [1] L. van der Maaten, G. Hinton. Visualizing Data using t-SNE. Journal of Machine Learning
       Research 9, 2579-2605, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, p = rng.normal(size=(200, 8)), rng.dirichlet(np.ones(3), 200)
    >>> embedded = embed_samples(X, p, samples=60, random_state=0)
    >>> embedded
    SampleEmbedding: 60 of 200 samples
    >>> ax = embedded.plot("embedding", measure="gini")      # doctest: +SKIP
    """
    given = as_classes(prediction)
    features = features_of(X, "X")
    if len(features) != len(given):
        raise ShapeError(f"X has {len(features)} samples, the prediction has {len(given)}")
    if len(features) < _LEAST:
        raise ShapeError(f"an embedding needs {_LEAST} samples at least; got {len(features)}")
    samples = check_integer(samples, "samples", _LEAST)
    perplexity = check_number(perplexity, "perplexity", 1.0)
    rng = generator(random_state)
    rows = np.sort(rng.permutation(len(features))[:samples])
    places = _on_a_plane(features[rows], perplexity, int(rng.integers(2**31)))
    return SampleEmbedding(rows, places, given.take(rows), len(features))


def _on_a_plane(features: FloatArray, perplexity: float, seed: int) -> FloatArray:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if min(features.shape) > _MOST_FEATURES:
        features = PCA(_MOST_FEATURES, random_state=seed).fit_transform(features)
    start = "pca" if features.shape[1] > 1 else "random"
    most = (len(features) - 1) / 3
    made = TSNE(perplexity=min(perplexity, most), init=start, random_state=seed)
    return np.asarray(made.fit_transform(features), dtype=np.float64)
