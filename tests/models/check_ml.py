"""Compares operators of ai.onnx.ml with onnxruntime, in forms that exporters of the current scikit-learn do not write
(check_sklearn.py tests those). Arguments: names of operators, to check only these."""
import sys

import numpy as np

import operator_check
from operator_check import Case

random = np.random.default_rng(2)


def f(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


class Ml(Case):
    def __init__(self, what, op, inputs, **more):
        super().__init__(what, op, inputs, domain="ai.onnx.ml", version=3, **{"tolerance": 2e-6, **more})


def preprocessing():
    x, whole = ("x", f(5, 4), ["n", 4]), ("x", random.integers(-3, 4, (5, 4)), ["n", 4])
    yield Ml("columns", "ArrayFeatureExtractor", [x, ("at", np.array([[2, 0, 0]]))])
    yield Ml("of a vector", "ArrayFeatureExtractor", [("x", f(6)), ("at", np.array([5]))])
    yield Ml("", "Binarizer", [x], threshold=0.25)
    yield Ml("integers", "FeatureVectorizer", [whole, ("z", random.integers(0, 9, (5, 2)), ["n", 2])], inputdimensions=[4, 2])
    holes = f(5, 4)
    holes[random.random((5, 4)) < 0.3] = np.nan
    yield Ml("NaN", "Imputer", [("x", holes, ["n", 4])], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    yield Ml("integers", "Imputer", [whole], imputed_value_int64s=[9], replaced_value_int64=0)
    for norm in ("MAX", "L1", "L2"):
        yield Ml(norm, "Normalizer", [("x", np.vstack([np.abs(f(4, 4)), np.zeros((1, 4), np.float32)]), ["n", 4])], norm=norm)
    yield Ml("", "Scaler", [x], offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5, 2.0, -1.0, 3.0])
    yield Ml("one for all", "Scaler", [x], offset=[1.0], scale=[0.5])
    yield Ml("integers", "OneHotEncoder", [("x", random.integers(0, 5, (5,)), ["n"])], cats_int64s=[0, 2, 4])
    yield Ml("to floats", "LabelEncoder", [whole], keys_int64s=[-1, 0, 3], values_floats=[0.5, 1.5, 2.5], default_float=-7.0)


def linear():
    x, doubles, whole = ("x", f(6, 4), ["n", 4]), ("x", f(6, 4).astype(np.float64), ["n", 4]), ("x", random.integers(-3, 4, (6, 4)), ["n", 4])
    coefficients = [float(v) for v in f(12)]
    yield Ml("three targets", "LinearRegressor", [x], coefficients=coefficients, intercepts=[0.5, 1.0, -1.0], targets=3)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        for name, values in (("f32", x), ("f64", doubles), ("i64", whole)):
            yield Ml(f"3 classes, {transform}, {name}", "LinearClassifier", [values], outputs=2, coefficients=coefficients,
                     intercepts=[0.5, 0.0, -1.0], classlabels_ints=[4, 7, 9], post_transform=transform)
    for transform in ("NONE", "LOGISTIC"):
        yield Ml(f"one score of 2 classes, {transform}", "LinearClassifier", [x], outputs=2, coefficients=coefficients[:4],
                 intercepts=[0.25], classlabels_ints=[3, 5], post_transform=transform)


def machines():
    x, vectors = ("x", f(6, 3), ["n", 3]), [float(v) for v in f(15)]
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        common = dict(kernel_type=kind, kernel_params=[0.3, 0.5, 3.0], support_vectors=vectors, tolerance=2e-5)
        yield Ml(kind, "SVMRegressor", [x], coefficients=[0.5, -1.0, 0.25, 2.0, -0.5], n_supports=5, rho=[0.1], **common)
        yield Ml(f"{kind}, 3 classes", "SVMClassifier", [x], outputs=2, coefficients=[float(v) for v in f(10)], vectors_per_class=[2, 2, 1],
                 rho=[0.1, -0.2, 0.3], classlabels_ints=[0, 1, 2], **common)
        yield Ml(f"{kind}, probabilities of 3 classes", "SVMClassifier", [x], outputs=2, coefficients=[float(v) for v in f(10)],
                 vectors_per_class=[2, 2, 1], rho=[0.1, -0.2, 0.3], classlabels_ints=[0, 1, 2], prob_a=[-1.5, -0.7, -2.0],
                 prob_b=[0.1, 0.0, -0.2], **common)
        yield Ml(f"{kind}, probabilities of 2 classes", "SVMClassifier", [x], outputs=2, coefficients=[float(v) for v in f(5)],
                 vectors_per_class=[2, 3], rho=[0.1], classlabels_ints=[0, 1], prob_a=[-1.5], prob_b=[0.1], **common)
    yield Ml("no support vectors", "SVMRegressor", [x], coefficients=[0.5, -1.0, 0.25], rho=[0.1], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0])


