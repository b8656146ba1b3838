"""Members that share weights are the networks that they stand for."""

import copy

import pytest
import torch
from torch import nn

from caveat.exceptions import OptionError, ShapeError, UnknownNameError
from caveat.nn import MLP, losses
from caveat.nn.layers import MemberLinear, MemberScale

X = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))


def shaken(module, seed=1):
    """Give every weight another value, so that nothing is 1 or 0 by its start."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in module.parameters():
            value.copy_(torch.randn(value.shape, generator=generator))
    return module


def separate(network, member):
    """Return one member as a plain network: its adapters are a rank-1 change of the weights."""
    parts, scale = [], None
    for part in network:
        if isinstance(part, MemberScale) and not (parts and isinstance(parts[-1], nn.Linear)):
            scale = part.weight[member]
        elif isinstance(part, MemberScale):
            after = part.weight[member]
            parts[-1].weight.data *= after[:, None]
            parts[-1].bias.data = parts[-1].bias * after + part.bias[member]
        elif isinstance(part, nn.Linear):
            own = copy.deepcopy(part)
            if scale is not None:
                own.weight.data *= scale
            parts, scale = [*parts, own], None
        elif isinstance(part, MemberLinear):
            own = nn.Linear(part.in_features, part.out_features)
            own.weight.data = part.weight[member].detach().clone()
            own.bias.data = part.bias[member].detach().clone()
            if scale is not None:
                own.weight.data *= scale
            parts.append(own)
        else:
            parts.append(part)
    return nn.Sequential(*parts)


@pytest.mark.parametrize("adapters", ["all", "first"])
@pytest.mark.parametrize("hidden", [(), (8,), (8, 6)])
def test_members_are_separate_networks_with_a_rank_one_change(adapters, hidden):
    network = shaken(MLP(5, 3, hidden=hidden, members=4, adapters=adapters))
    outputs = network(X)
    assert outputs.shape == (7, 4, 3)
    for member in range(4):
        torch.testing.assert_close(outputs[:, member], separate(network, member)(X))


@pytest.mark.parametrize("adapters", ["all", "first"])
def test_adapters_of_one_are_the_plain_network(adapters):
    network = MLP(5, 3, hidden=(8, 6), members=4, adapters=adapters)
    plain = MLP(5, 3, hidden=(8, 6))
    with torch.no_grad():
        network[0].weight.fill_(1.0)
        linear = [part for part in network if isinstance(part, nn.Linear)]
        for own, shared in zip([plain[0], plain[2]], linear, strict=True):
            own.load_state_dict(shared.state_dict())
        network[-1].weight.copy_(plain[4].weight.expand(4, -1, -1))
        network[-1].bias.copy_(plain[4].bias.expand(4, -1))
    for member in range(4):
        torch.testing.assert_close(network(X)[:, member], plain(X))


def test_the_first_scales_are_signs_and_the_others_one():
    torch.manual_seed(0)
    network = MLP(200, 1, hidden=(50, 50), members=20, adapters="all")
    first, *others = [part for part in network if isinstance(part, MemberScale)]
    assert set(first.weight.flatten().tolist()) == {-1.0, 1.0}
    # The mean of 4,000 signs has a standard error of 0.0158: four times that.
    assert abs(float(first.weight.detach().mean())) < 4 * 4000**-0.5
    assert len(others) == 3
    assert all(bool((part.weight == 1).all()) for part in others)
    assert [part.bias is not None for part in others] == [True, False, True]
    heads = network[-1].weight
    assert not torch.equal(heads[0], heads[1])
    assert float(heads.detach().abs().max()) <= 50**-0.5
    before = first.weight.detach().clone()
    network.reset_parameters()
    assert not torch.equal(before, first.weight)


@pytest.mark.parametrize("head", ["mean-std", "gaussian-logits"])
def test_heads_have_weights_of_each_member(head):
    network = MLP(5, 2, hidden=(8,), members=4, head=head)
    assert network(X).shape == (7, 4, 2, 2)
    assert bool((network(X)[:, :, 1] > 0).all())


def test_the_loss_is_the_mean_over_members():
    output, y = shaken(MLP(5, 3, hidden=(8,), members=4))(X), torch.arange(7) % 3
    each = torch.stack([losses.nll(output[:, member], y) for member in range(4)])
    torch.testing.assert_close(losses.over_members(output, y, loss=losses.nll), each.mean(0))
    values = torch.randn(7, 3)
    each = [losses.squared_error(output[:, member], values) for member in range(4)]
    found = losses.over_members(output, values, loss=losses.squared_error)
    torch.testing.assert_close(found, torch.stack(each).mean(0))


def test_messages():
    with pytest.raises(ShapeError, match=r"\(rows, 4, features\).* got \(7, 5\); begin with Memb"):
        MemberScale(4, 5)(X)
    with pytest.raises(ShapeError, match=r"\(rows, 4, features\).* got \(5,\)"):
        MemberLinear(5, 2, members=4)(X[0])
    with pytest.raises(OptionError, match="leave stochastic out"):
        MLP(5, 2, members=4, stochastic="dropout")
    with pytest.raises(UnknownNameError, match="adapters must be one of 'all', 'first'; got 'la"):
        MLP(5, 2, members=4, adapters="last")
    with pytest.raises(OptionError, match="members"):
        MLP(5, 2, members=0)


def test_layers_say_what_they_are():
    assert repr(MemberScale(4, 5, shift=True)) == (
        "MemberScale(members=4, features=5, repeat=False, shift=True)"
    )
    assert repr(MemberLinear(5, 2, members=4)) == "MemberLinear(5, 2, members=4)"
