"""Tables as they come: heavy tails, categories, missing values, constant columns."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
import safetensors.torch as safetensors
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

import caveat
from caveat.estimators import (
    DeepEnsembleClassifier,
    DeepEnsembleRegressor,
    EnsembleRegressor,
    MAPClassifier,
    MAPRegressor,
    MCDropoutRegressor,
    _network,
    _tasks,
)
from caveat.estimators._data import median_and_spread, weighted_quantiles
from caveat.estimators._table import MOST_ONE_HOT, encode, learn_columns
from caveat.exceptions import InvalidValueError, OptionError, ShapeError

torch = pytest.importorskip("torch")

SMALL = {"hidden": (8,), "epochs": 3, "random_state": 0}


def table(samples=300, seed=0):
    """Return a frame of all kinds of columns, and numbers that depend on each."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=samples),
            "color": rng.choice(["red", "green", "blue"], samples),
            "city": pd.Categorical(rng.integers(0, 40, samples)),
            "age": np.where(rng.random(samples) < 0.3, np.nan, rng.normal(50, 10, samples)),
            "member": rng.random(samples) < 0.5,
            "grade": pd.array(rng.integers(1, 6, samples), dtype="Int64"),
        }
    )
    y = frame["size"] + 2.0 * (frame["color"] == "red") + frame["city"].astype(int) % 3
    y = y + frame["age"].isna() + frame["member"] - frame["grade"].astype(float)
    return frame, (y + 0.1 * rng.normal(size=samples)).to_numpy(dtype=float)


