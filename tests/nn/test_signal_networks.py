"""Networks for signals: sizes against the papers, shapes, and what can be random."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import caveat
from caveat.estimators import preset
from caveat.estimators.presets import PRESETS
from caveat.exceptions import CaveatError, UnknownNameError
from caveat.nn import AlexNet1d, ShallowConvNet, VideoTransformer, XResNet1d, noise
from caveat.nn.layers import SpatialDropout
from caveat.nn.layers.pooled import MeansOfPairs


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_alexnet_has_the_weights_of_alexnet_over_one_axis():
    filters = [(1, 64, 11), (64, 192, 5), (192, 384, 3), (384, 256, 3), (256, 256, 3)]
    dense = [(6 * 256, 4096), (4096, 4096), (4096, 4)]
    expected = sum(i * o * k + o for i, o, k in filters) + sum(i * o + o for i, o in dense)
    # Two logits and their two deviations: four output nodes.
    assert count(AlexNet1d(1, 2, head="gaussian-logits")) == expected


def test_xresnet_has_50_layers():
    network = XResNet1d(1, 2, head="gaussian-logits")
    convolutions = [m for m in network.modules() if isinstance(m, nn.Conv1d)]
    # 16 blocks of three, a stem of three, four shortcuts that widen or halve; and the output.
    blocks = 16 * 3
    assert len(convolutions) == blocks + 3 + 1
    stem = 1 * 32 * 5 + 32 * 32 * 5 + 32 * 64 * 5 + 2 * (32 + 32 + 64)
    first = 64 * 64 + 64 * 64 * 5 + 64 * 256 + 2 * (64 + 64 + 256)
    shortcut = 64 * 256 + 2 * 256
    later = 256 * 64 + 64 * 64 * 5 + 64 * 256 + 2 * (64 + 64 + 256)
    assert count(network) == stem + first + shortcut + 15 * later + 512 * 4 + 4


def test_the_network_for_eeg_has_the_sizes_of_its_paper():
    network = ShallowConvNet(22, 4)
    # 40 filters 1 x 13, 40 filters 22 x 1, normalization, 40 x 104 powers to 32 units, 4 classes.
    steps = (768 - 12 - 35) // 7 + 1
    assert steps == 104
    expected = (40 * 13 + 40) + (40 * 40 * 22 + 40) + 80 + (40 * steps * 32 + 32) + (32 * 4 + 4)
    assert count(network) == expected == 169_164


@pytest.mark.parametrize("network", ["alexnet", "resnet"])
@pytest.mark.parametrize(
    ("task", "method", "length", "shape", "nodes"),
    [
        ("af", "map", 800, (2, 2), 4),
        ("af", "mc-dropout", 800, (2, 2), 4),
        ("bp", "deep-ensemble", 1250, (2, 2), 4),
        ("bp", "quantile", 1250, (2, 5), 10),
    ],
)
def test_inputs_and_output_nodes_of_the_ppg_study(network, task, method, length, shape, nodes):
    settings = preset(f"ppg-{task}-{network}", method)
    made = settings["module"]().eval()
    with torch.no_grad():
        assert made(torch.zeros(1, 1, length)).shape == (1, *shape)
    linear = [m for m in made[-1].modules() if isinstance(m, nn.Linear)]
    assert sum(layer.out_features for layer in linear) == nodes


def test_training_settings_of_the_ppg_study():
    tables = {
        # batch size, learning rate, weight decay: tables 17 and 18
        "ppg-af-alexnet": (64, 1e-5, 1e-3), "ppg-af-resnet": (64, 1e-4, 1e-4),
        "ppg-bp-alexnet": (32, 1e-5, 1e-3), "ppg-bp-resnet": (32, 1e-4, 1e-3),
    }  # fmt: skip
    for name, expected in tables.items():
        settings = preset(name, "mc-dropout")
        got = tuple(settings[key] for key in ("batch_size", "learning_rate", "weight_decay"))
        assert got == expected
        assert (settings["optimizer"], settings["patience"], settings["passes"]) == (
            "adamw",
            15,
            50,
        )
        rate = 0.2 if "alexnet" in name else 0.05
        assert settings["module"].keywords["rate"] == rate
        assert preset(name, "deep-ensemble")["members"] == 5
    assert preset("ppg-bp-resnet", "quantile")["levels"] == (0.0228, 0.1587, 0.5, 0.8413, 0.9772)
    with pytest.raises(UnknownNameError, match="has settings for"):
        preset("ppg-af-resnet", "quantile")
    with pytest.raises(CaveatError, match="has its own head"):
        preset("ppg-af-resnet", "map", head="softmax")


def test_settings_of_the_other_studies():
    assert preset("d-vlog")["module"].args == ((136, 25),)
    assert preset("d-vlog-audio")["members"] == 5
    assert preset("d-vlog-visual")["module"]().eval()(torch.ones(1, 136, 9)).shape == (1, 2)
    for method in ("map", "mc-dropout", "dropconnect", "deep-ensemble", "flipout"):
        settings = preset("bci", method, classes=4, head="gaussian-logits")
        assert settings["module"]()(torch.zeros(2, 22, 768)).shape == (2, 2, 4)
    assert settings["module"].keywords["prior"].std1 == 5.0


def test_weights_are_drawn_after_kaiming_he():
    torch.manual_seed(0)
    network = XResNet1d(1, 2)
    for _ in range(2):
        wide = [
            m for m in network.modules() if isinstance(m, nn.Conv1d) and m.weight.numel() > 9000
        ]
        for layer in wide:
            # A standard deviation of the square root of 2 over the inputs, within 4 standard errors.
            goal = (2 / (layer.in_channels * layer.kernel_size[0])) ** 0.5
            size = layer.weight.numel()
            assert abs(layer.weight.std().item() / goal - 1) < 4 / (2 * size) ** 0.5
        zero = [
            m for m in network.modules() if isinstance(m, nn.BatchNorm1d) and not m.weight.any()
        ]
        assert len(zero) == 16
        before = wide[0].weight.clone()
        network.reset_parameters()
        assert not torch.equal(before, wide[0].weight)


def test_blocks_start_as_what_they_are_given():
    x = torch.rand(2, 64, 10)
    block = XResNet1d(1, 2, width=16)[10].eval()
    torch.testing.assert_close(block(x), x)


def test_zeros_at_the_end_of_a_video_change_nothing():
    torch.manual_seed(0)
    network = VideoTransformer((3, 2), 2, width=8, heads=2).eval()
    x = torch.randn(4, 5, 12)
    padded = torch.cat([x, torch.zeros(4, 5, 20)], dim=2)
    torch.testing.assert_close(network(padded), network(x))
    assert torch.isfinite(network(torch.zeros(1, 5, 4))).all()


def test_seconds_have_an_order():
    torch.manual_seed(0)
    network = VideoTransformer((5,), 2, width=8, heads=2, depth=2).eval()
    x = torch.randn(4, 5, 12)
    assert not torch.allclose(network(x), network(x.flip(2)))


SMALL = {
    "alexnet": (partial(AlexNet1d, 1, 2, dense=16), (1, 64)),
    "xresnet": (partial(XResNet1d, 1, 2, blocks=(1, 1), width=4), (1, 32)),
    "shallow": (partial(ShallowConvNet, 3, 2, size=60, filters=4, dense=8), (3, 60)),
    "video": (partial(VideoTransformer, (3, 2), 2, width=8, heads=2), (5, 6)),
}


@pytest.mark.parametrize("name", list(SMALL))
@pytest.mark.parametrize("where", ["all", "last"])
def test_passes_differ_where_dropout_is_on(name, where):
    make, shape = SMALL[name]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, *shape)).astype(np.float32), np.arange(8) % 2
    model = caveat.MCDropoutClassifier(
        module=partial(make, stochastic="dropout", where=where), epochs=1, passes=4, random_state=0
    ).fit(X, y)
    p = np.asarray(model.predict_distribution(X[:3]).probabilities)
    assert p.shape == (4, 3, 2)
    assert p.std(axis=0).max() > 0


@pytest.mark.parametrize("name", list(SMALL))
def test_members_differ_and_learn(name):
    make, shape = SMALL[name]
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = rng.normal(size=(24, *shape)) * np.where(y, 2.0, 0.5)[:, None, None]
    model = caveat.DeepEnsembleClassifier(
        module=make, members=2, epochs=12, batch_size=12, learning_rate=0.002, random_state=0
    ).fit(X.astype(np.float32), y)
    p = np.asarray(model.predict_distribution(X.astype(np.float32)).probabilities)
    assert not np.allclose(p[0], p[1])
    for member in model.history_:
        assert np.mean(member["loss"][-3:]) < np.mean(member["loss"][:3])


def test_settings_are_those_of_their_estimators():
    kinds = {
        "map": caveat.MAPClassifier,
        "mc-dropout": caveat.MCDropoutClassifier,
        "dropconnect": caveat.DropConnectClassifier,
        "deep-ensemble": caveat.DeepEnsembleClassifier,
        "flipout": caveat.FlipoutClassifier,
        "quantile": caveat.QuantileNetworkRegressor,
    }
    numbers = {
        "map": caveat.MAPRegressor,
        "mc-dropout": caveat.MCDropoutRegressor,
        "deep-ensemble": caveat.DeepEnsembleRegressor,
        "quantile": caveat.QuantileNetworkRegressor,
    }
    for name in [name for name in PRESETS if name.startswith(("bci", "d-vlog", "ppg"))]:
        for method in PRESETS[name][1]:
            kind = (numbers if "-bp-" in name else kinds)[method]
            settings = preset(name, method)
            assert kind(**settings).get_params().items() >= settings.items()


def test_weights_can_be_random_too():
    network = ShallowConvNet(3, 2, size=60, filters=4, stochastic="bayes", where="last")
    assert isinstance(network[10], caveat.nn.layers.BayesLinear)
    network = AlexNet1d(1, 2, dense=8, stochastic="flipout")
    assert isinstance(network[0], caveat.nn.layers.FlipoutConv1d)
    network = XResNet1d(1, 2, blocks=(1,), width=4, stochastic="bayes")
    assert isinstance(network[-1], caveat.nn.layers.BayesLinear)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: XResNet1d(1, 2, stochastic="bayes", where="last"), "only the output layer"),
        (lambda: XResNet1d(1, 2, kernel_size=4), "kernel_size must be odd"),
        (lambda: ShallowConvNet(3, 2, size=20), "size=20 is too small"),
        (lambda: VideoTransformer((1, 2, 3), 2), "one or two numbers"),
        (lambda: VideoTransformer((3,), 2, width=10, heads=4), "a multiple of heads"),
    ],
)
def test_options_that_cannot_be(make, message):
    with pytest.raises(CaveatError, match=message):
        make()


@pytest.mark.parametrize("name", ["xresnet", "shallow"])
def test_few_samples_are_predicted_by_networks_that_are_kept(name, monkeypatch):
    make, shape = SMALL[name]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, *shape)).astype(np.float32), np.arange(70) % 2
    model = caveat.DeepEnsembleClassifier(module=make, members=2, epochs=1, random_state=0).fit(
        X, y
    )
    many = np.asarray(model.predict_distribution(X).probabilities)
    few = np.asarray(model.predict_distribution(X[:10]).probabilities)
    np.testing.assert_allclose(few, many[:, :10], rtol=1e-4, atol=1e-6)
    calls = []
    monkeypatch.setattr(type(model), "_network", lambda self: calls.append(1))
    np.testing.assert_array_equal(few, model.predict_distribution(X[:10]).probabilities)
    assert calls == []
    monkeypatch.undo()
    model.fit(X, 1 - y)
    again = np.asarray(model.predict_distribution(X[:10]).probabilities)
    assert not np.allclose(again, few)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", ["alexnet", "xresnet"])
@pytest.mark.parametrize(
    "stochastic", ["dropout", SpatialDropout, nn.Dropout, nn.Dropout1d, nn.AlphaDropout]
)
def test_passes_of_few_rows_run_at_once_and_are_the_same(name, stochastic, count, monkeypatch):
    make, shape = SMALL[name]
    network = make(stochastic=stochastic, rate=0.3).eval()
    X = np.random.default_rng(0).normal(size=(9, *shape)).astype(np.float32)
    plan = caveat.nn.explain(network, X)
    assert (plan.way, plan.at_once, plan.few_at_once) == ("graph", False, True)
    assert plan.once[0].startswith("0 (")
    many = caveat.nn.monte_carlo(plan, X, 5, random_state=0)
    plan = caveat.nn.explain(network, X)
    few = caveat.nn.monte_carlo(plan, X[:count], 5, random_state=0)
    torch.testing.assert_close(few, many[:, :count], rtol=1e-4, atol=1e-5)
    other = caveat.nn.monte_carlo(plan, X[:count], 5, random_state=1)
    assert not torch.allclose(few, other)
    # What was dropped in the passes of before is known; that of others is forgotten.
    monkeypatch.setattr(noise, "_kept_by_parts", None)
    assert torch.equal(caveat.nn.monte_carlo(plan, X[:count], 5, random_state=1), other)
    with pytest.raises(TypeError, match="not callable"):
        caveat.nn.monte_carlo(plan, X[:count], 5, random_state=0)


def test_convolutions_that_draw_weights_and_batches_that_are_mixed_run_one_by_one():
    class Mixing(nn.Module):
        def forward(self, x):
            return x - x.mean(0)

    make, shape = SMALL["alexnet"]
    X = np.random.default_rng(0).normal(size=(3, *shape)).astype(np.float32)
    mixing = make(stochastic="dropout", rate=0.3)
    mixing.insert(4, Mixing())
    for network in (mixing, make(stochastic="flipout")):
        assert not caveat.nn.explain(network.eval(), X).few_at_once


@pytest.mark.parametrize("length", [2, 7, 8])
def test_means_of_pairs_are_those_of_torch(length):
    x = torch.randn(3, 5, length, generator=torch.Generator().manual_seed(0))
    expected = nn.AvgPool1d(2, ceil_mode=True)(x)
    torch.testing.assert_close(MeansOfPairs()(x), expected, rtol=0, atol=0)
