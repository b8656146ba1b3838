"""Kills, interruptions, lack of memory and bad input."""

import dataclasses
import json
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from torch import nn

from caveat.exceptions import (
    FileFormatError,
    InvalidValueError,
    LabelError,
    OptionError,
    ShapeError,
    TrainingError,
)
from caveat.nn import losses
from caveat.nn.lockstep import Copy, Plateau, Training, _checkpoint, _memory, train
from caveat.nn.lockstep import _work as module_of_work
from caveat.nn.lockstep._memory import is_out_of_memory

from .test_lockstep import (
    CLASSES,
    COPIES,
    SHORT,
    VALUES,
    X,
    assert_same,
    cross_entropy,
    dropping,
    fit,
    plain,
    squares,
)

SCRIPT = """
import sys, os, signal
import numpy as np, torch
from caveat.nn.lockstep import Copy, Training, train, _checkpoint
import torch.nn.functional as F

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5)).astype(np.float32)
y = rng.integers(3, size=60)
kill_at, folder, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
calls = 0

def loss(output, target):
    global calls
    calls += 1
    if calls == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return F.cross_entropy(output, target, reduction="none")

_checkpoint.Checkpoint.due = lambda self: True
make = lambda: torch.nn.Sequential(
    torch.nn.Linear(5, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.3),
    torch.nn.Linear(8, 3),
)
copies = [Copy(rows=np.arange(50 - 5 * i), validation=np.arange(50, 60), epochs=10 + 5 * i) for i in range(4)]
trained = train(
    make, X, y, loss=loss, copies=copies, checkpoint=folder, random_state=3,
    training=Training(batch_size=16, learning_rate=0.05, patience=6, memory=int(sys.argv[4])),
)
np.savez(out, **{k: v.numpy() for k, v in trained.state.items()}, steps=trained.steps,
         curve=trained.history[2]["validation"])
"""