def error(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


# Heavy tails.


def tailed(samples=1500):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(samples, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=samples)
    return X, y, rng.standard_cauchy(size=samples), 1e6 * rng.normal(size=samples)


def test_a_heavy_tail_and_a_large_scale_cost_little():
    X, y, heavy, large = tailed(5000)
    learn, test = slice(0, 4000), slice(4000, None)
    settings = {"members": 4, "hidden": (32, 32), "epochs": 15, "learning_rate": 0.01}

    def found(inputs):
        model = DeepEnsembleRegressor(**settings, random_state=0).fit(inputs[learn], y[learn])
        return error(model, inputs[test], y[test])

    plain = found(X)
    for added in (heavy, large):
        assert found(np.column_stack([X, added])) < 1.05 * plain


def test_far_values_are_bounded_and_near_ones_are_not():
    X, y, heavy, _ = tailed(300)
    wide = np.column_stack([X, heavy])
    model = MAPRegressor(**SMALL).fit(wide, y)
    far = wide[:50].copy()
    far[:, 4] = 1e9
    farther = far.copy()
    farther[:, 4] = 1e30
    np.testing.assert_allclose(model.predict(far), model.predict(farther), rtol=1e-5)
    plain = MAPRegressor(**SMALL, standardize=True).fit(wide, y)
    assert np.abs(plain.predict(far)).max() > 1e3 > np.abs(model.predict(far)).max()


def test_scaling_resists_a_few_samples():
    rng = np.random.default_rng(0)
    values = rng.normal(7.0, 3.0, size=(20_000, 2))
    values[: len(values) // 20, 1] = 1e12
    center, spread = median_and_spread(values, None, 1.0, 1e-16)
    # The standard errors of a median and of quartiles are below 0.04 here.
    np.testing.assert_allclose(center[0], 7.0, atol=0.15)
    np.testing.assert_allclose(spread[0], 3.0 * 1.349, atol=0.15)
    assert 7.0 < center[1] < 7.5
    assert 4.0 < spread[1] < 4.6


def test_columns_that_are_mostly_one_value():
    values = np.zeros((100, 3))
    values[:10, 0] = [2.0] * 9 + [1e9]  # few others: half of their median distance
    values[:, 2] = 5.0
    center, spread = median_and_spread(values, None, np.abs(values).max(axis=0), 1e-16)
    np.testing.assert_allclose(center, [0.0, 0.0, 5.0])
    np.testing.assert_allclose(spread, [1.0, 0.0, 0.0])
    weight = np.r_[np.full(10, 2.0), np.ones(90)]
    np.testing.assert_allclose(
        median_and_spread(values, weight, np.abs(values).max(axis=0), 1e-16)[1], [1.0, 0.0, 0.0]
    )


def test_weights_of_quantiles_count_as_samples_do():
    rng = np.random.default_rng(1)
    values, weight = rng.normal(size=(51, 2)), rng.integers(0, 4, 51).astype(float)
    repeated = np.repeat(values, weight.astype(int), axis=0)
    found = weighted_quantiles(values, weight, (0.25, 0.5, 0.75))
    expected = np.quantile(repeated, (0.25, 0.5, 0.75), axis=0, method="inverted_cdf")
    np.testing.assert_allclose(found, expected)


def test_a_constant_column_carries_nothing():
    X, y, _, _ = tailed(200)
    model = MAPRegressor(**SMALL).fit(np.column_stack([X, np.full(200, 3.0)]), y)
    first, second = (np.column_stack([X, np.full(200, value)]) for value in (3.0, -1e5))
    np.testing.assert_array_equal(model.predict(first), model.predict(second))


def test_how_inputs_are_scaled():
    X, y, _, _ = tailed(100)
    names = {None: "0.limit", "robust": "0.limit", True: "0.mean", False: "0.0.weight"}
    for value, name in names.items():
        model = MAPRegressor(**SMALL, standardize=value).fit(X, y)
        assert name in model.state_
        assert ("0.limit" in model.state_) == (value in (None, "robust"))
    for value in ("median", 2.5):
        with pytest.raises(OptionError, match=r"standardize must be 'robust', True, False or None"):
            MAPRegressor(**SMALL, standardize=value).fit(X, y)


# Categories and missing values.


def test_columns_become_what_scikit_learn_makes_of_them():
    frame, _ = table()
    frame = frame.drop(columns="city")
    numbers = ["size", "age", "member", "grade"]
    by_hand = make_column_transformer(
        (SimpleImputer(strategy="median"), numbers),
        (SimpleImputer(add_indicator=True, strategy="constant"), ["age"]),
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["color"]),
    )
    same = frame.astype({"member": float, "grade": float})
    expected = np.delete(by_hand.fit_transform(same), 4, axis=1)  # the age without an indicator
    columns = learn_columns(frame)
    np.testing.assert_allclose(encode(columns, frame), expected)
    other = table(seed=5)[0].drop(columns="city")
    other.loc[::7, "color"] = "violet"
    same = other.astype({"member": float, "grade": float})
    np.testing.assert_allclose(
        encode(columns, other), np.delete(by_hand.transform(same), 4, axis=1)
    )


def test_a_table_is_predicted_as_well_as_one_that_is_encoded_by_hand():
    frame, y = table(900)
    learn, test = slice(0, 600), slice(600, None)
    settings = {"members": 3, "hidden": (32,), "epochs": 60, "learning_rate": 0.01}
    model = DeepEnsembleRegressor(**settings, random_state=0).fit(frame[learn], y[learn])
    assert [column["kind"] for column in model.columns_] == [
        "number", "one-hot", "embedded", "number", "number", "number",
    ]  # fmt: skip
    by_hand = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["color", "city"]),
        (SimpleImputer(add_indicator=True), ["size", "age", "member", "grade"]),
    )
    same = frame.astype({"member": float, "grade": float})
    arrays = by_hand.fit_transform(same[learn]), by_hand.transform(same[test])
    other = DeepEnsembleRegressor(**settings, random_state=0).fit(arrays[0], y[learn])
    found, expected = error(model, frame[test], y[test]), error(other, arrays[1], y[test])
    assert found < 1.1 * expected
    assert found < 0.3 * y.std()


