"""Metrics and splits on a GPU are those of the CPU; skipped where there is none."""

import warnings
from contextlib import contextmanager, nullcontext

import pytest
import torch

from caveat.nn import Metrics, _split_kernel, information_split

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def batches(classes, dtype, rows=2000, number=6):
    generator = torch.Generator().manual_seed(classes)
    for i in range(number):
        size = rows if i < number - 1 else rows // 3  # the last batch of an epoch is short
        logits = 3 * torch.randn(size, classes, generator=generator)
        yield logits.to(dtype), torch.randint(classes, (size,), generator=generator)


def same(here, there):
    here, there = here.compute(), there.compute()
    assert all(value.is_cuda for value in there.values())
    for name, value in here.items():
        torch.testing.assert_close(
            there[name].cpu(), value, rtol=1e-9, atol=1e-9, equal_nan=True, msg=name
        )


@contextmanager
def never_waits():
    """Raise where the host waits for the device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_updates_are_those_of_the_cpu_and_never_wait():
    for classes in (2, 10, 1000):
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            here, there = Metrics("logits", classes), Metrics("logits", classes).to("cuda")
            for i, (logits, codes) in enumerate(batches(classes, dtype)):
                here.update(logits, codes)
                given = logits.cuda(), codes.cuda()
                torch.cuda.synchronize()
                # The third batch of a shape is recorded; that waits, once.
                with nullcontext() if i == 2 else never_waits():
                    there.update(*given)
            assert there._graph._key is not None
            same(here, there)
            there.reset()
            here.reset()
            for logits, codes in batches(classes, dtype, number=2):
                here.update(logits, codes)
                there.update(logits.cuda(), codes.cuda())
            same(here, there)


def test_regression_and_probabilities():
    for dtype in (torch.float64, torch.float32):
        here, there = Metrics("mean-std"), Metrics("mean-std")
        for _ in range(4):
            preds = torch.stack([torch.randn(500), torch.rand(500) + 0.1], dim=1).to(dtype)
            y = torch.randn(500)
            here.update(preds, y)
            there.update(preds.cuda(), y.cuda())
        same(here, there)
        here, there = Metrics("probabilities", 30), Metrics("probabilities", 30)
        for logits, codes in batches(30, dtype):
            p = logits.softmax(1)
            here.update(p, codes)
            there.update(p.cuda(), codes.cuda())
        same(here, there)


def test_invalid_values_do_not_stop_the_device():
    metrics = Metrics("logits", 3)
    for _ in range(5):
        metrics.update(torch.full((4, 3), float("nan")).cuda(), torch.tensor([0, -1, 7, 2]).cuda())
    torch.cuda.synchronize()
    with pytest.raises(ValueError, match="preds of 20 of 20 samples has logits that are NaN"):
        metrics.compute()


def split_case(shape, dtype):
    p = torch.randn(shape, generator=torch.Generator().manual_seed(0)).mul(3).softmax(-1)
    p[:, 0] = 0
    p[:, 0, 1] = 1
    return p.to(dtype)


def close(p, there, dtype):
    members, _, classes = p.shape
    wanted = information_split(p.double())
    bound = (members + classes + 8) * 2.0**-23 * torch.tensor(classes).log().item()
    for one, two in zip(wanted, there, strict=True):
        assert two.is_cuda
        assert (two.cpu() - one).abs().max() <= (1e-9 if dtype == torch.float64 else bound)


def test_splits_are_those_of_the_cpu():
    for shape in ((20, 3001, 10), (1, 700, 2), (5, 400, 3), (3, 50, 1000), (2, 9, 6000)):
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            p = split_case(shape, dtype)
            there = p.cuda()
            information_split(there)  # compiles
            with never_waits():
                found = information_split(there)
            close(p, found, dtype)
    p = split_case((20, 3001, 10), torch.float32)
    close(p, information_split(p.permute(2, 1, 0).cuda().permute(2, 1, 0)), torch.float32)
    p[3, 100, 2] = float("nan")
    for part in information_split(p.cuda()):
        assert part.isnan().nonzero().flatten().tolist() == [100]


def test_a_split_by_parts(monkeypatch):
    p = split_case((4, 1000, 10), torch.float32)
    monkeypatch.setattr(_split_kernel, "_SCRATCH", 990)
    close(p, information_split(p.cuda()), torch.float32)