def run_script(path, kill_at, folder, out, memory=2**30):
    script = path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    return subprocess.run(
        [sys.executable, script, str(kill_at), folder, out, str(memory)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_killed_training_goes_on_with_the_same_numbers(tmp_path):
    whole = run_script(tmp_path, 0, tmp_path / "a", tmp_path / "a.npz")
    assert whole.returncode == 0, whole.stderr
    for kill_at in (5, 25):
        killed = run_script(tmp_path, kill_at, tmp_path / "b", tmp_path / "b.npz")
        assert killed.returncode == -signal.SIGKILL
        assert not (tmp_path / "b.npz").exists()
    resumed = run_script(tmp_path, 0, tmp_path / "b", tmp_path / "b.npz")
    assert resumed.returncode == 0, resumed.stderr
    expected, found = np.load(tmp_path / "a.npz"), np.load(tmp_path / "b.npz")
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


def test_a_finished_training_is_read_back(tmp_path):
    calls = []

    def counting(output, y):
        calls.append(1)
        return cross_entropy(output, y)

    first = fit(dropping, COPIES, loss=counting, checkpoint=tmp_path)
    assert calls
    calls.clear()
    again = fit(dropping, COPIES, loss=counting, checkpoint=tmp_path)
    assert not calls
    for name, value in first.state.items():
        assert torch.equal(value, again.state[name])
    assert again.status == first.status
    np.testing.assert_array_equal(again.steps, first.steps)


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    fit(plain, COPIES, checkpoint=tmp_path)
    with pytest.raises(OptionError, match="belongs to another training"):
        fit(plain, COPIES, dataclasses.replace(SHORT, learning_rate=0.5), checkpoint=tmp_path)
    (file,) = tmp_path.glob("copies-*.safetensors")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(
        FileFormatError, match=r"cannot be read .*; delete it to train its copies anew"
    ):
        fit(plain, COPIES, checkpoint=tmp_path)
    (tmp_path / "training.json").write_text(json.dumps({"version": 99}))
    with pytest.raises(FileFormatError, match="written by a newer version"):
        fit(plain, COPIES, checkpoint=tmp_path)
    (tmp_path / "training.json").write_text("{")
    with pytest.raises(FileFormatError, match="not readable JSON"):
        fit(plain, COPIES, checkpoint=tmp_path)


def test_an_interruption_leaves_what_was_trained(tmp_path):
    calls = 0

    def impatient(output, y):
        nonlocal calls
        calls += 1
        if calls == 12:
            raise KeyboardInterrupt
        return cross_entropy(output, y)

    with pytest.warns(RuntimeWarning, match=r"stopped by Ctrl-C: 3 of 5 copies"):
        found = fit(plain, COPIES, loss=impatient)
    assert found.status == ["interrupted", "finished", "finished", "interrupted", "interrupted"]
    assert found.steps.tolist() == [9, 8, 8, 9, 9]
    assert np.isfinite(found.outputs(X)).all()


def test_too_little_memory_halves_the_chunk(monkeypatch):
    whole = fit(dropping, COPIES)
    build = module_of_work.Run

    def stingy(problem, places, *args, **options):
        if len(places) > 2 or (limit == 0 and len(places) == 1):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return build(problem, places, *args, **options)

    limit = 2
    monkeypatch.setattr(module_of_work, "Run", stingy)
    parts = fit(dropping, COPIES)
    assert "out of memory with 5 copies at a time, so 3" in parts.engine
    for name, value in whole.state.items():
        torch.testing.assert_close(value, parts.state[name], rtol=1e-5, atol=1e-6)
    limit = 0
    with pytest.raises(TrainingError, match="one copy alone does not fit into memory"):
        fit(dropping, COPIES[:1])


@pytest.mark.parametrize("at", [1, 3, 6])
def test_errors_of_a_loss_come_through(at):
    calls = 0

    def failing(output, y):
        nonlocal calls
        calls += 1
        if calls == at:
            raise ZeroDivisionError("in step")
        return cross_entropy(output, y)

    with pytest.raises(ZeroDivisionError, match="in step"):
        fit(plain, 2, loss=failing)


def test_not_even_a_look_fits_into_memory():
    def greedy(output, y):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(TrainingError, match="one copy alone does not fit into memory"):
        fit(plain, 2, loss=greedy)


def test_a_checkpoint_that_is_always_due_changes_nothing(tmp_path, monkeypatch):
    expected = fit(dropping, COPIES)
    monkeypatch.setattr(_checkpoint.Checkpoint, "due", lambda self: True)
    found = fit(dropping, COPIES, checkpoint=tmp_path)
    for name, value in expected.state.items():
        assert torch.equal(value, found.state[name])


def test_what_counts_as_out_of_memory():
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"))
    assert not is_out_of_memory(RuntimeError("size mismatch"))


def test_all_diverged():
    with pytest.raises(TrainingError, match="training diverged: the loss of every copy"):
        fit(lambda: nn.Linear(5, 2), 2, SHORT, np.full_like(VALUES, 1e38), squares)


def test_a_wrong_module_gives_its_own_error():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes"):
        fit(lambda: nn.Linear(4, 3), 2)


def test_progress_is_shown_on_request(capsys):
    fit(plain, 2, random_state=0)
    assert capsys.readouterr().err == ""
    fit(plain, 2, random_state=0, progress=True)
    assert "training 2 copies" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"copies": []}, OptionError, "copies must be at least one"),
        ({"copies": [Copy(epochs=0)]}, OptionError, "epochs of copy 0 must be a whole number"),
        ({"copies": [Copy(rows=[60])]}, InvalidValueError, "rows of a copy must lie from 0 to 59; got 60 to 60"),
        ({"copies": [Copy(rows=[0.5])]}, ShapeError, "rows of a copy must be numbers of samples"),
        ({"copies": [Copy(rows=[])]}, ShapeError, "at least one; got shape"),
        ({"copies": [Copy(y=[1, 2])]}, ShapeError, r"y of a copy must have one entry for each of 60 samples; got shape \(2,\)"),
        ({"copies": [Copy(y=VALUES)]}, ShapeError, r"y of a copy must look like y, \(60,\) of torch.int64"),
        ({"copies": [Copy(weight=[1.0])]}, ShapeError, r"weight of a copy must have shape \(60,\)"),
        ({"copies": [Copy(weight=-np.ones(60))]}, InvalidValueError, "not negative, and not all 0"),
        ({"copies": [Copy(weight=np.arange(60) % 2, validation=[0, 2])]}, InvalidValueError, "not be all 0 on its validation"),
        ({"copies": [Copy(rows=range(30), weight=np.where(np.arange(60) < 30, 1, 1e-60), validation=range(30, 60))]}, InvalidValueError, "nor far larger than on its rows"),
        ({"copies": [Copy(), Copy(validation=[1])]}, OptionError, "to all copies, or to none"),
        ({"copies": [Copy(state={"0.weight": torch.zeros(2)})]}, OptionError, r"state of copy 0 has '0.weight' of shape \(2,\); the module has .*'0.weight': \(8, 5\)"),
        ({"X": X[:0]}, ShapeError, r"X must have at least one sample; got shape \(0, 5\)"),
        ({"X": np.where(X > 2, np.nan, X)}, InvalidValueError, "X of sample [0-9]+ holds NaN or infinity"),
        ({"y": CLASSES[:5]}, ShapeError, r"y must have one entry for each of 60 samples; got shape \(5,\)"),
        ({"y": np.full(60, np.inf)}, InvalidValueError, "y holds NaN or infinity"),
        ({"module": lambda: 3}, OptionError, "a function that makes one; got a int"),
        ({"loss": "nll"}, OptionError, r"loss must be a function, such as caveat.nn.losses.nll; got 'nll'"),
        ({"loss": lambda o, y: o.sum()}, OptionError, "loss must return one number for each sample"),
        ({"epochs": 0}, OptionError, "epochs must be a whole number of at least 1; got 0"),
        ({"draws": 0}, OptionError, "draws must be a whole number of at least 1; got 0"),
        ({"batch_size": 1.5}, OptionError, "batch_size must be a whole number"),
        ({"patience": 3}, OptionError, r"patience needs validation samples; name some in every copy, as in Copy\(validation=...\)"),
        ({"plateau": Plateau()}, OptionError, "plateau needs validation samples"),
        ({"anchor_strength": 2.0}, OptionError, "anchor_strength is 2.0, but there is no anchor; set anchor to 'zero', 'initial' or 'drawn'"),
        ({"copies": [Copy(), Copy(seed=2**63)]}, OptionError, "seed of copy 1 must be at most 9,223,372,036,854,775,807; got 9223372036854775808"),
        ({"copies": [Copy(seed=-1)]}, OptionError, "seed of copy 0 must be a whole number of at least 0"),
        ({"copies": [Copy(steps=1.5)]}, OptionError, "steps of copy 0 must be a whole number of at least 1; got 1.5"),
        ({"y": np.array(list("abc"))[CLASSES]}, InvalidValueError, "y must hold numbers; got <U1; pass classes as whole numbers 0, 1, 2, ..."),
        ({"copies": [Copy(y=["a"] * 60)]}, InvalidValueError, "y of a copy must hold numbers; got <U1"),
        ({"X": X.astype(str)}, InvalidValueError, "X must hold numbers; got <U[0-9]+"),
        ({"y": CLASSES + 1, "loss": losses.nll}, LabelError, "y must hold class codes from 0 to 2, as the module has 3 outputs; got 1 to 3"),
        ({"y": CLASSES - 1, "loss": losses.nll, "copies": 1}, LabelError, "got -1 to 1"),
        ({"copies": [Copy(y=CLASSES * 2)], "loss": losses.nll}, LabelError, "got 0 to 4"),
        ({"module": nn.Identity}, OptionError, "module must have parameters that can be trained; it has none"),
        ({"module": lambda: plain().requires_grad_(False)}, OptionError, "parameters that can be trained"),
        ({"patience": True}, OptionError, "patience must be a whole number"),
        ({"optimizer": "lion"}, OptionError, "optimizer must be one of 'adam', 'adamw', 'sgd', or a class or function .*; got 'lion'"),
        ({"learning_rate": 0.0}, OptionError, "learning_rate must be a number above 0; got 0.0"),
        ({"learning_rate": "fast"}, OptionError, "learning_rate must be a number above 0; got 'fast'"),
        ({"weight_decay": -1}, OptionError, "weight_decay must be a number of at least 0; got -1"),
        ({"momentum": float("inf")}, OptionError, "momentum must be a number of at least 0; got inf"),
        ({"likelihood_weight": float("nan")}, OptionError, "likelihood_weight must be a number of at least 0; got nan"),
        ({"device": "mps"}, OptionError, "device must be 'auto', 'cpu' or such as 'cuda:0'; got 'mps'"),
        ({"penalty_weight": "all"}, OptionError, "penalty_weight must be a number or 'per-sample'; got 'all'"),
        ({"device": "tpu9"}, OptionError, "device must be 'auto', 'cpu' or such as 'cuda:0'; got 'tpu9'"),
    ],
)  # fmt: skip
def test_bad_input(options, error, message):
    given = {"module": plain, "X": X, "y": CLASSES, "loss": cross_entropy, "copies": 2, **options}
    names = {field.name for field in dataclasses.fields(Training)}
    training = Training(**{k: given.pop(k) for k in list(given) if k in names})
    with pytest.raises(error, match=message):
        train(given.pop("module"), given.pop("X"), given.pop("y"), training=training, **given)