def test_values_that_fit_did_not_see():
    frame, y = table()
    model = MAPRegressor(**SMALL).fit(frame, y)
    new = frame[:4].astype({"city": object, "color": object})
    new["color"], new["city"] = ["violet", None, "red", "red"], [3, 3, 99, None]
    codes = encode(model.columns_, new)
    sizes = {"numbers": 4, "missing": 1}
    one_hot = codes[:, sum(sizes.values()) : -1]
    np.testing.assert_array_equal(one_hot.sum(axis=1), [0, 0, 1, 1])
    np.testing.assert_array_equal(codes[:, -1] > 0, [True, True, False, False])
    assert np.isfinite(model.predict(new)).all()


def test_a_missing_category_is_one_of_its_own_where_fit_saw_it():
    few = pd.DataFrame({"a": ["x", None, "y", np.nan, "x"], "b": np.arange(5.0)})
    columns = learn_columns(few)
    np.testing.assert_array_equal(
        encode(columns, few)[:, 1:],
        [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]],
    )
    many = pd.DataFrame({"a": [str(i) for i in range(MOST_ONE_HOT)] + [None]})
    assert learn_columns(many)[0]["kind"] == "embedded"
    assert encode(learn_columns(many), many)[-1, 0] == MOST_ONE_HOT + 1


def test_missing_numbers_of_an_array():
    X, y, _, _ = tailed(120)
    holes = X.copy()
    holes[::5, 1] = np.nan
    model = MAPRegressor(**SMALL).fit(holes, y)
    assert model.shape_ == (5,)
    assert model.n_features_in_ == 4
    filled = holes.copy()
    filled[::5, 1] = np.nanmedian(holes[:, 1])
    lost = model.predict(holes) != model.predict(filled)
    np.testing.assert_array_equal(np.flatnonzero(lost), np.arange(0, 120, 5))
    X[3, 0] = np.nan
    with pytest.raises(InvalidValueError, match=r"column 0 is NaN in sample 3, and fit saw no"):
        model.predict(X)
    with pytest.raises(InvalidValueError, match="X holds no value: all are NaN"):
        MAPRegressor(**SMALL).fit(np.full((9, 2), np.nan), np.arange(9.0))


def test_a_new_gap_among_numbers():
    X, y, _, _ = tailed(60)
    holes = X.copy()
    holes[3, 1] = np.nan
    names = ["a", "b", "c", "d"]
    saw_none = "is NaN in sample 3, and fit saw no missing value in it; fill it in, or fit with"
    model = MAPRegressor(**SMALL).fit(X, y)
    framed = MAPRegressor(**SMALL).fit(pd.DataFrame(X, columns=names), y)
    cases = [
        (lambda: model.predict(holes), f"column 1 {saw_none}"),
        (lambda: framed.predict(pd.DataFrame(holes, columns=names)), f"column 'b' {saw_none}"),
        (lambda: MAPRegressor(**SMALL).fit(X, y, validation=(holes, y)), f"column 1 {saw_none}"),
        (
            lambda: MAPRegressor(**SMALL).fit(holes.tolist(), y),
            "column 1 is NaN in sample 3; pass an array of floats or a DataFrame, whose missing",
        ),
        (
            lambda: MAPRegressor(**SMALL, module=lambda: None).fit(holes, y),
            "X is NaN in sample 3; a module gets numbers as they are, so fill it in, or leave",
        ),
    ]
    for call, message in cases:
        with pytest.raises(InvalidValueError, match=f"^{message}"):
            call()


def test_text_in_what_is_no_frame():
    X = np.array([[1.0, "a"], [2.0, "b"]] * 9, dtype=object)
    advice = "; pass a DataFrame, whose columns may hold categories"
    for given in (X, X.tolist()):
        with pytest.raises(InvalidValueError, match=f"column 1 must .* 'a' in sample 0{advice}"):
            MAPRegressor(**SMALL).fit(given, np.arange(18.0))
    frame = pd.DataFrame({"size": np.arange(18.0), "age": np.arange(18.0)})
    model = MAPRegressor(**SMALL).fit(frame, np.arange(18.0))
    new = frame.astype({"age": object})
    new.loc[4, "age"] = "old"
    with pytest.raises(InvalidValueError, match=r"column 'age' must .* got 'old' in sample 4$"):
        model.predict(new)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.predict(frame[:0])
    with pytest.raises(ShapeError, match="they must be rows of a table"):
        MAPRegressor(**SMALL).fit(np.zeros((5, 0, 2)), np.arange(5.0))


