"""Compares models and pipelines of scikit-learn, exported by skl2onnx, with onnxruntime. SKIP without the packages.
--time also compares times for a batch of 1 and of 1024; --least X fails if a model takes more than 1/X of onnxruntime's
time. --trees checks only the trees."""
import argparse
import os
import sys
import tempfile
import time

import numpy as np
import onnx

import model_check
from model_check import SKIP, Reference, compile_model

try:
    import sklearn
    from skl2onnx import to_onnx
except ImportError:
    print("SKIP: scikit-learn and skl2onnx are not installed (pip install scikit-learn skl2onnx)")
    sys.exit(SKIP)

from sklearn import datasets, decomposition, ensemble, feature_selection, linear_model, naive_bayes, neighbors, neural_network, \
    pipeline, preprocessing, svm, tree, cluster, impute, discriminant_analysis, gaussian_process, multioutput
from sklearn.gaussian_process import kernels

def takes_numpy_numbers(make_attribute):
    """skl2onnx passes numpy's numbers and booleans to onnx, which requires Python's types."""
    def plain(value):
        value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        return int(value) if isinstance(value, bool) else value
    return lambda key, value, *more, **named: make_attribute(
        key, [plain(v) for v in value] if isinstance(value, (list, tuple)) else plain(value), *more, **named)


onnx.helper.make_attribute = takes_numpy_numbers(onnx.helper.make_attribute)
TARGETS = "x86-64-v3,x86-64-v4"
TOLERANCE = 2e-4