def test_only_codes_that_are_used_are_checked():
    some = CLASSES.copy()
    some[50:] = -1
    seen = Copy(seed=1, rows=np.arange(40), validation=np.arange(40, 50))
    found = fit(plain, [seen, seen], y=some, loss=losses.nll)
    assert_same(found, 0, fit(plain, [seen], loss=losses.nll))
    for name in ("rows", "validation"):
        with pytest.raises(LabelError, match="got -1 to 2"):
            fit(
                plain,
                [seen, dataclasses.replace(seen, **{name: np.arange(60)})],
                y=some,
                loss=losses.nll,
            )


def test_a_refused_training_leaves_no_checkpoint(tmp_path):
    with pytest.raises(LabelError, match="class codes"):
        fit(plain, 2, y=CLASSES + 1, loss=losses.nll, checkpoint=tmp_path)
    assert len(fit(plain, 2, loss=losses.nll, checkpoint=tmp_path, random_state=0)) == 2


def test_a_module_that_fails_gives_its_own_error_also_with_codes():
    with pytest.raises(RuntimeError, match=r"to be: \[1, 4\] but got: \[1, 5\]"):
        fit(lambda: nn.Linear(4, 3), 1, loss=losses.nll)


def test_numbers_of_numpy():
    weight = np.full((8, 5), 0.5)
    weight.setflags(write=False)
    training = Training(epochs=np.int64(2), batch_size=np.int32(60), learning_rate=1e-9)
    assert fit(plain, np.int64(2), training).steps.tolist() == [2, 2]
    own = Copy(
        seed=np.int64(3), steps=np.int64(1), validation=(0, 1, 2), weight=np.ones(60),
        state={"0.weight": weight, "0.bias": [0.25] * 8},
    )  # fmt: skip
    found = fit(plain, [own, dataclasses.replace(own, state=None)], training)
    assert found.steps.tolist() == [1, 1]
    np.testing.assert_allclose(found.state["0.weight"][0], weight)
    np.testing.assert_allclose(found.state["0.bias"][0], 0.25)
    torch.testing.assert_close(found.state["2.weight"][0], found.state["2.weight"][1])