def test_a_column_without_any_value_and_objects_that_are_numbers():
    frame = pd.DataFrame({"a": [None] * 6, "b": np.array([1, 2.5, None, 4, 5, 6], dtype=object)})
    columns = learn_columns(frame)
    assert [column["kind"] for column in columns] == ["number", "number"]
    np.testing.assert_allclose(encode(columns, frame)[:, 1], [1, 2.5, 4, 4, 5, 6])
    assert learn_columns(pd.DataFrame({"a": [1, 2], 5: [True, False]})) is None
    assert learn_columns(pd.DataFrame({"a": []}, dtype=object))[0]["values"] == []
    assert learn_columns([[1.0, 2.0]]) is None


def test_names_of_columns_that_are_numbers():
    frame, y = table()
    frame.columns = range(6)
    model = MAPRegressor(**SMALL).fit(frame, y)
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.to_numpy()))
    with pytest.raises(ValueError, match=r"columns of X must be 0, 1, .* in this order; got 1, 0,"):
        model.predict(frame[[1, 0, 2, 3, 4, 5]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.date_range("2020-01-01", periods=300), r"column 'new' holds dates or durations"),
        (pd.period_range("2000-01", periods=300, freq="M"), r"column 'new' holds dates or dur"),
        (pd.Categorical(pd.date_range("2020-01-01", periods=300)), r"column 'new' holds dates or"),
        ([datetime.date(2020, 1, 1), None] * 150, r"column 'new' holds dates or durations"),
        ([datetime.time(12), datetime.time(13)] * 150, r"column 'new' holds dates or durations"),
        ([[1]] * 300, r"column 'new' must hold numbers or categories; got a list"),
        (np.full(300, 1.0 + 2.0j), r"column 'new' must hold numbers; got values such as \(1\+2j\)"),
        (np.r_[np.inf, np.ones(299)], r"column 'new' contains infinity"),
    ],
)
def test_columns_that_are_refused(column, message):
    frame, y = table()
    with pytest.raises(ValueError, match=message):
        MAPRegressor(**SMALL).fit(frame.assign(new=column), y)


