"""Noise by hashing: the hash itself, its statistics, and that nothing is shared by accident."""

import numpy as np
import pytest
import torch
from scipy import stats

from caveat import nn
from caveat.nn import noise

ZERO = torch.zeros(1)


def mixed(bits):
    """The hash once more, on numpy's unsigned integers, which wrap by definition."""
    bits = bits.copy()
    bits ^= bits >> np.uint32(16)
    bits *= np.uint32(0x21F0AAAD)
    bits ^= bits >> np.uint32(15)
    bits *= np.uint32(0x735A2D97)
    return bits ^ (bits >> np.uint32(15))


def test_the_hash_is_that_of_unsigned_integers_and_loses_nothing():
    bits = torch.randint(-(2**31), 2**31, (100_000,), generator=torch.Generator().manual_seed(0))
    bits = bits.to(torch.int32)
    found = noise._mix(bits).numpy().view(np.uint32)
    np.testing.assert_array_equal(found, mixed(bits.numpy().view(np.uint32)))
    assert len(np.unique(noise._mix(torch.arange(2**20, dtype=torch.int32)))) == 2**20


def test_keys_of_seeds_steps_and_places_are_all_different():
    keys = noise.make_keys([*range(64), 2**40, 2**40 + 1, 2**62])
    steps = torch.arange(64, dtype=torch.int32)
    derived = noise.derive_key(noise.derive_key(keys[:, None], steps)[:, :, None], steps)
    words = derived.reshape(-1, 2).to(torch.int64)
    assert len(torch.unique(words[:, 0] * 2**32 + words[:, 1])) == 67 * 64 * 64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distributions(dtype):
    """Each test would fail for one of a thousand good generators; the seeds are fixed."""
    like, key = ZERO.to(dtype), noise.make_keys([11])[0]
    uniform = noise.uniform(key, 0, (50_000,), like).numpy()
    assert 0 < uniform.min() < uniform.max() < 1
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3
    normal = noise.normal(key, 1, (50_000,), like).numpy()
    assert stats.kstest(normal, "norm").pvalue > 1e-3
    signs = noise.signs(key, 2, (50_000,), like)
    assert set(signs.tolist()) == {-1.0, 1.0}
    assert stats.binomtest(int((signs > 0).sum()), 50_000).pvalue > 1e-3


def test_neighbors_are_not_related():
    """Correlations between elements, steps, seeds and places: the largest of many stays small."""
    keys = noise.make_keys(range(40))
    steps = noise.derive_key(keys[:1], torch.arange(40, dtype=torch.int32))
    draws = [
        torch.vmap(lambda key: noise.normal(key, 0, (4000,), ZERO))(keys),
        torch.vmap(lambda key: noise.normal(key, 0, (4000,), ZERO))(steps),
        torch.stack([noise.normal(keys[0], place, (4000,), ZERO) for place in range(40)]),
        noise.normal(keys[0], 0, (4000, 40), ZERO).T,
    ]
    for found in draws:
        off = np.corrcoef(found.numpy())[np.triu_indices(40, 1)]
        assert np.abs(off).max() < stats.norm.isf(1e-3 / 2 / len(off)) / 4000**0.5


def test_normal_numbers_are_finite_in_half_precision():
    key = noise.make_keys([0])[0]
    for dtype in (torch.float16, torch.bfloat16):
        found = noise.normal(key, 0, (500_000,), ZERO.to(dtype))
        assert found.dtype == dtype
        assert torch.isfinite(found).all()


def test_the_same_under_vmap_one_by_one_and_in_another_shape():
    keys = noise.make_keys([1, 2, 3])
    together = torch.vmap(lambda key: noise.uniform(key, 4, (6, 5), ZERO))(keys)
    for key, found in zip(keys, together, strict=True):
        assert torch.equal(noise.uniform(key, 4, (6, 5), ZERO), found)
        assert torch.equal(noise.uniform(key, 4, (3, 5), ZERO), found[:3]), "rows add nothing"


def test_without_a_key_torch_draws():
    for draw in (noise.uniform, noise.normal, noise.signs):
        torch.manual_seed(5)
        first = draw(None, 0, (20,), ZERO)
        torch.manual_seed(5)
        assert torch.equal(first, draw(None, 0, (20,), ZERO))
        assert not torch.equal(first, draw(None, 0, (20,), ZERO))


def test_permutations():
    found = noise.permutations(noise.make_keys([1, 2]), 1000)
    assert found.shape == (2, 1000)
    assert torch.equal(found.sort().values, torch.arange(1000).expand(2, 1000))
    assert not torch.equal(found[0], found[1])
    firsts = noise.permutations(noise.make_keys(range(6000)), 6)[:, 0]
    assert stats.chisquare(np.bincount(firsts, minlength=6)).pvalue > 1e-3