def trees(votes, targets, positive=False, modes=("BRANCH_LEQ",), many=4, one_target=None, whole=False):
    """Attributes of `many` trees of up to 15 nodes; `votes`: "class" or "target". `whole`: each leaf votes for one
    target and all votes have the same weight, as in a fully grown forest."""
    a = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    v = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(many):
        inner = {0} | {n for n in range(1, 7) if (n - 1) // 2 in (0, 1, 2) and random.random() < 0.7}
        inner = {n for n in inner if n == 0 or (n - 1) // 2 in inner}
        for n in sorted(inner | {2 * i + k for i in inner for k in (1, 2)}):
            leaf = n not in inner
            row = dict(treeids=tree, nodeids=n, featureids=int(random.integers(3)), values=float(np.round(random.standard_normal(), 1)),
                       modes="LEAF" if leaf else str(random.choice(modes)), truenodeids=0 if leaf else 2 * n + 1,
                       falsenodeids=0 if leaf else 2 * n + 2, missing_value_tracks_true=int(random.integers(2)))
            for k in a:
                a[k].append(row[k])
            chosen = [int(random.integers(targets))] if whole else range(targets) if one_target is None else [one_target]
            for target in chosen if leaf else []:
                weight = 1 / many if whole else float(random.random() / many) if positive else float(random.standard_normal())
                for k, value in dict(treeids=tree, nodeids=n, ids=target, weights=weight).items():
                    v[k].append(value)
    return {**{f"nodes_{k}": x for k, x in a.items()}, **{f"{votes}_{k}": x for k, x in v.items()}}


def ensembles():
    values = np.round(f(40, 3), 1)
    values[random.random(values.shape) < 0.1] = np.nan
    x, doubles = ("x", values, ["n", 3]), ("x", values.astype(np.float64), ["n", 3])
    every = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    for mode in every:
        yield Ml(mode, "TreeEnsembleRegressor", [x], n_targets=1, **trees("target", 1, modes=(mode,)))
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield Ml(f"two targets, {aggregate}", "TreeEnsembleRegressor", [x], n_targets=2, aggregate_function=aggregate, **trees("target", 2))
    yield Ml("base values", "TreeEnsembleRegressor", [x], n_targets=2, base_values=[0.5, -2.0], **trees("target", 2))
    yield Ml("doubles", "TreeEnsembleRegressor", [doubles], n_targets=1, **trees("target", 1))
    again = trees("target", 3)  # onnxruntime takes the first of a leaf's weights for its only target
    yield Ml("several weights for one target", "TreeEnsembleRegressor", [x], n_targets=1, **{**again, "target_ids": [0] * len(again["target_ids"])})
    yield Ml("all comparisons", "TreeEnsembleRegressor", [x], n_targets=1, **trees("target", 1, modes=every, many=9))
    for transform in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield Ml(f"3 classes, {transform}", "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[4, 7, 9], post_transform=transform,
                 **trees("class", 3))
        for positive in (True, False):
            yield Ml(f"one vote for 2 classes, {transform}, {'positive' if positive else 'mixed'}", "TreeEnsembleClassifier", [x], outputs=2,
                     classlabels_int64s=[3, 5], post_transform=transform, **trees("class", 2, positive=positive, one_target=0))
    few = ("x", np.round(f(400, 3), 1), ["n", 3])
    yield Ml("as many votes for two of 3 classes", "TreeEnsembleClassifier", [few], outputs=2, classlabels_int64s=[0, 1, 2],
             **trees("class", 3, many=50, whole=True))
    yield Ml("one vote for 2 classes, base value", "TreeEnsembleClassifier", [x], outputs=2, classlabels_int64s=[0, 1], base_values=[0.3],
             post_transform="LOGISTIC", **trees("class", 2, one_target=0))


def main():
    groups = (preprocessing, linear, machines, ensembles)
    return operator_check.run([case for group in groups for case in group()], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