def test_a_column_of_numbers_that_holds_text_later():
    frame, y = table()
    model = MAPRegressor(**SMALL).fit(frame, y)
    with pytest.raises(InvalidValueError, match=r"column 'size' must hold numbers; got .* 'tall'"):
        model.predict(frame.assign(size="tall"))
    with pytest.raises(InvalidValueError, match=r"column 'size' must hold numbers; got .* 'tall'"):
        model.predict(frame.assign(size=[1.0, None, "tall"] * 100))
    with pytest.raises(
        InvalidValueError, match=r"column 'size' must hold numbers; got .*Timestamp"
    ):
        model.predict(frame.assign(size=pd.date_range("2020-01-01", periods=300)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.drop(columns="size"))


def test_a_module_of_ones_own_gets_numbers_only():
    frame, y = table()
    with pytest.raises(ValueError, match="could not convert string"):
        MAPRegressor(**SMALL, module=torch.nn.Linear(6, 2)).fit(frame, y)


@pytest.mark.parametrize("standardize", ["robust", True, False])
def test_a_saved_model_takes_the_same_tables(standardize, tmp_path):
    frame, y = table()
    labels = np.where(y > y.mean(), "high", "low")
    model = DeepEnsembleClassifier(**SMALL, members=2, standardize=standardize).fit(frame, labels)
    model.save(tmp_path / "model")
    again = caveat.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_held_out_samples_and_ensembles_of_tables():
    frame, y = table()
    model = MCDropoutRegressor(**SMALL, passes=3)
    model.fit(frame[:200], y[:200], validation=(frame[200:], y[200:]))
    assert len(model.history_[0]["validation"]) == 3
    ensemble = EnsembleRegressor(MAPRegressor(**SMALL), members=2, random_state=0).fit(frame, y)
    assert ensemble.predict(frame).shape == (300,)


def test_a_file_of_version_1_predicts_as_it_did(tmp_path):
    X, y, _, _ = tailed(100)
    before = {"standardize": True, "max_std": None}
    model = DeepEnsembleRegressor(**SMALL, **before, members=2).fit(X, y)
    model.save(tmp_path / "model")
    with safetensors.safe_open(tmp_path / "model", framework="pt") as file:
        header = json.loads(file.metadata()["caveat"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header["version"] = 1
    settings = header["model"]["settings"]
    for name in ("scheduler", "gradient_clip", "max_std", "beta"):
        del settings[name]
    settings |= {"standardize": None, "validation_fraction": None}
    safetensors.save_file(tensors, tmp_path / "old", metadata={"caveat": json.dumps(header)})
    again = caveat.load(tmp_path / "old")
    assert (again.standardize, again.max_std, again.scheduler) == (True, None, "constant")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    std = model.predict_distribution(X).variance
    np.testing.assert_array_equal(again.predict_distribution(X).variance, std)


# Held-out samples, and members that fail.


@pytest.fixture
def few(monkeypatch):
    """Hold samples out of 100 and more."""
    monkeypatch.setattr(_network, "HELD_LEAST", 100)
    monkeypatch.setattr(_tasks, "HELD_LEAST_CLASSES", 100)


def test_samples_are_held_out_where_there_are_enough(few):
    X, y, _, _ = tailed(200)
    labels = np.where(y > 0, "yes", "no")
    assert "validation" in MAPRegressor(**SMALL).fit(X, y).history_[0]
    assert "validation" in MAPClassifier(**SMALL).fit(X, labels).history_[0]
    assert "validation" not in MAPRegressor(**SMALL).fit(X[:99], y[:99]).history_[0]
    assert "validation" not in MAPRegressor(**SMALL, validation_fraction=None).fit(X, y).history_[0]
    labels[:] = "no"
    labels[:19] = "yes"
    assert "validation" not in MAPClassifier(**SMALL).fit(X, labels).history_[0]
    for name in ("BayesByBackprop", "Flipout", "AnchoredEnsemble"):
        model = getattr(caveat.estimators, f"{name}Regressor")(**SMALL)
        assert "validation" not in model.fit(X, y).history_[0]
    model = caveat.ConcreteDropoutClassifier(**SMALL).fit(X, np.resize(["no", "yes"], len(X)))
    assert "validation" in model.history_[0]
    stopped = MAPRegressor(**SMALL | {"epochs": 200}, patience=1).fit(X[:50], y[:50])
    assert len(stopped.history_[0]["validation"]) < 200


def test_members_hold_out_samples_of_their_own(few, monkeypatch):
    from caveat import nn

    seen, train = [], nn.train

    def spy(*args, copies, **options):
        seen.extend(copies)
        return train(*args, copies=copies, **options)

    monkeypatch.setattr(nn, "train", spy)
    X, y, _, _ = tailed(200)
    DeepEnsembleRegressor(**SMALL, members=3).fit(X, y)
    held = [set(copy.validation.tolist()) for copy in seen]
    assert [len(each) for each in held] == [20, 20, 20]
    assert held[0] != held[1] != held[2]
    for copy, mine in zip(seen, held, strict=True):
        assert set(copy.rows.tolist()) | mine == set(range(200))
        assert len(copy.rows) == 180


@pytest.fixture
def spoiled(monkeypatch):
    """Let some members end with a large validation loss."""
    from caveat import nn

    members, train = [], nn.train

    def spy(*args, **options):
        trained = train(*args, **options)
        for member in members:
            trained.history[member]["validation"][:] = 1e3
        return trained

    monkeypatch.setattr(nn, "train", spy)
    return members


def test_a_member_that_fails_on_held_out_samples_is_left_out(spoiled):
    X, y, _, _ = tailed(200)
    settings = {**SMALL, "epochs": 10, "validation_fraction": 0.2, "members": 4}
    whole = DeepEnsembleRegressor(**settings).fit(X, y)
    spoiled.append(2)
    with pytest.warns(
        RuntimeWarning,
        match=r"training failed in 1 of 4 members, which are left out: 2; the worst has a loss of "
        r"1e\+03 on held-out samples, where a constant prediction has 1\.\d+; lower the learning",
    ):
        model = DeepEnsembleRegressor(**settings).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_distribution(X).mean, whole.predict_distribution(X).mean[[0, 1, 3]]
    )


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("MAPRegressor", {}),
        ("MAPRegressor", {"head": "mean"}),
        ("QuantileNetworkRegressor", {}),
        ("MAPClassifier", {"head": "gaussian-logits"}),
    ],
)
def test_a_model_that_fails_as_a_whole_is_kept_and_said(name, settings, spoiled):
    X, y, _, _ = tailed(200)
    y = np.where(y > 0, "yes", "no") if name.endswith("Classifier") else y
    model = getattr(caveat.estimators, name)(**SMALL, **settings, validation_fraction=0.2)
    spoiled.append(0)
    with pytest.warns(RuntimeWarning, match="training failed: it ends with a loss of 1e"):
        model.fit(X, y)
    assert len(model.predict(X)) == 200