def models():
    """(name, model, data, options of the export); data: iris (3 classes), cancer (2), diabetes (numbers), digits (10
    classes), clusters (3)."""
    l, e, p = linear_model, ensemble, preprocessing
    plain = {"zipmap": False}
    yield "StandardScaler", p.StandardScaler(), "iris", {}
    yield "MinMaxScaler", p.MinMaxScaler(), "iris", {}
    yield "MaxAbsScaler", p.MaxAbsScaler(), "iris", {}
    yield "RobustScaler", p.RobustScaler(), "iris", {}
    for norm in ("l1", "l2", "max"):
        yield f"Normalizer {norm}", p.Normalizer(norm), "iris", {}
    yield "Binarizer", p.Binarizer(threshold=2.5), "iris", {}
    yield "OneHotEncoder", p.OneHotEncoder(handle_unknown="ignore", sparse_output=False), "levels", {}
    yield "SimpleImputer", impute.SimpleImputer(), "holes", {}
    yield "KNNImputer", impute.KNNImputer(n_neighbors=3), "cancer holes", {}
    yield "PolynomialFeatures", p.PolynomialFeatures(2), "iris", {}
    yield "PCA", decomposition.PCA(3), "iris", {}
    yield "TruncatedSVD", decomposition.TruncatedSVD(2), "iris", {}
    yield "SelectKBest", feature_selection.SelectKBest(k=2), "iris", {}
    yield "LinearRegression", l.LinearRegression(), "diabetes", {}
    yield "Ridge", l.Ridge(), "diabetes", {}
    yield "LogisticRegression, 2 classes", l.LogisticRegression(max_iter=500), "cancer", plain
    yield "LogisticRegression, 3 classes", l.LogisticRegression(max_iter=500), "iris", plain
    yield "LinearSVC", svm.LinearSVC(max_iter=20000), "iris", {}
    yield "SGDClassifier", l.SGDClassifier(loss="log_loss", random_state=0), "iris", plain
    yield "SVC rbf, 2 classes", svm.SVC(), "cancer", plain
    yield "SVC rbf, 3 classes", svm.SVC(), "iris", plain
    yield "SVC probabilities, 2 classes", svm.SVC(probability=True, random_state=0), "cancer", plain
    yield "SVC probabilities, 3 classes", svm.SVC(probability=True, random_state=0), "iris", plain
    yield "SVC probabilities, 10 classes", svm.SVC(probability=True, random_state=0), "digits", plain
    yield "NuSVC probabilities", svm.NuSVC(probability=True, random_state=0), "iris", plain
    yield "SVC poly", svm.SVC(kernel="poly", degree=3), "iris", plain
    yield "SVC linear", svm.SVC(kernel="linear"), "iris", plain
    yield "SVC sigmoid", svm.SVC(kernel="sigmoid"), "iris", plain
    yield "SVR rbf", svm.SVR(), "diabetes", {}
    yield "NuSVR linear", svm.NuSVR(kernel="linear"), "diabetes", {}
    yield "OneClassSVM", svm.OneClassSVM(), "iris", {}
    yield "GaussianNB", naive_bayes.GaussianNB(), "iris", plain
    yield "LinearDiscriminantAnalysis", discriminant_analysis.LinearDiscriminantAnalysis(), "iris", plain
    yield "DecisionTreeClassifier", tree.DecisionTreeClassifier(random_state=0), "iris", plain
    yield "DecisionTreeRegressor", tree.DecisionTreeRegressor(random_state=0), "diabetes", {}
    yield "RandomForestClassifier, 2 classes", e.RandomForestClassifier(50, random_state=0), "cancer", plain
    yield "RandomForestClassifier, 10 classes", e.RandomForestClassifier(100, random_state=0), "digits", plain
    yield "RandomForestClassifier, ties", e.RandomForestClassifier(20, max_samples=0.3, random_state=0), "clusters", plain
    yield "RandomForestRegressor", e.RandomForestRegressor(100, max_depth=8, random_state=0), "diabetes", {}
    yield "ExtraTreesClassifier", e.ExtraTreesClassifier(50, random_state=0), "iris", plain
    yield "GradientBoostingClassifier, 2 classes", e.GradientBoostingClassifier(random_state=0), "cancer", plain
    yield "GradientBoostingClassifier, 3 classes", e.GradientBoostingClassifier(n_estimators=30, random_state=0), "iris", plain
    yield "GradientBoostingRegressor", e.GradientBoostingRegressor(random_state=0), "diabetes", {}
    yield "HistGradientBoostingClassifier", e.HistGradientBoostingClassifier(max_iter=50, random_state=0), "cancer holes", plain
    yield "HistGradientBoostingRegressor", e.HistGradientBoostingRegressor(max_iter=50, random_state=0), "diabetes holes", {}
    yield "IsolationForest", e.IsolationForest(n_estimators=20, random_state=0), "iris", {}
    yield "AdaBoostRegressor", e.AdaBoostRegressor(n_estimators=10, random_state=0), "diabetes", {}
    yield "MLPClassifier", neural_network.MLPClassifier(hidden_layer_sizes=(32, 16), max_iter=300, random_state=0), "digits", plain
    yield "MLPRegressor", neural_network.MLPRegressor(hidden_layer_sizes=(32,), max_iter=300, random_state=0), "diabetes", {}
    for kernel in (kernels.RBF(), kernels.RationalQuadratic()):
        yield f"GaussianProcessRegressor {type(kernel).__name__}", \
            gaussian_process.GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None), "iris", {}
    yield "KNeighborsClassifier", neighbors.KNeighborsClassifier(3), "iris", plain
    yield "KNeighborsRegressor", neighbors.KNeighborsRegressor(3), "diabetes", {}
    yield "KMeans", cluster.KMeans(4, n_init=1, random_state=0), "iris", {}
    yield "MultiOutputClassifier", multioutput.MultiOutputClassifier(l.LogisticRegression(max_iter=500)), "iris, two labels", plain
    named = "iris by name"  # classes are strings
    yield "names: LogisticRegression", l.LogisticRegression(max_iter=500), named, plain
    yield "names: LogisticRegression, ZipMap", l.LogisticRegression(max_iter=500), named, {}
    yield "names: RandomForestClassifier, ZipMap", e.RandomForestClassifier(10, random_state=0), named, {}
    yield "names: SVC", svm.SVC(), named, plain
    yield "names: KNeighborsClassifier, ZipMap", neighbors.KNeighborsClassifier(3), named, {}
    yield "names: MLPClassifier", neural_network.MLPClassifier(hidden_layer_sizes=(16,), max_iter=300, random_state=0), named, plain
    yield "names: GaussianNB, ZipMap", naive_bayes.GaussianNB(), named, {}
    yield "numbers: DecisionTreeClassifier, ZipMap", tree.DecisionTreeClassifier(random_state=0), "iris", {}
    yield "scaler and logistic regression", pipeline.make_pipeline(p.StandardScaler(), l.LogisticRegression()), "iris", plain
    yield "scaler, PCA and forest", pipeline.make_pipeline(p.StandardScaler(), decomposition.PCA(5), e.RandomForestClassifier(20, random_state=0)), "cancer", plain
    yield "imputer, scaler and SVC", pipeline.make_pipeline(impute.SimpleImputer(), p.MinMaxScaler(), svm.SVC()), "cancer holes", plain


def data(name):
    random = np.random.default_rng(0)
    if name == "levels":
        return random.integers(0, 4, (100, 3)).astype(np.int64), None
    if name == "clusters":
        x, y = datasets.make_classification(1024, 20, n_informative=8, n_classes=3, random_state=1)
        return x.astype(np.float32), y
    kind = name.split()[0].rstrip(",")
    x, y = {"iris": datasets.load_iris, "cancer": datasets.load_breast_cancer, "diabetes": datasets.load_diabetes,
            "digits": datasets.load_digits, "holes": datasets.load_iris}[kind](return_X_y=True)
    x = x.astype(np.float32)
    if name.endswith("two labels"):
        y = np.stack([y, x[:, 0] > 5.5], 1).astype(int)
    if name.endswith("by name"):
        y = np.array(["setosa", "versicolor", "virginica"])[y]
    if name.endswith("holes"):
        x[random.random(x.shape) < 0.1] = np.nan
    return x, y


