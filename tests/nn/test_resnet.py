"""ResNet18 against published sizes and names, a functional oracle, and files of weights."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from caveat.exceptions import FileFormatError, OptionError
from caveat.nn import ResNet18, predict
from caveat.nn.layers import Dropout


def count(network):
    return sum(weight.numel() for weight in network.parameters())


@pytest.fixture(scope="module")
def small():
    torch.manual_seed(0)
    network = ResNet18(3, 4, size=32)
    for module in network.modules():  # statistics that matter
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.2, 0.2)
            module.running_var.uniform_(0.5, 2)
    return network.eval()


def test_parameters_are_as_many_as_published():
    assert count(ResNet18()) == 11_689_512  # 11.69 million, 1000 classes
    assert count(ResNet18(3, 10, size=32)) == 11_173_962
    # One channel in place of three, and two outputs for each class.
    assert count(ResNet18(1, 10, size=32)) == 11_173_962 - 2 * 64 * 9
    # A quarter of the width: a sixteenth of the weights between two stages, a quarter of others.
    narrow = ResNet18(3, 10, size=32, width=16)
    assert count(narrow) == (11_173_962 - 10 - 5120 - 1728 - 9600) // 16 + 10 + 1280 + 432 + 2400
    assert narrow.eval().features(torch.zeros(1, 3, 32, 32)).shape == (1, 128)
    both = ResNet18(3, 10, size=32, head="gaussian-logits")
    assert count(both) == 11_173_962 + 513 * 10


def test_names_and_shapes_are_those_of_published_weights():
    state = ResNet18(rate=0.3).state_dict()
    assert len(state) == 122
    for name, shape in {
        "conv1.weight": (64, 3, 7, 7),
        "bn1.running_var": (64,),
        "layer1.0.conv1.weight": (64, 64, 3, 3),
        "layer2.0.downsample.0.weight": (128, 64, 1, 1),
        "layer2.0.downsample.1.num_batches_tracked": (),
        "layer4.1.bn2.bias": (512,),
        "fc.weight": (1000, 512),
        "fc.bias": (1000,),
    }.items():
        assert tuple(state[name].shape) == shape
    assert not any(name.startswith("layer1.0.downsample") for name in state)


def by_hand(state, x, large):
    """The network as formulas of its weights."""

    def normed(x, name):
        parts = [state[f"{name}.{part}"] for part in ("running_mean", "running_var")]
        return functional.batch_norm(x, *parts, state[f"{name}.weight"], state[f"{name}.bias"])

    x = functional.conv2d(
        x, state["conv1.weight"], stride=2 if large else 1, padding=3 if large else 1
    )
    x = functional.relu(normed(x, "bn1"))
    x = functional.max_pool2d(x, 3, 2, 1) if large else x
    for stage in (1, 2, 3, 4):
        for block in (0, 1):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = functional.conv2d(x, state[f"{name}.conv1.weight"], stride=stride, padding=1)
            y = functional.relu(normed(y, f"{name}.bn1"))
            y = normed(
                functional.conv2d(y, state[f"{name}.conv2.weight"], padding=1), f"{name}.bn2"
            )
            if stride == 2:
                short = functional.conv2d(x, state[f"{name}.downsample.0.weight"], stride=2)
                x = normed(short, f"{name}.downsample.1")
            x = functional.relu(x + y)
    return x.mean(dim=(2, 3)) @ state["fc.weight"].T + state["fc.bias"]


@pytest.mark.parametrize("large", [False, True])
def test_outputs_are_those_of_the_formulas(small, large):
    network, side = (ResNet18(3, 4, size=96).eval(), 64) if large else (small, 32)
    x = torch.randn(2, 3, side, side)
    with torch.no_grad():
        expected = by_hand(network.state_dict(), x, large)
        torch.testing.assert_close(network(x), expected, rtol=1e-4, atol=1e-4)
        assert network.features(x).shape == (2, 512)


def test_dropout_follows_every_convolution():
    network = ResNet18(3, 4, size=32, rate=0.2)
    drops = [m for m in network.modules() if isinstance(m, Dropout)]
    convolutions = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d)]
    assert len(drops) == len(convolutions) == 20
    assert {drop.p for drop in drops} == {0.2}
    assert not any(isinstance(m, Dropout) for m in ResNet18(3, 4, size=32).modules())
    x = torch.randn(3, 3, 16, 16)
    prediction = predict(network.eval(), x, head="logits", passes=3, random_state=0)
    assert prediction.probabilities.shape == (3, 3, 4)
    assert np.ptp(prediction.probabilities, axis=0).max() > 0


def test_weights_from_a_file(small, tmp_path):
    path = small.save_weights(tmp_path / "weights.npz")
    other = ResNet18(3, 4, size=32).load_weights(path).eval()
    x = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        torch.testing.assert_close(other(x), small(x))
    # Other classes keep their own last layer, and dropout changes no name.
    more = ResNet18(3, 7, size=32, rate=0.1)
    before = more.fc.weight.detach().clone()
    more.load_weights(path, head=False).eval()
    with torch.no_grad():
        torch.testing.assert_close(more.features(x), small.features(x))
    assert torch.equal(more.fc.weight, before)
    torch.save(small.state_dict(), tmp_path / "weights.pt")
    again = ResNet18(3, 4, size=32).load_weights(tmp_path / "weights.pt").eval()
    with torch.no_grad():
        torch.testing.assert_close(again(x), small(x))


def test_files_without_counts_of_batches_are_read(small, tmp_path):
    arrays = {k: v.numpy() for k, v in small.state_dict().items() if "num_batches" not in k}
    np.savez(tmp_path / "old.npz", **arrays)
    ResNet18(3, 4, size=32).load_weights(tmp_path / "old.npz")


def test_files_that_are_refused(small, tmp_path):
    network, path = ResNet18(3, 5, size=32), small.save_weights(tmp_path / "weights.npz")
    with pytest.raises(FileFormatError, match=r"fc.weight is \(4, 512\), the module's \(5, 512\)"):
        network.load_weights(path)
    with pytest.raises(FileFormatError, match="cannot be read"):
        network.load_weights(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("weights")
    with pytest.raises(FileFormatError, match="damaged, or no file of arrays"):
        network.load_weights(tmp_path / "text.npz")
    np.savez(tmp_path / "objects.npz", **{"fc.weight": np.array([{"a": 1}], dtype=object)})
    with pytest.raises(FileFormatError, match="damaged, or no file of arrays"):
        network.load_weights(tmp_path / "objects.npz")
    with pytest.raises(OptionError, match="size must be a whole number"):
        ResNet18(size=0)
    with pytest.raises(OptionError, match="rate must be"):
        ResNet18(size=32, rate=1.0)
