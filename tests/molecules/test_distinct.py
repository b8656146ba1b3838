"""Rows that are alike are computed once, and nothing else changes."""

import numpy as np
import pytest

pytest.importorskip("chemprop")
torch = pytest.importorskip("torch")

from caveat.molecules import MessagePassing, featurize  # noqa: E402
from caveat.molecules.distinct import mixed, row_keys  # noqa: E402
from caveat.nn import keyed, make_keys  # noqa: E402

SMILES = [
    "CCO", "c1ccccc1C(=O)O", "C", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "CC(C)(C)C1CC1",
    "CCCCCCCCCCO", "CCCCCCCCCO", "c1ccc2ccccc2c1", "OC(F)(F)C#N", "N#Cc1ccccc1", "CC", "O", "CCO",
]  # fmt: skip


def outputs(network, batch, alike, key=None):
    """Return outputs and gradients of the weights, with so many steps alike."""
    network.alike = alike
    network.zero_grad()
    if key is None:
        made = network.eval()(batch)
    else:
        with keyed(key):
            made = network.train()(batch)
    made.square().sum().backward()
    return made.detach(), {name: p.grad for name, p in network.named_parameters()}


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
@pytest.mark.parametrize("stochastic", [None, "dropout"])
def test_outputs_and_gradients_are_those_of_every_row(depth, stochastic):
    torch.manual_seed(depth)
    network = MessagePassing(72, 14, 2, hidden=16, depth=depth, stochastic=stochastic, rate=0.3)
    alike, batch = network.alike, featurize(SMILES).batch()
    key = None if stochastic is None else make_keys([7])[0]
    whole, expected = outputs(network, batch, 0, key)
    made, gradients = outputs(network, batch, alike, key)
    torch.testing.assert_close(made, whole, atol=1e-5, rtol=1e-5)
    for name, gradient in expected.items():
        if gradient is not None:  # at depth 1 no message is passed
            torch.testing.assert_close(gradients[name], gradient, atol=1e-4, rtol=1e-4)


def sizes(smiles, depth):
    rows = featurize(smiles).batch().distinct(depth, depth + 1)
    joined = [len(step.joined.offsets) - 1 for step in rows.steps]
    return len(rows.edges), joined, len(rows.atoms)


def test_bonds_are_alike_while_what_they_hear_is():
    assert sizes(["c1ccccc1"], 4) == (1, [1, 1, 1], 1)
    assert sizes(["CC", "CC"], 3) == (1, [1, 1], 1)
    # Propane: bonds that begin at an end and at the middle; ends and middle.
    assert sizes(["CCC"], 3) == (2, [2, 2], 2)
    # Pentane, one half: 1>2, 2>1, 2>3, 3>2. Features tell where a bond begins, at an end or not; 2>3
    # hears an end, the others none; 3>2 hears 4>3, which heard one, and 2>1 hears 3>2, which did not.
    assert sizes(["CCCCC"], 3) == (2, [3, 4], 3)
    assert sizes(["C"], 3) == (0, [0, 0], 1)


def environments(batch, depth):
    """Return for each directed bond what it knows after so many steps, written out."""
    lists = [part.tolist() for part in batch.messages[:2]]
    heard = [lists[0][low:high] for low, high in zip(lists[1], lists[1][1:], strict=False)]
    own = [tuple(row) for row in batch.edges.tolist()]
    known = own
    for _ in range(1, depth):
        known = [(own[e], tuple(sorted(known[i] for i in heard[e]))) for e in range(len(own))]
    return known


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_as_many_rows_as_there_are_different_surroundings(depth):
    batch = featurize(SMILES).batch()
    rows = batch.distinct(depth + 1, depth + 2)
    assert len(rows.edges) == len(set(environments(batch, 1)))
    counts = [len(step.joined.offsets) - 1 for step in rows.steps]
    assert counts == [len(set(environments(batch, t))) for t in range(2, depth + 2)]
    assert len(rows.edges) < len(batch.edges) / 2


def test_rows_are_found_once_for_a_batch():
    batch = featurize(SMILES).batch()
    assert batch.distinct(3, 4) is batch.distinct(3, 4)
    assert batch.distinct(3, 4) is not batch.distinct(4, 5)


def test_hashes_are_those_of_splitmix64():
    # The first numbers of the published generator for this seed.
    golden = 0x9E3779B97F4A7C15
    seeds = [(1234567 + step * golden) % 2**64 for step in range(5)]
    signed = np.array(seeds, dtype=np.uint64).view(np.int64)
    made = mixed(torch.from_numpy(signed)).numpy().view(np.uint64)
    assert made.tolist() == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
        16408922859458223821,
    ]  # fmt: skip


@pytest.mark.parametrize("columns", [1, 5, 14])
def test_rows_have_equal_hashes_if_and_only_if_they_are_equal(columns):
    rng = np.random.default_rng(columns)
    rows = (rng.random((20_000, columns)) < 0.5).astype(np.float32)
    rows[:, -1] = rng.integers(0, 40, len(rows)) / 7
    different = len(np.unique(rows, axis=0))
    keys = row_keys(rows)
    assert len(np.unique(keys)) == different
    assert len(np.unique(np.column_stack([rows, keys.astype(np.float64)]), axis=0)) == different