def export(model, x, options):
    return to_onnx(model, x[:1], options={id(model): options} if options and not isinstance(model, pipeline.Pipeline)
                   else {id(model.steps[-1][1]): options} if options else None, target_opset={"": 21, "ai.onnx.ml": 3})


def batches(x):
    return [x[:1], x[:37], np.resize(x, (1024, x.shape[1]))]


def numbers(outputs):
    """Converts outputs to arrays: names become numbers in alphabetical order, sequences become separate outputs, and
    onnxruntime's list of {class: probability} becomes {class: column}."""
    plain = {}
    for name, value in outputs.items():
        if isinstance(value, list) and isinstance(value[0], np.ndarray):  # a sequence: our model has one output per element
            plain.update({f"{name}.{i}": element for i, element in enumerate(value)})
            continue
        if isinstance(value, list):
            value = {str(label): np.array([row[label] for row in value], np.float32) for label in value[0]}
        if isinstance(value, dict):
            plain.update({f"{name}.{label}": column for label, column in value.items()})
        elif value.dtype.kind in "OU":
            plain[name] = np.array([["setosa", "versicolor", "virginica"].index(label) for label in value])
        else:
            plain[name] = value
    return plain


def fastest(run, seconds=0.3):
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best


def timing(loaded, reference, name, x):
    """Measures the speed relative to onnxruntime at batches of 1 and 1024, in turns, with one thread each. Returns the smaller ratio, and both ratios as
    text."""
    least, out = float("inf"), ""
    for batch in (x[:1], np.resize(x, (1024, x.shape[1]))):
        ours = theirs = float("inf")
        loaded.set_inputs({name: batch})
        for _ in range(5):
            ours, theirs = min(ours, fastest(loaded.run_bound, 0.1)), min(theirs, fastest(lambda: reference.session.run(None, {name: batch}), 0.1))
        least = min(least, theirs / ours)
        out += f"  {theirs / ours:6.2f}x ({ours * 1e6:.0f} us)"
    return least, out


def check(name, model, kind, options, folder, timed, bar):
    """Checks one row. Returns True if it fails, and None if there is no model to check. `bar`: required speed relative
    to onnxruntime."""
    import gart
    x, y = data(kind)
    model.fit(x, y)
    try:
        proto = export(model, x, options)
    except Exception as error:  # the exporter warns often
        print(f"{name:42}  not exported by this skl2onnx: {str(error)[:100]!r}", flush=True)
        return None
    path, artifact = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.gart")
    with open(path, "wb") as f:
        f.write(proto.SerializeToString())
    reference, note, slow = Reference(path), "", False
    try:
        compile_model(path, artifact, "--target", TARGETS, "--threads", "1")
        worst = 0.0
        for target in model_check.targets_here(artifact):
            loaded, feed = gart.load(artifact, threads=1, target=target), proto.graph.input[0].name
            for batch in batches(x):
                ours, theirs = numbers(loaded.run({feed: batch})), numbers(reference.run({feed: batch}))
                if name == "OneClassSVM":  # support vectors lie on the border: their labels are the sign of rounding errors
                    del ours["label"], theirs["label"]
                worst = max(worst, model_check.relative_error(ours, theirs))
            if timed and target == gart.load(artifact, threads=1).target:  # the target that this machine would choose
                least, times = timing(loaded, reference, feed, x)
                slow, note = least < bar, f"{target}:{times}"
    except RuntimeError as error:
        worst, note = float("inf"), str(error).replace("\n", " ")
    failed = slow or not worst <= TOLERANCE
    print(f"{name:42} {worst:9.1e}{'  FAIL' if failed else ''} {note}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--least", type=float, default=0.0, metavar="X")
    parser.add_argument("--trees", action="store_true")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    names = a.names + (["Tree", "Forest", "Boosting"] if a.trees else [])
    chosen = [m for m in models() if not names or any(n in m[0] for n in names)]
    with tempfile.TemporaryDirectory(prefix="gcc-graph-sklearn-") as folder:
        results = [check(*m, folder, a.time or a.least > 0, a.least) for m in chosen]
    print(f"{results.count(False)} passed, {results.count(True)} failed; {results.count(None)} were not exported")
    return 1 if True in results or False not in results else 0


if __name__ == "__main__":
    import warnings
    warnings.filterwarnings("ignore")
    sys.exit(main())
