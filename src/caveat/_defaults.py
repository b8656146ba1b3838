"""The defaults that networks and their trainings share at every door.

`caveat.nn.Training`, the networks of `caveat.nn`, `caveat.nn.predict` and the estimators take them
from here.
"""

HIDDEN = (50, 50)
"""Widths of the hidden layers of a dense network."""

ACTIVATION = "relu"

EPOCHS = 100
BATCH_SIZE = 64
OPTIMIZER = "adam"
LEARNING_RATE = 0.005

SCHEDULER = "constant"
"""How the learning rate of an estimator changes."""

HELD_SHARE = 0.1
"""Share of the samples that is held out to choose the epoch, where there are enough."""

HELD_LEAST = 10_000
"""Samples from which on some are held out for numbers."""

HELD_LEAST_CLASSES = 1_000
"""The same for classes: networks become sure of what they have learned by heart."""

HELD_RAREST = 20
"""Samples of the rarest class from which on some are held out."""

MAX_STD = 10.0
"""Largest standard deviation that is predicted, in those of the targets."""

RATE = 0.1
"""Probability of dropping a unit or a weight; where it is learned, its start."""

CONNECTION_RATE = 0.05
"""DropConnect: the same of a weight; one mask for a whole batch is the noisier of the two."""

RATES = (0.2, 0.1, 0.05, 0.02, 0.01)
"""Rates to choose among, where the rate of units is left to the data."""

CONNECTION_RATES = (0.1, 0.05, 0.02, 0.01, 0.005)
"""The same of weights."""

RANDOM_STEPS = 4000
"""Steps that networks with random passes take at least, where the epochs are left to the data."""

BETA = 0.5
"""Power of the variance by which a likelihood is weighted, where that is left to the data."""

ANCHORED_STEPS = 1000
"""The same of anchored ensembles."""

LIKELIHOOD_WEIGHTS = (1.0, 3.0, 10.0)
"""Weights of the likelihood to choose among, where networks with Gaussian weights leave it open."""

RANDOM_SCHEDULER = "cosine"
"""The same of networks that predict by random passes: the noise of their gradients asks for it."""

ANCHORED_SCHEDULER = "cosine"
"""The same of anchored ensembles for numbers: without noise a constant rate trains in jumps."""

LENGTH_SCALE = 1.0
"""Concrete dropout: one over the standard deviation of the weights' prior."""

WHERE = "all"
"""Which layers are random."""

PASSES = 50
"""Monte-Carlo passes of a prediction."""

MEMBERS = 10
"""Networks of an ensemble."""
