"""Threads share torch's generators, and their networks are as they would be alone."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from caveat.estimators import DeepEnsembleRegressor, MCDropoutRegressor  # noqa: E402
from caveat.nn import Training, losses, train  # noqa: E402
from caveat.nn.generators import GENERATORS_LOCK, Generators  # noqa: E402

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = X[:, 0] + rng.normal(size=60)


class Shaken(nn.Module):
    """Draws its noise from torch itself."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x + torch.randn(4) if self.training else x).log_softmax(-1)


def weights(state):
    return np.concatenate([value.numpy().ravel() for value in state.values()])


def ensemble(seed):
    model = DeepEnsembleRegressor(members=2, epochs=2, random_state=seed).fit(X, Y)
    return weights(model.state_)


def dropout(seed):
    model = MCDropoutRegressor(rate=0.1, epochs=2, passes=3, random_state=seed).fit(X, Y)
    return model.predict_distribution(X).mean.ravel()


def shaken(seed):
    found = train(
        Shaken, X.astype("float32"), (Y > 0).astype(int), loss=losses.nll, copies=1,
        training=Training(epochs=3, batch_size=20), random_state=seed,
    )  # fmt: skip
    return weights(found.state)


@pytest.mark.parametrize("fit", [ensemble, dropout, shaken])
def test_fits_side_by_side_are_those_alone(fit):
    seeds = [*range(12)] * 3
    alone = [fit(seed) for seed in range(12)]
    assert not np.allclose(alone[0], alone[1])
    with ThreadPoolExecutor(4) as pool:
        # Other trainings that draw from torch, beside those.
        noise = [pool.submit(shaken, seed) for seed in range(6)]
        found = list(pool.map(fit, seeds))
        assert all(each.result().size for each in noise)
    for seed, one in zip(seeds, found, strict=True):
        np.testing.assert_allclose(one, alone[seed], atol=1e-6)


def test_torchs_generator_stays_as_it_is():
    before = torch.default_generator.get_state()
    ensemble(0), dropout(0), shaken(0)
    assert torch.equal(before, torch.default_generator.get_state())


def test_draws_go_on_where_they_ended():
    generators = Generators()
    torch.manual_seed(3)
    whole = torch.rand(6)
    torch.manual_seed(3)
    states, parts = generators.states(), []
    for _ in range(3):
        with generators.on_from(states):
            parts.append(torch.rand(2))
        torch.rand(5)  # somebody else
    torch.testing.assert_close(torch.cat(parts), whole)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_process_is_not_locked_out():
    with ThreadPoolExecutor(1) as pool, GENERATORS_LOCK:

        def fork():
            child = os.fork()
            if child == 0:  # the thread that holds the lock is not in the child
                os._exit(0 if GENERATORS_LOCK.acquire(timeout=5) else 1)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        assert pool.submit(fork).result() == 0
