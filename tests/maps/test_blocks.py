"""Blocks of pixels: their numbers, and how their size is chosen."""

import numpy as np
import pytest

from caveat.exceptions import OptionError, ShapeError
from caveat.maps import block_codes, choose_block, correlation_length


def smooth(side, length, seed=0):
    rng = np.random.default_rng(seed)
    steps = np.minimum(np.arange(2 * side), 2 * side - np.arange(2 * side))
    away = np.hypot(steps[:, None], steps)
    spectrum = np.sqrt(np.maximum(np.fft.fft2(np.exp(-away / length)).real, 0))
    noise = np.fft.fft2(rng.normal(size=(2 * side, 2 * side)))
    return np.fft.ifft2(spectrum * noise).real[:side, :side]


def test_numbers_of_blocks():
    codes = block_codes((5, 7), (2, 3)).reshape(5, 7)
    assert len(np.unique(codes)) == 3 * 3
    assert codes[0, 0] == codes[1, 2] != codes[2, 0]
    assert codes[4, 6] == 8
    assert len(np.unique(block_codes((4, 4, 4), 2))) == 8
    with pytest.raises(ShapeError, match="one for each of 2 axes"):
        block_codes((5, 7), (2, 3, 4))
    with pytest.raises(ShapeError, match="shape must be the number of pixels along each axis"):
        block_codes(7, 2)
    with pytest.raises(OptionError, match="block must be"):
        block_codes((5, 7), 0)


@pytest.mark.parametrize("length", [3, 8])
def test_the_correlation_length_is_that_of_the_field(length):
    seen = np.mean([correlation_length(smooth(150, length, seed)) for seed in range(8)])
    assert seen == pytest.approx(length, rel=0.15)


def test_gaps_do_not_shorten_it():
    field = smooth(150, 6)
    mask = np.random.default_rng(0).random(field.shape) < 0.5
    assert correlation_length(field, mask) == pytest.approx(correlation_length(field), rel=0.1)


def test_special_fields():
    assert correlation_length(np.ones((5, 5))) == 0
    ramp = np.tile(np.arange(20.0), (20, 1))
    assert correlation_length(ramp) == 10  # constant along the other axis
    far = np.zeros((1, 9), bool)
    far[0, [0, 8]] = True
    assert correlation_length(np.arange(9.0)[None], far) == 4.5  # no pairs
    with pytest.raises(ShapeError, match="valid must have the shape of the values"):
        correlation_length(ramp, np.ones((3, 3), bool))
    with pytest.raises(ShapeError, match="valid has no pixel that counts"):
        correlation_length(ramp, np.zeros((20, 20), bool))


def test_the_choice_says_what_it_rests_on():
    noise = np.random.default_rng(0).normal(size=(200, 100))
    size = choose_block(noise)
    assert size.enough
    assert str(size).endswith("pixels, errors correlated over 0.6 pixels")
    wide = choose_block(smooth(100, 20), np.arange(10_000).reshape(100, 100) % 3 > 0)
    assert wide.side == (20, 20)
    assert wide.blocks == 25
    assert not wide.enough
    assert "intervals are too narrow" in str(wide)


def test_a_constant_has_no_length():
    for value in (0.3, 1e8 / 3, 0.0):
        assert correlation_length(np.full((37, 41), value)) == 0
    assert choose_block(np.full((37, 41), 0.3)).side == (1, 1)