def test_the_loss_of_a_constant_is_that_of_the_network_without_inputs():
    """The least loss that a network of constants can have on many samples, for every loss."""
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=4000)
    held = np.arange(2000, 4000)
    from caveat import nn
    from caveat.estimators import QuantileNetworkRegressor

    copy = nn.Copy(rows=np.arange(2000), validation=held)
    for model in (MAPRegressor(), MAPRegressor(head="mean"), QuantileNetworkRegressor()):
        model._encode(y, None)
        codes = model._codes(y, known=False)
        found = model._constant_loss(codes, copy)
        shape = model._head()[2]
        free = torch.full(shape, 0.5).requires_grad_()
        optimizer = torch.optim.Adam([free], 0.05)
        target = torch.from_numpy(codes)
        for _ in range(150):
            optimizer.zero_grad()
            loss = model._loss()(free.expand(2000, *shape), target[:2000]).mean()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            expected = model._loss()(free.expand(2000, *shape), target[2000:]).mean()
        np.testing.assert_allclose(found, float(expected), rtol=0.03)


# The spread.


def test_the_spread_is_bounded():
    X, y, _, _ = tailed(200)
    bounded = MAPRegressor(**SMALL, max_std=0.5).fit(X, y)
    assert bounded.predict_distribution(100 * X).variance.max() < (0.502 * y.std()) ** 2
    free = MAPRegressor(**SMALL, max_std=None).fit(X, y)
    assert free.predict_distribution(X).variance.max() > (0.502 * y.std()) ** 2
    for settings, message in (
        ({"max_std": 0.0}, "max_std must be a number above 0"),
        ({"beta": 1.5}, "beta must be a number from 0 to 1"),
        ({"scheduler": "step"}, "scheduler must be one of 'constant', 'cosine', 'linear'"),
        ({"gradient_clip": 0.0}, "gradient_clip must be a number above 0"),
    ):
        with pytest.raises(OptionError, match=message):
            MAPRegressor(**SMALL, **settings).fit(X, y)


def test_the_loss_has_the_power_of_the_variance_that_was_asked_for():
    from caveat.nn import losses

    output = torch.tensor([[[0.0], [2.0]], [[1.0], [0.5]]])
    target = torch.tensor([1.0, -1.0])
    for beta, expected in ((0.0, losses.gaussian_nll), (0.7, losses.beta_nll)):
        options = {"beta": beta} if beta else {}
        found = MAPRegressor(beta=beta)._loss()(output, target)
        torch.testing.assert_close(found, expected(output, target, **options))
    X, y, _, _ = tailed(100)
    plain, weighted = (MAPRegressor(**SMALL, beta=beta).fit(X, y).predict(X) for beta in (0.0, 0.7))
    assert np.abs(plain - weighted).max() > 1e-4
