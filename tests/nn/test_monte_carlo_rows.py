"""Monte-Carlo passes where dropout sees rows and other axes as one."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from caveat.nn import explain, monte_carlo
from caveat.nn._probe import find_rows
from caveat.nn._torch_noise import RowAxis, find_row_axes


def rows(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Flat(nn.Module):
    """Dropout on rows and steps as one axis, in an order of the axes."""

    def __init__(self, order, layer=None):
        super().__init__()
        self.order, self.drop = order, nn.Dropout(0.5) if layer is None else layer

    def forward(self, x):  # (rows, steps, beams, units)
        moved = x.permute(*self.order, 3)
        found = self.drop(moved.flatten(0, 2)).reshape(moved.shape)
        back = [self.order.index(axis) for axis in range(3)]
        return found.permute(*back, 3)


ORDERS = [(0, 1, 2), (1, 2, 0), (1, 0, 2), (2, 1, 0)]


@pytest.mark.parametrize("order", ORDERS)
def test_a_row_has_a_mask_for_each_of_its_entries(order):
    module, x = Flat(order), rows(5, 4, 3, 2)
    found = monte_carlo(module, x, 4000, random_state=0) / x
    assert set(found.unique().round().tolist()) == {0.0, 2.0}
    assert torch.equal(found[:, :1].round().expand_as(found), found.round())  # one for all rows
    entries = found[:, 0].flatten(1)
    correlation = np.corrcoef(entries.numpy().T)
    assert np.abs(correlation - np.eye(24)).max() < 5 / 4000**0.5
    for size in (1, 2):
        torch.testing.assert_close(
            monte_carlo(module, x, 3, batch_size=size, random_state=0), found[:3] * x
        )
    one = monte_carlo(module, x[2:3], 3, random_state=0)
    torch.testing.assert_close(one, found[:3, 2:3] * x[2:3])


def test_flattened_steps_vary_as_torch_has_them():
    """The mean over 16 steps of units that are 0 or 2 has variance 1 / 16."""

    class Mean(Flat):
        def forward(self, x):
            return super().forward(x).mean(1)

    x = 1 + rows(4, 16, 1, 2) * 1e-3
    x[:, 0] = 1.1  # so that the steps can be told apart
    found = monte_carlo(Mean((0, 1, 2)), x, 4000, random_state=0)
    assert found.std(0).sub(0.25).abs().max() < 0.25 * 5 / 8000**0.5 + 0.01


def test_flattened_channels():
    class Pictures(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout2d(0.5)

        def forward(self, x):  # (rows, frames, channels, height, width)
            return self.drop(x.flatten(0, 1)).reshape(x.shape)

    x = rows(4, 3, 5, 2, 2)
    found = (monte_carlo(Pictures(), x, 50, random_state=0) / x).round()
    assert torch.equal(found, found[..., :1, :1].expand_as(found))
    assert torch.equal(found, found[:, :1].expand_as(found))
    assert (found[:, :, 0] != found[:, :, 1]).any()


ALIKE = [torch.zeros(1, 4, 3, 2), torch.ones(3, 4, 3, 2), 300 + rows(3, 4, 3, 2)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("x", ALIKE)
def test_rows_that_are_alike_are_told_apart(x, order):
    before = x.clone(), torch.get_rng_state()
    plan = explain(Flat(order), x)
    assert torch.equal(x, before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    assert plan.reasons == ()
    found = monte_carlo(plan, torch.ones(5, 4, 3, 2), 64, random_state=0)
    assert torch.equal(found[:, :1].expand_as(found), found)
    entries = found[:, 0].flatten(1).T
    assert len({tuple(each) for each in entries.tolist()}) == 24


class Steps(nn.Module):
    """Dropout of the units of each step."""

    def __init__(self):
        super().__init__()
        self.first, self.drop, self.last = nn.Linear(3, 6), nn.Dropout(0.5), nn.Linear(12, 2)

    def forward(self, x):
        hidden = self.drop(self.first(x.reshape(-1, 3)).relu())
        return self.last(hidden.reshape(-1, 12))


@pytest.mark.parametrize("offset", [300, 1e5])
def test_neither_batches_nor_neighbors_matter_for_inputs_off_the_origin(offset):
    torch.manual_seed(0)
    module, x = Steps(), rows(9, 6) + offset
    x[5] = x[8]
    found = monte_carlo(module, x, 20, random_state=0)
    torch.testing.assert_close(found[:, 5], found[:, 8])
    for size in (1, 4):
        again = monte_carlo(module, x, 20, random_state=0, batch_size=size)
        # sums of float32 in another order, on other processors
        torch.testing.assert_close(again, found, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(monte_carlo(module, x[5:], 20, random_state=0), found[:, 5:])


def test_random_numbers_take_the_place_of_floats_alone():
    seen = []

    class Several(Flat):
        def forward(self, x, places, nothing):
            if isinstance(x, torch.Tensor):
                seen.append((x.clone(), places.clone()))
            return super().forward(x + places[:, None, None, None] + nothing.sum())

    x, places = torch.full((3, 4, 3, 2), 50.0), torch.tensor([7, 7, 7])
    plan = explain(Several((1, 2, 0)), (x, places, torch.zeros(3, 0)))
    assert plan.noise.row_axes == {0: RowAxis(0, 12, 1)}
    assert all((each == 7).all() for _, each in seen)
    drawn = [each for each, _ in seen if each.std() > 0]
    assert [len(each) for each in drawn] == [2, 3]
    assert torch.equal(drawn[0], drawn[1][:2])
    assert abs(drawn[1].std() / 50 - 1) < 5 / (2 * 72) ** 0.5


class Roots(Flat):
    """Refuses what random numbers are."""

    def forward(self, x):
        if (x < 0).any():
            warnings.warn("negative", stacklevel=1)
            raise ValueError("the logarithm of a negative number")
        return super().forward(x)


class Indexed(Flat):
    """Has nothing to change by random numbers."""

    def forward(self, x):
        return super().forward(functional.one_hot(x, 2).float())


class Deaf(Flat):
    """Takes another way for numbers that vary, with fewer axes."""

    def forward(self, x):
        if (x == x.flatten()[0]).all():
            return super().forward(x)
        return self.drop(x.flatten())


UNTOLD = [
    (Roots, torch.ones(3, 4, 3, 2), torch.ones(2, 4, 3, 2)),
    (Indexed, torch.ones(3, 4, 3, dtype=torch.long), torch.ones(2, 4, 3, dtype=torch.long)),
    (Deaf, torch.ones(3, 4, 3, 2), torch.ones(2, 4, 3, 2)),
]


@pytest.mark.parametrize(("build", "alike", "x"), UNTOLD)
def test_where_rows_cannot_be_told_every_entry_has_its_own(build, alike, x):
    plan = explain(build((1, 2, 0)), alike)
    assert plan.noise.row_axes == {0: None}
    assert "each entry of a batch has a mask of its own" in str(plan)
    found = monte_carlo(plan, x, 2000, random_state=0).flatten(1)
    varying = found[:, found.std(0) > 0].numpy()
    correlation = np.corrcoef(varying.T)
    assert np.abs(correlation - np.eye(varying.shape[1])).max() < 5 / 2000**0.5
    assert varying.shape[1] == (24 if build is Indexed else 48)


def test_rows_that_speak_for_themselves_are_not_replaced():
    plan = explain(Roots((1, 2, 0)), rows(3, 4, 3, 2).abs())
    assert plan.noise.row_axes == {0: RowAxis(0, 12, 1)}
    assert "mask" not in str(plan)


def test_rows_of_which_the_entries_vary_in_number_are_said():
    class Separated(Flat):
        """With an entry between each row and the next."""

        def forward(self, x):
            flat = torch.cat([x.flatten(0, 2), x.new_ones(len(x) - 1, 2)])
            return self.drop(flat)[: -len(x) + 1].reshape(x.shape)

    plan = explain(Separated((0, 1, 2)), rows(3, 4, 1, 2))
    assert plan.noise.row_axes == {0: None}
    assert "each entry of a batch has a mask of its own" in str(plan)


def test_dropout_without_rows_needs_no_words():
    class Weights(nn.Linear):
        def forward(self, x):
            return functional.linear(x, functional.dropout(self.weight, 0.5))

    plan = explain(Weights(4, 3), rows(3, 4))
    assert plan.noise.row_axes == {0: None}
    assert plan.reasons == ()


def test_dropout_that_nothing_depends_on_needs_no_words():
    class Unused(Indexed):
        def forward(self, x):
            if not isinstance(x, torch.fx.Proxy):
                super().forward(x)
            return x * 2.0

    plan = explain(Unused((0, 1, 2)), torch.ones(3, 4, 3, dtype=torch.long))
    assert plan.noise.row_axes == {0: None}
    assert plan.way == "nothing random"
    assert plan.reasons == ()


def test_entries_that_are_no_multiple_of_the_rows():
    """More entries for later rows: not the line that two and three rows have shown."""

    class Ragged(Flat):
        def forward(self, x):
            flat = x.flatten(0, 2)
            if len(x) > 3:
                flat = torch.cat([flat, flat[:1]])
            return self.drop(flat)[: x[..., 0].numel()].reshape(x.shape)

    x = rows(5, 4, 1, 2)
    plan = explain(Ragged((0, 1, 2)), x)
    assert plan.noise.row_axes == {0: RowAxis(0, 1, 4)}
    found = (monte_carlo(plan, x, 9, random_state=0) / x).round()
    assert (found[:, 0] != found[:, 1]).any()


def test_axes_of_rows_from_shapes():
    two = [(2, 5), (3, 2), (7, 7), (8, 5), (7, 5), (5, 5), ()]
    three = [(3, 5), (3, 3), (7, 7), (12, 5), (10, 5), (6, 5), ()]
    # The axis, no axis, four entries for each row, four and one more, one and three more.
    wanted = [RowAxis(0), RowAxis(1), None, RowAxis(0, 1, 4), None, RowAxis(0), None]
    assert find_row_axes(two, three) == dict(enumerate(wanted))


def test_places_of_rows_from_values():
    axis, values = RowAxis(0, 1, 4), rows(3, 4, 2)

    def found(order):
        few, more = (v.permute(*order, 2).flatten(0, 1) for v in (values[:2], values))
        return find_rows(axis, few, more)

    assert found((0, 1)) == RowAxis(0, 1, 4)
    assert found((1, 0)) == RowAxis(0, 4, 1)
    assert find_rows(axis, None, rows(12, 2)) is None
    assert find_rows(axis, rows(8, 2), rows(11, 2)) is None
    assert find_rows(axis, rows(8, 2), rows(12, 2, seed=2)) is None
    assert find_rows(axis, torch.ones(8, 2), torch.ones(12, 2)) is None


def test_flattened_dropout_after_dropout_of_the_rows():
    class Both(Flat):
        def forward(self, x):
            x = functional.dropout(x.transpose(0, 1), 0.3, self.training).transpose(0, 1)
            x = functional.dropout(x, 0.0, self.training)
            return super().forward(x)

    plan = explain(Both((1, 0, 2)), rows(3, 4, 3, 2))
    assert plan.noise.row_axes == {0: RowAxis(1), 1: RowAxis(0, 4, 3)}