def test_keyed_is_in_force_inside_only():
    assert noise.current() is None
    with noise.keyed(noise.make_keys([1])[0], shared=True):
        assert noise.current().shared
        with noise.keyed(noise.make_keys([2])[0]):
            assert not noise.current().shared
        assert noise.current().shared
    assert noise.current() is None


@pytest.mark.parametrize("p", [0.0, 1e-8, 0.3, 0.5, 1 - 2**-24])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bits_in_arrays_that_are_there(p, dtype):
    keys, count, like = noise.make_keys([1, 2, 3]), 5000, torch.empty(0, dtype=dtype)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0)).to(torch.int32)
    index = torch.cat([order, order[:70]])
    bits, work = torch.empty(2, 3, count + 70, dtype=torch.int32).unbind()
    places = torch.tensor([7, -3], dtype=torch.int32)
    noise.fill_bits(noise.derive_key(keys[:, None], places), index, (count, 70), bits, work)
    first, second = bits.split([count, 70], dim=1)
    drawn = noise.uniform(keys, 7, (count,), like)[:, order.long()]
    assert torch.equal(noise.at_least(first.clone(), p, dtype), drawn >= p)
    turned = noise.signs(keys, -3, (count,), like)[:, order[:70].long()]
    assert torch.equal(noise.signs_from_bits(second, torch.empty(3, 70, dtype=dtype)), turned)
    expected = noise.normal(keys, 7, (count,), like)[:, order.long()]
    assert torch.equal(noise.normal_from_bits(first, torch.empty(3, count, dtype=dtype)), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.05, 0.2, 0.5, 0.999, 1.0])
def test_what_is_kept_is_where_uniform_numbers_are_at_least_p(dtype, p):
    keys, like = noise.make_keys([3, 4]), torch.empty((), dtype=dtype)
    expected = noise.uniform(keys, 5, (7, 300), like) >= p
    assert torch.equal(noise.kept(keys, 5, (7, 300), like, p), expected)
    mapped = torch.vmap(lambda key: noise.kept(key, 5, (7, 300), like, p))(keys)
    assert torch.equal(mapped, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("part", [1, 700, 2**18])
def test_masks_that_are_kept_are_those_that_are_drawn(dtype, p, part, monkeypatch):
    monkeypatch.setattr(noise, "_PART", part)
    keys, like = noise.make_keys(range(5)), torch.empty((), dtype=dtype)
    masks = noise.Masks()
    for key in (keys, keys[0]):
        expected = noise.kept(key, 5, (7, 30), like, p)
        with noise.in_passes(key, masks):
            found = noise.kept(key, 5, (7, 30), like, p)
            assert noise.kept(key, 5, (7, 30), like, p) is found
            other = noise.kept(key, 6, (7, 30), like, 0.5)
        assert torch.equal(found, expected)
        assert torch.equal(other, noise.kept(key, 6, (7, 30), like, 0.5))


def test_masks_are_kept_while_there_is_room():
    masks, mask = noise.Masks(room=10), torch.ones(6, dtype=torch.bool)
    first = masks.get("first", lambda: mask)
    assert masks.get("first", mask.clone) is first
    assert masks.get("second", mask.clone) is not masks.get("second", mask.clone)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("rows", [12, 40_000])  # in blocks of steps, and step by step
def test_bits_of_one_step_among_many_are_those_of_the_step_alone(copies, rows):
    from caveat.nn.lockstep._draws import Draws

    seeds = list(range(3, 3 + copies))
    steps = noise.derive_key(noise.make_keys(seeds), torch.arange(8, dtype=torch.int32)[:, None])
    draws, other = (Draws(noise.stream(2, 0), noise.stream(2, 1)) for _ in range(2))
    # Batches differ in size, steps are left out, repeated and gone back to, and who uses bits
    # changes them.
    for step, cut in [(0, 0), (1, 1), (1, 1), (2, 0), (4, 1), (6, 0), (7, 0), (7, 1), (1, 0)]:
        elements = [torch.arange(rows - cut), torch.arange(7)]
        shape = (rows - cut,)
        among = draws(steps[step], shape, lambda own=elements: own)
        alone = other(steps[step].clone(), shape, lambda own=elements: own)
        assert torch.equal(among, alone)
        following = draws(steps[(step + 1) % 8], shape, lambda own=elements: own)
        assert not torch.equal(following, alone)
        among.zero_()
        following.zero_()


@pytest.mark.parametrize("copies", [1, 2])
def test_keys_are_derived_for_many_steps_at_a_time(monkeypatch, copies):
    made = []
    derive = noise.derive_key
    monkeypatch.setattr(noise, "derive_key", lambda *args: made.append(1) or derive(*args))
    network = nn.MLP(4, 3, hidden=[8], stochastic="dropout")
    X, y = np.ones((40, 4), dtype=np.float32), np.zeros(40, dtype=np.int64)
    training = nn.Training(epochs=50, batch_size=20)
    nn.train(network, X, y, loss=nn.losses.nll, copies=copies, training=training)
    assert len(made) < 50  # of 100 steps
