"""scikit-learn's own checks, with one candidate."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from caveat import AutoClassifier, AutoRegressor

RARE = "cross-validation needs two samples of each class, and the check has one of some"
FAIL = {
    "check_all_zero_sample_weights_error": "the message says 0, not zero",
    "check_sample_weight_equivalence_on_dense_data": "folds are of samples, whatever their weight",
    "check_regressor_multioutput": "the candidate has one target",
    "check_classifiers_one_label_sample_weights": "classes count without their weights",
}
OF_CLASSES = FAIL | dict.fromkeys(
    (
        "check_dont_overwrite_parameters",
        "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
    ),
    RARE,
)
MODELS = [kind(["linear"], folds=2, random_state=0) for kind in (AutoRegressor, AutoClassifier)]


def failures(model):
    return OF_CLASSES if isinstance(model, AutoClassifier) else FAIL


@parametrize_with_checks(MODELS, expected_failed_checks=failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
