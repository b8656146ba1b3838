"""Members from lists of modules and files of weights, and inputs from loaders."""

import copy
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from caveat.exceptions import FileFormatError, OptionError, ShapeError
from caveat.nn import MLP, explain, load_members, monte_carlo, pass_keys, predict
from caveat.nn._loaders import inputs_of

X = torch.randn(11, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(11) % 3


def plain():
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def dropping():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 3))


def several(make=plain, count=3):
    torch.manual_seed(0)
    return [make() for _ in range(count)]


def softmax(modules, x=X):
    """The definition: each module by itself in evaluation mode."""
    with torch.no_grad():
        outputs = [copy.deepcopy(module).eval()(x) for module in modules]
    return torch.stack(outputs).double().softmax(-1).numpy()


class Pairs(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return X[index], str(index)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(X)


class Named(Dataset):
    """Samples as dictionaries, with these names."""

    def __init__(self, image="image", label="label"):
        self.names = image, label

    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return dict(zip(self.names, (X[index], Y[index]), strict=True))


SOURCES = {
    "pairs": lambda: DataLoader(TensorDataset(X, Y), batch_size=4),
    "inputs in a list": lambda: DataLoader(TensorDataset(X), batch_size=4),
    "tensors": lambda: DataLoader(X, batch_size=4),
    "one row at the end": lambda: DataLoader(TensorDataset(X, Y), batch_size=5),
    "weights beside targets": lambda: DataLoader(TensorDataset(X, Y, Y), batch_size=4),
    "a data set": lambda: TensorDataset(X, Y),
    "targets that are no numbers": Pairs,
    "a stream": Stream,
    "a dictionary": Named,
    "a dictionary with the module's name": lambda: Named("input", "Labels"),
    "an iterator": lambda: iter([(X[:6].numpy(), Y[:6]), (X[6:].numpy(), Y[6:])]),
    "a tuple of inputs": lambda: iter([((X,), Y)]),
    "a dictionary in a pair": lambda: iter([({"input": X}, Y)]),
    "an array": lambda: X.numpy(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_list_of_modules_is_members_for_every_source_of_inputs(source):
    modules = several()
    found = predict(modules, SOURCES[source](), head="logits", classes=["a", "b", "c"])
    assert found.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(found.probabilities, softmax(modules), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("wrap", [tuple, nn.ModuleList, lambda m: [nn.DataParallel(e) for e in m]])
def test_tuples_and_torchs_lists_and_wrappers_are_lists_too(wrap):
    modules = several()
    found = predict(wrap(modules), X, head="logits")
    np.testing.assert_allclose(found.probabilities, softmax(modules), rtol=1e-5, atol=1e-7)


def test_mode_statistics_gradients_and_generator_are_kept():
    modules = several()
    modules[1].eval()
    before = [copy.deepcopy(module.state_dict()) for module in modules]
    state = torch.get_rng_state()
    predict(modules, SOURCES["pairs"](), head="logits")
    assert [module.training for module in modules] == [True, False, True]
    assert all(p.grad is None and p.requires_grad for m in modules for p in m.parameters())
    for old, module in zip(before, modules, strict=True):
        assert all(torch.equal(old[key], value) for key, value in module.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())


def test_passes_over_a_loader_are_those_over_all_rows():
    (module,) = several(dropping, 1)
    at_once = predict(module, X, passes=7, head="logits", random_state=3)
    for source in ("pairs", "one row at the end", "a data set"):
        found = predict(module, SOURCES[source](), passes=7, head="logits", random_state=3)
        np.testing.assert_allclose(found.probabilities, at_once.probabilities, rtol=1e-5)
    assert predict(module, SOURCES["pairs"](), head="logits").members == 50
    assert not np.allclose(at_once.probabilities[0], at_once.probabilities[1])


def test_modules_of_a_list_have_one_pass_without_noise_unless_asked():
    modules = several(dropping, 2)
    found = predict(modules, X, head="logits")
    np.testing.assert_allclose(found.probabilities, softmax(modules), rtol=1e-5)
    found = predict(modules, X, head="logits", passes=3, random_state=0)
    assert found.members == 6
    # The second module goes on with the keys after those of the first.
    wanted = monte_carlo(modules[0], X, 3, random_state=0).softmax(-1)
    np.testing.assert_allclose(found.probabilities[:3], wanted, rtol=1e-4, atol=1e-6)
    wanted = monte_carlo(modules[1], X, 3, random_state=0).softmax(-1)
    assert not np.allclose(found.probabilities[3:], wanted, atol=1e-3)
    assert len(pass_keys(6, 0).unique(dim=0)) == 6


def test_plans_in_a_list_and_heads_of_caveat():
    torch.manual_seed(0)
    modules = [MLP(4, 2, head="mean-std") for _ in range(3)]
    wanted = predict(modules, X, targets=["a", "b"])
    plans = [explain(module, X) for module in modules]
    found = predict(plans, DataLoader(X, batch_size=4))
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.variance, wanted.variance, rtol=1e-5)
    with torch.no_grad():
        means = torch.stack([module.eval()(X)[:, 0] for module in modules])
    np.testing.assert_allclose(wanted.mean, means, rtol=1e-5, atol=1e-6)


class Two(nn.Module):
    def forward(self, a, b, scale=None):
        return torch.stack([a.sum(1), b.sum(1)], 1) * (1 if scale is None else scale[:, None])


@pytest.mark.parametrize(
    "batch",
    [
        (X, 2 * X),
        [X, 2 * X, Y],
        ([X, 2 * X], Y),
        {"labels": Y, "b": 2 * X, "a": X},
        {"a": X, "b": 2 * X, "unused": Y},
    ],
)
def test_modules_of_several_inputs(batch):
    found = predict(Two(), iter([batch]), head="mean")
    np.testing.assert_allclose(found.mean[0], torch.stack([X.sum(1), 2 * X.sum(1)], 1), rtol=1e-5)


def test_an_optional_input_is_taken_by_name():
    found = predict(Two(), iter([{"a": X, "b": X, "scale": X[:, 0]}]), head="mean")
    np.testing.assert_allclose(found.mean[0, :, 0], X.sum(1) * X[:, 0], rtol=1e-5)


def test_a_required_input_may_have_the_name_of_a_target():
    class Odd(nn.Module):
        def forward(self, y):
            return y

    assert inputs_of({"y": X, "label": Y}, Odd()) is X

    class Any(nn.Module):
        def forward(self, *values):
            return values[0]

    assert inputs_of((X, Y), Any()) is X


@pytest.mark.parametrize("progress", [True, False])
@pytest.mark.parametrize("source", ["pairs", "a stream", "an iterator"])
def test_progress_bar(source, progress, capsys):
    predict(several(), SOURCES[source](), head="logits", progress=progress)
    assert ("Predicting" in capsys.readouterr().out) == progress


def test_progress_of_a_list_on_arrays(capsys):
    predict(several(), X, head="logits", progress=True)
    assert "Monte Carlo" in capsys.readouterr().out


def shuffled(**options):
    return DataLoader(TensorDataset(X, Y), batch_size=4, **options)


def heads(*names):
    options = {"quantiles": {"levels": [0.1, 0.9]}}
    return [MLP(4, 1, head=name, **options.get(name, {})) for name in names]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: predict([], X), OptionError, "at least one member; got an empty one"),
        (lambda: predict([plain()] * 2, X, head="logits"), OptionError, "the same module twice"),
        (lambda: predict([plain(), "net.pt"], X, head="logits"), OptionError, "module must be a torch.nn.Module; got str"),
        (lambda: predict([nn.Linear(4, 3), nn.Linear(4, 2)], X, head="logits"), ShapeError, r"module 0 returns \(rows, 3\), module 1 \(rows, 2\)"),
        (lambda: predict(heads("mean-std", "quantiles"), X), OptionError, "must have one head; that of module 0 is 'mean-std'"),
        (lambda: predict([dropping(), plain()], X, head="logits", passes=5), OptionError, "nothing is random in module 1 of the list"),
        (lambda: predict(several(), SOURCES["pairs"](), head="mean-std"), ShapeError, r"it returns \(rows, 3\)"),
        (lambda: predict(plain(), shuffled(shuffle=True), head="logits"), OptionError, r"come shuffled \(RandomSampler\)"),
        (lambda: predict(plain(), shuffled(sampler=SubsetRandomSampler(range(5))), head="logits"), OptionError, "SubsetRandomSampler"),
        (lambda: predict(plain(), shuffled(sampler=WeightedRandomSampler([1.0] * 11, 11)), head="logits"), OptionError, "WeightedRandomSampler"),
        (lambda: predict(plain(), shuffled(sampler=DistributedSampler(X, 2, 0)), head="logits"), OptionError, r"come in part \(DistributedSampler\)"),
        (lambda: predict(plain(), shuffled(drop_last=True), head="logits"), OptionError, "would leave out 3 of 11 rows"),
        (lambda: predict(plain(), iter([]), head="logits"), ShapeError, "at least one batch; the list_iterator gave none"),
        (lambda: predict(plain(), iter([()]), head="logits"), ShapeError, "a batch of X is empty"),
        (lambda: predict(plain(), Named(), head="logits", batch_size=0), OptionError, "batch_size must be a whole number"),
        (lambda: predict(Two(), iter([(X,)]), head="mean"), ShapeError, r"has 1 parts, and the module's forward takes \(a, b, scale\), 2 of them required"),
        (lambda: predict(Two(), iter([(X, X, X, Y)]), head="mean"), ShapeError, "has 4 parts"),
        (lambda: predict(Two(), iter([{"a": X, "c": X}]), head="mean"), ShapeError, r"has the keys \['a', 'c'\]"),
        (lambda: predict(plain(), iter([{"image": X, "id": Y}]), head="logits"), ShapeError, r"takes \(input\)"),
        (lambda: predict(nn.Flatten(), iter([torch.ones(3, 2), torch.ones(3, 4)]), head="mean"), ShapeError, r"returned 12 numbers for 3 rows of X; expected \(3, 2\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_dropping_no_row_is_no_loss():
    modules = several()
    loader = DataLoader(TensorDataset(X[:8], Y[:8]), batch_size=4, drop_last=True)
    found = predict(modules, loader, head="logits")
    np.testing.assert_allclose(found.probabilities, softmax(modules, X[:8]), rtol=1e-5, atol=1e-7)


def test_noise_that_stays_off_is_said_once():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cells = nn.LSTM(1, 4, num_layers=2, dropout=0.5, batch_first=True)
            self.end = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 3))

        def forward(self, x):
            return self.end(self.cells(x[..., None])[0][:, -1])

    with pytest.warns(UserWarning, match="it stays off") as caught:
        predict(Recurrent(), SOURCES["pairs"](), passes=2, head="logits")
    assert [warning.filename for warning in caught] == [__file__]


# Files of weights


def written(path, content):
    if path.suffix == ".safetensors":
        save_file(content, path)
    else:
        torch.save(content, path)
    return path


WRAPPED = {
    "plain.pt": lambda state: state,
    "plain.safetensors": lambda state: state,
    "loop.pt": lambda state: {"epoch": 3, "optimizer": {"lr": 0.1}, "model_state_dict": state},
    "lightning.ckpt": lambda state: {
        "state_dict": {f"model.{key}": value for key, value in state.items()}
    },
    "parallel.pt": lambda state: {"module." + key: value for key, value in state.items()},
    "compiled.pt": lambda state: {
        "model": {"module._orig_mod." + key: value for key, value in state.items()}
    },
}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("make", [plain, lambda: nn.DataParallel(plain())])
def test_files_of_weights_are_members(name, make, tmp_path):
    modules = several()
    for module in modules:
        module(X)  # statistics of batch norm that differ from those at the start
    paths = [
        written(tmp_path / f"{i}-{name}", WRAPPED[name](module.state_dict()))
        for i, module in enumerate(modules)
    ]
    state = torch.get_rng_state()
    members = load_members([str(paths[0]), *paths[1:]], make)
    assert torch.equal(state, torch.get_rng_state())
    assert not any(member.training for member in members)
    found = predict(members, X, head="logits")
    np.testing.assert_allclose(found.probabilities, softmax(modules), rtol=1e-5, atol=1e-7)


def test_names_that_begin_like_a_wrapper_are_kept(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = nn.Linear(4, 3)

        def forward(self, x):
            return self.model(x)

    net = Net()
    (member,) = load_members([written(tmp_path / "a.pt", net.state_dict())], Net)
    assert torch.equal(member.model.weight, net.model.weight)


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('code from the file was run')",)


def test_loading_runs_no_code(tmp_path):
    path = tmp_path / "evil.pt"
    torch.save({"state_dict": plain().state_dict(), "extra": Evil()}, path)
    with pytest.raises(FileFormatError, match="could run code"):
        load_members([path], plain)
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(FileFormatError, match="could run code"):
        load_members([path], plain)
    torch.save(plain(), path)
    with pytest.raises(FileFormatError, match=r"torch.save\(module.state_dict\(\), path\)"):
        load_members([path], plain)


def state_of(*sizes):
    return nn.Sequential(*[nn.Linear(*size) for size in sizes]).state_dict()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (state_of((4, 8)), r"names that the file lacks: 1.weight, 1.bias\. Build"),
        (state_of((4, 8), (8, 3), (3, 3)), "names that the module lacks: 2.weight, 2.bias"),
        (state_of((4, 8), (8, 5)), r"other shapes: 1.weight is \(5, 8\), the module's \(3, 8\), 1.bias"),
        ({f"layer.{key}": value for key, value in state_of((4, 8), (8, 3)).items()}, "0.weight, 0.bias, 1.weight and 1 more"),
        (state_of((4, 8), (8, 3)) | {"1.bias": 3}, "do not fit the module Sequential: "),
        ({"epoch": 3, "loss": 0.1}, r"holds no state dict, .* got the keys \['epoch', 'loss'\]"),
        ([1, 2], "holds no state dict, .* got <class 'list'>"),
    ],
)  # fmt: skip
def test_weights_of_another_module_are_refused(content, message, tmp_path):
    path = written(tmp_path / "a.pt", content)
    with pytest.raises(FileFormatError, match=message):
        load_members([path], lambda: nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3)))


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileFormatError, match=r"a\.pt cannot be read: No such file"):
        load_members([tmp_path / "a.pt"], plain)
    path = tmp_path / "b.pt"
    for content in (b"", b"PK\x03\x04 but not more", b"12345678{not safetensors"):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="is damaged, or"):
            load_members([path], plain)


def test_arguments_that_are_none(tmp_path):
    path = written(tmp_path / "a.pt", plain().state_dict())
    for paths in ([], str(path), path):
        with pytest.raises(OptionError, match="paths must be a list of at least one file"):
            load_members(paths, plain)
    for wrong in (plain(), "plain"):
        with pytest.raises(OptionError, match="make_module must be a function that returns a new"):
            load_members([path], wrong)
    module = plain()
    with pytest.raises(OptionError, match="the same one twice"):
        load_members([path, path], lambda: module)
    with pytest.raises(OptionError, match=r"must be a torch\.nn\.Module; got int"):
        load_members([path], lambda: 3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_devices_are_kept():
    modules = several()
    wanted = softmax(modules)
    modules[1].cuda()
    for source in ("pairs", "an array"):
        found = predict(modules, SOURCES[source](), head="logits")
        np.testing.assert_allclose(found.probabilities, wanted, rtol=1e-3, atol=1e-4)
    assert [next(m.parameters()).device.type for m in modules] == ["cpu", "cuda", "cpu"]
    found = predict(modules[1], DataLoader(X, batch_size=4), head="logits", device="cpu")
    np.testing.assert_allclose(found.probabilities, wanted[1:2], rtol=1e-5, atol=1e-7)
