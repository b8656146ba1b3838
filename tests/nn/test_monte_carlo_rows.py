"""Monte-Carlo passes where dropout sees rows and other axes as one."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from caveat.nn._probe import find_rows
from caveat.nn._torch_noise import RowAxis, find_row_axes
from caveat.nn.monte_carlo import explain, monte_carlo


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


@pytest.mark.parametrize("x", [torch.zeros(1, 4, 3, 2), torch.ones(3, 4, 3, 2)])
def test_where_rows_cannot_be_told_every_entry_has_its_own(x):
    plan = explain(Flat((1, 2, 0)), x)
    assert plan.noise.row_axes == {0: None}
    found = monte_carlo(plan, torch.ones(2, 4, 3, 2), 2000, random_state=0)
    correlation = np.corrcoef(found.flatten(1).numpy().T)
    assert np.abs(correlation - np.eye(48)).max() < 5 / 2000**0.5


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
