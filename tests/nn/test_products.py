"""Matrix products by the quicker library: single precision, and torch's setting as it was."""

import pytest
import torch

from caveat.estimators import MAPClassifier
from caveat.nn import _products
from caveat.nn._products import WORTH, products_as_before, quick_products

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def fresh():
    _products._is_single.cache_clear()
    yield
    _products._is_single.cache_clear()


def precision():
    return _products._settings().fp32_precision


def relative_error(shape):
    draw = torch.Generator().manual_seed(3)
    *rows, inner, columns = shape
    one = torch.randn(*rows, inner, generator=draw)
    other = torch.randn(*rows[:-1], inner, columns, generator=draw)
    exact = one.double() @ other.double()
    return float((one @ other - exact).norm() / exact.norm())


@pytest.mark.parametrize("shape", [(300, 300, 300), (5, 128, 32, 32), (50, 1000, 7), (64, 3, 900)])
def test_products_keep_single_precision(shape):
    # The factors rounded to bfloat16 have errors of 2^-9, those of single precision 2^-24.
    with quick_products(CPU, WORTH):
        assert relative_error(shape) < 1e-6


def test_precision_of_the_check_sees_factors_that_are_rounded(monkeypatch):
    product = torch.Tensor.__matmul__

    def rounded(one, other):
        if one.dtype == torch.float32:
            one, other = one.bfloat16().float(), other.bfloat16().float()
        return product(one, other)

    monkeypatch.setattr(torch.Tensor, "__matmul__", rounded)
    before = precision()
    assert not _products._is_single()
    with quick_products(CPU, WORTH):
        assert precision() == before


def test_the_setting_is_torchs_again_afterwards():
    before, seen = precision(), []

    def fails():
        with quick_products(CPU, WORTH):
            seen.append(precision())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert seen == ["bf16" if _products._is_single() else before]
    assert precision() == before


def test_users_that_overlap_leave_it_as_it_was(monkeypatch):
    monkeypatch.setattr(_products, "_is_single", lambda: True)
    before = precision()
    one, other = quick_products(CPU, WORTH), quick_products(CPU, WORTH)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert precision() == "bf16"
    other.__exit__(None, None, None)
    assert precision() == before


def test_it_is_as_before_for_a_while(monkeypatch):
    monkeypatch.setattr(_products, "_is_single", lambda: True)
    before = precision()
    with products_as_before():
        assert precision() == before
    with quick_products(CPU, WORTH):
        with products_as_before():
            assert precision() == before
            assert torch.get_float32_matmul_precision() == "highest"
        assert precision() == "bf16"
    one = quick_products(CPU, WORTH)
    one.__enter__()
    with products_as_before():
        one.__exit__(None, None, None)  # by another thread
    assert precision() == before


def test_a_callback_of_a_training_may_ask_for_the_precision():
    told = []

    def ask(epoch):
        told.append(torch.get_float32_matmul_precision())

    X = torch.randn(2000, 300, generator=torch.Generator().manual_seed(0)).numpy()
    model = MAPClassifier(
        hidden=(300,), epochs=2, batch_size=500, validation_fraction=None, on_epoch=ask
    )
    model.fit(X, X[:, 0] > 0)
    assert told == ["highest"] * 2


@pytest.mark.parametrize(
    ("device", "work"), [(CPU, WORTH - 1), (torch.device("cuda"), WORTH)], ids=["small", "a GPU"]
)
def test_small_products_and_other_devices_stay_as_they_are(device, work):
    before = precision()
    with quick_products(device, work):
        assert precision() == before


def test_versions_of_torch_without_the_setting(monkeypatch):
    monkeypatch.setattr(torch.backends.mkldnn, "matmul", None, raising=False)
    with quick_products(CPU, WORTH):
        assert torch.eye(2)[0, 0] == 1
