"""What "Measuring orthogonality as the blind-spot of uncertainty disentanglement" prints."""

from collections.abc import Mapping

METHODS = {
    "mc-dropout": "MC-Dropout",
    "dropconnect": "MC-DropConnect",
    "flipout": "Flipout",
    "deep-ensemble": "Deep Ensembles",
}
"""Our names of the methods, and what the paper calls them."""

SPLITS = {"gaussian_logits": "GL", "information": "IT"}
"""The two splits of tables 2, 4, 5 and 6."""

_ORDER = tuple(METHODS)


def _by_method(**columns: str) -> dict[tuple[str, str, str], str]:
    """Return numbers by data set, split and method; each text has GL's methods and then IT's."""
    found = {}
    for dataset, text in columns.items():
        keys = [(split, method) for split in SPLITS for method in _ORDER]
        for (split, method), number in zip(keys, text.split(), strict=True):
            found[dataset.replace("_", "-"), split, method] = number
    return found


ERRORS = _by_method(
    cifar10="0.661 0.481 0.418 0.659 0.295 0.331 0.312 0.415",
    fashion_mnist="0.673 0.399 0.480 0.439 0.294 0.320 0.354 0.334",
    wine="0.778 0.737 0.490 0.524 0.645 0.373 0.337 0.454",
)
"""Table 2: the error, a mean over five runs."""

SPREADS = _by_method(
    cifar10=".044 .006 .014 .055 .014 .033 .006 .025",
    fashion_mnist=".034 .022 .004 .013 .032 .035 .006 .015",
    wine=".031 .080 .094 .054 .041 .070 .045 .021",
)
"""Table 2: what stands behind the plus-minus."""

CORRELATIONS: Mapping[str, dict[tuple[str, str, str], str]] = {
    "aleatoric_orthogonality": _by_method(
        cifar10="-0.852 -0.695 0.453 -0.900 -0.876 -0.728 0.130 -0.902",
        fashion_mnist="-0.791 0.225 -0.919 -0.669 -0.729 0.416 -0.949 -0.763",
        wine="-0.889 -0.178 -0.524 -0.426 -0.875 -0.598 0.122 -0.842",
    ),
    "epistemic_consistency": _by_method(
        cifar10="0.13 0.778 0.848 0.106 0.994 0.917 0.899 0.958",
        fashion_mnist="-0.106 0.765 0.976 0.967 0.997 0.939 0.990 0.996",
        wine="-0.746 0.024 0.998 0.691 0.728 0.677 0.995 0.928",
    ),
    "aleatoric_consistency": _by_method(
        cifar10="0.962 0.996 0.751 0.974 0.933 0.981 0.585 0.927",
        fashion_mnist="0.990 0.997 0.958 0.982 0.963 0.995 0.932 0.991",
        wine="0.953 0.961 0.983 0.968 0.943 0.945 0.984 0.960",
    ),
    "epistemic_orthogonality": _by_method(
        cifar10="0.975 0.996 0.725 0.996 0.266 0.486 0.484 0.312",
        fashion_mnist="0.991 0.997 0.931 0.994 0.258 0.649 -0.604 0.561",
        wine="0.965 0.976 0.988 0.972 -0.873 0.614 0.916 0.700",
    ),
}
"""Tables 5 (sizes) and 6 (noise): correlations of the mean curves, by the term they belong to."""

CORRELATION_TABLES = {
    "aleatoric_orthogonality": "table 5",
    "epistemic_consistency": "table 5",
    "aleatoric_consistency": "table 6",
    "epistemic_orthogonality": "table 6",
}

DETECTION: Mapping[str, dict[tuple[str, str, str], str]] = {
    "aleatoric": _by_method(
        cifar10="0.644 0.650 0.626 0.679 0.651 0.657 0.625 0.689",
        fashion_mnist="0.753 0.748 0.649 0.768 0.761 0.766 0.661 0.780",
        wine="0.971 0.959 0.981 0.985 0.943 0.954 0.982 0.981",
    ),
    "epistemic": _by_method(
        cifar10="0.642 0.657 0.629 0.709 0.649 0.658 0.579 0.701",
        fashion_mnist="0.769 0.780 0.673 0.811 0.764 0.746 0.579 0.787",
        wine="0.961 0.957 0.981 0.984 0.670 0.883 0.974 0.952",
    ),
}
"""Table 4: ROC AUC of finding a class that was left out."""

AS_PRINTED = "pairwise_kl, u_a of bias_variance"
"""The split of table 3's column KL: it has the aleatoric terms of the column B-V."""

IMAGENET: Mapping[str, dict[str, str]] = {
    AS_PRINTED: {
        "aleatoric_consistency": "0.013",
        "epistemic_consistency": "0.027",
        "aleatoric_orthogonality": "0.953",
        "epistemic_orthogonality": "0.687",
        "error": "0.419",
    },
    "bias_variance": {
        "aleatoric_consistency": "0.013",
        "epistemic_consistency": "0.025",
        "aleatoric_orthogonality": "0.953",
        "epistemic_orthogonality": "0.635",
        "error": "0.407",
    },
    "information": {
        "aleatoric_consistency": "0.001",
        "epistemic_consistency": "0.026",
        "aleatoric_orthogonality": "0.947",
        "epistemic_orthogonality": "0.015",
        "error": "0.248",
    },
}
"""Table 3: terms and error of a deep ensemble on ImageNet-1k, one run."""

EVERYWHERE = (
    "Labels are permuted in training and test samples, as the authors' program does; the text "
    "speaks of training labels alone.",
    "Table 2 averages the errors of runs; tables 5 and 6 are correlations of curves that were "
    "averaged first.",
    "The authors' package counts the first term twice and leaves the second out; the printed "
    "tables do not.",
    "Epochs are divided by the share of the samples (section 4.1); appendix H.1 speaks of a "
    "constant number of batches, which is another thing for small sets.",
    "The text calls deep ensembles the best; by the averages of table 2 Flipout is.",
)

NOTES: Mapping[str, tuple[str, ...]] = {
    "wine": (
        "A fifth is for testing. Features are scaled by the mean and spread of all training "
        "samples, once, as the paper seems to have done; a network that scales by the few samples "
        "of a subset gives other numbers.",
        "One per cent of 142 samples is one; three are taken, one for each grower.",
    ),
    "two-moons": ("The paper prints no number for Two Moons; its figures 5 and 11 are drawn.",),
    "triangle": (
        "The paper gives no formula of its triangle; this one is ours. Figure 10 is drawn.",
    ),
    "fashion-mnist": ("Images are as they are, from 0 to 1.",),
    "cifar10": ("Images are as they are, from 0 to 1.",),
}

DETECTION_NOTE = (
    "Table 4: areas of left-out classes are averaged, not their curves. With 'scaled within' the "
    "features are scaled by the classes that are learned from; with 'scaled by all' by all "
    "classes, the left-out one too, which then lies nearer to the others."
)
KL_NOTE = (
    "Table 3 is of ImageNet-1k, so that it is no number to compare ours with. Its column KL has "
    "the aleatoric terms of the column B-V, so it took the impurity of the mean for u_a; the line "
    f"'{AS_PRINTED}' does the same, 'pairwise_kl' has the mean entropy."
)