@pytest.mark.parametrize("where", ["macOS", "Windows"])
def test_free_memory_where_it_is_not_told(where, monkeypatch):
    def refuse(name):
        raise ValueError("unrecognized configuration name")

    if where == "macOS":
        monkeypatch.setattr(_memory.os, "sysconf", refuse)
    else:
        monkeypatch.delattr(_memory.os, "sysconf")
    assert _memory._free(torch.device("cpu")) == 4 * 2**30
    assert len(fit(plain, 2)) == 2


def test_a_module_that_cannot_be_drawn_anew():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(5, 3))

        def forward(self, x):
            return x @ self.weight

    for fresh in ("all", "head"):
        with pytest.raises(OptionError, match="Own has no reset_parameters"):
            fit(Own(), 2, fresh=fresh)
    assert len(fit(Own, 2)) == len(fit(Own(), 2)) == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there():
    with pytest.raises(OptionError, match="device is 'cuda', but torch finds no GPU here"):
        fit(plain, 2, Training(device="cuda"))


def test_copies_are_counted_from_0():
    with pytest.raises(OptionError, match="copy must lie from 0 to 1; got 2"):
        fit(plain, 2, random_state=0).module(2)


def test_inputs_of_other_kinds():
    import pandas as pd

    expected = fit(plain, [Copy(seed=0)]).outputs(X)
    for given in (torch.tensor(X), pd.DataFrame(X)):
        found = train(
            plain, given, CLASSES, loss=cross_entropy, copies=[Copy(seed=0)], training=SHORT
        )
        np.testing.assert_allclose(found.outputs(given), expected, rtol=1e-5, atol=1e-6)
    whole = np.round(X).astype(int)
    assert train(plain, whole, CLASSES, loss=cross_entropy, training=SHORT).outputs(
        whole
    ).shape == (1, 60, 3)
    half = torch.tensor(X).half()
    assert len(train(plain, half, CLASSES, loss=cross_entropy, training=SHORT)) == 1


def test_settings_are_a_training():
    message = r"training must be a Training, such as Training\(epochs=5\); got {'epochs': 2}"
    with pytest.raises(OptionError, match=message):
        train(plain, X, CLASSES, loss=losses.nll, training={"epochs": 2})
