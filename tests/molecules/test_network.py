"""The network: chemprop's outputs and gradients for chemprop's weights, alone and stacked."""

import pytest

chemprop = pytest.importorskip("chemprop")
torch = pytest.importorskip("torch")

from chemprop.data.collate import BatchMolGraph  # noqa: E402
from chemprop.featurizers import SimpleMoleculeMolGraphFeaturizer  # noqa: E402
from chemprop.models import MPNN  # noqa: E402
from chemprop.nn import (  # noqa: E402
    BondMessagePassing,
    MeanAggregation,
    NormAggregation,
    RegressionFFN,
    SumAggregation,
)
from rdkit import Chem  # noqa: E402
from torch.func import functional_call, stack_module_state  # noqa: E402

from caveat.exceptions import OptionError  # noqa: E402
from caveat.molecules import MessagePassing, featurize  # noqa: E402

SMILES = ["CCO", "c1ccccc1C(=O)O", "C", "[Na+].[Cl-]", "C[C@H](N)C(=O)O", "CC(C)(C)C1CC1"]
AGGREGATIONS = {"mean": MeanAggregation, "sum": SumAggregation, "norm": NormAggregation}
NAMES = {
    "message_passing.W_i.weight": "edge_input.weight",
    "message_passing.W_h.weight": "edge_update.weight",
    "message_passing.W_o.weight": "atom_output.weight",
    "message_passing.W_o.bias": "atom_output.bias",
    "predictor.ffn.0.0.weight": "dense.0.weight",
    "predictor.ffn.0.0.bias": "dense.0.bias",
    "predictor.ffn.1.2.weight": "dense.1.weight",
    "predictor.ffn.1.2.bias": "dense.1.bias",
    "predictor.ffn.2.2.weight": "last.weight",
    "predictor.ffn.2.2.bias": "last.bias",
}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("depth", [1, 4])
def test_outputs_and_gradients_are_those_of_chemprop(aggregation, depth):
    torch.manual_seed(0)
    theirs = MPNN(
        BondMessagePassing(d_h=20, depth=depth),
        AGGREGATIONS[aggregation](),
        RegressionFFN(n_tasks=3, input_dim=20, hidden_dim=20, n_layers=2),
    )
    ours = MessagePassing(72, 14, 3, hidden=20, depth=depth, dense=2, aggregation=aggregation)
    weights = theirs.state_dict()
    ours.load_state_dict({own: weights[name] for name, own in NAMES.items()})
    make = SimpleMoleculeMolGraphFeaturizer()
    expected = theirs.eval()(BatchMolGraph([make(Chem.MolFromSmiles(text)) for text in SMILES]))
    made = ours(featurize(SMILES).batch())
    torch.testing.assert_close(made, expected, atol=1e-5, rtol=1e-5)
    target = torch.arange(18.0).view(6, 3)
    (expected - target).square().mean().backward()
    (made - target).square().mean().backward()
    gradients = dict(ours.named_parameters())
    for name, value in theirs.named_parameters():
        if value.grad is not None:  # at depth 1 no message is passed
            torch.testing.assert_close(
                gradients[NAMES[name]].grad, value.grad, atol=1e-5, rtol=1e-4
            )


def test_copies_at_once_are_those_one_by_one():
    torch.manual_seed(0)
    copies = [MessagePassing(72, 14, 2, hidden=8, head="mean-std") for _ in range(3)]
    batch = featurize(SMILES).batch()
    weights, buffers = stack_module_state(copies)

    def one(weights, buffers):
        return functional_call(copies[0], (weights, buffers), (batch,))

    together = torch.vmap(one)(weights, buffers)
    assert together.shape == (3, 6, 2, 2)
    together.square().sum().backward()
    for k, network in enumerate(copies):
        alone = network(batch)
        torch.testing.assert_close(together[k], alone, atol=1e-6, rtol=1e-5)
        alone.square().sum().backward()
        for name, value in network.named_parameters():
            torch.testing.assert_close(weights[name].grad[k], value.grad, atol=1e-5, rtol=1e-4)


def test_a_molecule_does_not_depend_on_its_neighbors():
    torch.manual_seed(1)
    network = MessagePassing(72, 14, 1, hidden=8)
    graphs = featurize(SMILES)
    together = network(graphs.batch())
    alone = torch.cat([network(graphs[[row]].batch()) for row in range(len(graphs))])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("stochastic", [None, "dropout", "concrete"])
def test_molecules_without_bonds_may_make_a_batch(stochastic):
    torch.manual_seed(1)
    copies = [MessagePassing(72, 14, 1, hidden=8, stochastic=stochastic) for _ in range(3)]
    copies = [network.eval() for network in copies]
    weights, buffers = stack_module_state(copies)
    graphs = featurize(["[Na+].[Cl-]", "C", "CCO"])

    def of(graphs):
        batch = graphs.batch()
        call = torch.vmap(lambda w, b: functional_call(copies[0], (w, b), (batch,)))
        return call(weights, buffers)

    made = of(graphs[:2])
    torch.testing.assert_close(made, of(graphs)[:, :2], atol=1e-6, rtol=1e-5)
    made.square().sum().backward()
    assert not weights["edge_input.weight"].grad.any()
    assert weights["atom_output.weight"].grad.any()


@pytest.mark.parametrize("stochastic", ["dropout", "concrete"])
def test_random_layers_are_random_in_training_alone(stochastic):
    from caveat.nn import keyed, make_keys
    from caveat.nn.layers import stochastic_layers

    torch.manual_seed(0)
    network = MessagePassing(72, 14, 1, hidden=16, stochastic=stochastic, rate=0.4)
    assert len(list(stochastic_layers(network))) == (3 if stochastic == "dropout" else 5)
    batch = featurize(SMILES).batch()
    network.train()
    drawn = []
    for seed in (0, 1, 0):
        with keyed(make_keys([seed])[0]):
            drawn.append(network(batch))
    assert not torch.equal(drawn[0], drawn[1])
    torch.testing.assert_close(drawn[0], drawn[2])


@pytest.mark.parametrize(
    "options", [{"aggregation": "max"}, {"stochastic": "bayes"}, {"head": "x"}, {"depth": 0}]
)
def test_bad_options(options):
    with pytest.raises(OptionError):
        MessagePassing(72, 14, 1, **options)
