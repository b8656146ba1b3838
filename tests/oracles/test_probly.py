"""The splits that probly has too, to rounding. It works in bits and takes the members second."""

import warnings

import numpy as np
import pytest

import caveat

torch = pytest.importorskip("torch")

try:
    # probly imports torchvision, which has no CPU build: declare the operators that it looks for.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import probly.quantification.classification as probly
except ImportError:
    pytest.skip("probly is in the benchmark environment only", allow_module_level=True)

P = np.random.default_rng(5).dirichlet(np.full(4, 0.5), size=(6, 300))


@pytest.mark.parametrize(
    ("method", "functions", "unit"),
    [
        ("information", ("total_entropy", "conditional_entropy", "mutual_information"), np.log(2)),
        (
            "variance",
            (
                "total_variance",
                "expected_conditional_variance",
                "variance_conditional_expectation",
            ),
            1.0,
        ),
    ],
)
def test_splits(method, functions, unit):
    split = caveat.decompose(caveat.Categorical(P), method)
    for part, function in zip(("total", "aleatoric", "epistemic"), functions, strict=True):
        theirs = getattr(probly, function)(P.transpose(1, 0, 2)) * unit
        np.testing.assert_allclose(getattr(split, part), theirs, rtol=1e-10, atol=1e-14)
