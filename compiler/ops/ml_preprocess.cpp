// ai.onnx.ml: operators that prepare features and name results.
#include <cmath>

#include "compiler/ops/ml.h"
#include "compiler/ops/op_support.h"

namespace gcg {
namespace {

using Results = std::vector<ValueId>;

ValueId floats(Expansion& x, DType dtype, const std::vector<double>& values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, values[static_cast<size_t>(i)]);
  return x.constant(std::move(t));
}

Results expand_array_feature_extractor(Expansion& x) {
  const ValueId columns = x.cast(x.reshape(x.input(1), {-1}), DType::i64);
  return {
      x.node("Gather", {x.rank(0) == 1 ? x.unsqueeze(x.input(0), 0) : x.input(0), columns}, {{"axis", int64_t{-1}}})};
}

Results expand_binarizer(Expansion& x) {
  const ValueId above = x.node("Greater", {x.input(0), x.scalar(x.dtype(0), x.node().float_attribute("threshold", 0))});
  return {x.cast(above, x.dtype(0))};
}

Results expand_feature_vectorizer(Expansion& x) {
  const std::vector<int64_t> widths = x.node().ints_attribute("inputdimensions");
  Results parts;
  for (size_t i = 0; i < x.input_count(); ++i) {
    ValueId part =
        x.rank(i) == 2 ? x.input(i) : x.node("Flatten", {x.rank(i) == 1 ? x.unsqueeze(x.input(i), 0) : x.input(i)});
    if (i < widths.size()) part = x.slice(part, 1, 0, widths[i]);
    parts.push_back(x.cast(part, DType::f32));
  }
  return {x.concat(parts, 1)};
}

Results expand_imputer(Expansion& x) {
  const bool whole = is_int(x.dtype(0));
  std::vector<double> values = x.node().floats_attribute("imputed_value_floats");
  if (whole)
    for (const int64_t v : x.node().ints_attribute("imputed_value_int64s")) values.push_back(static_cast<double>(v));
  if (values.empty()) x.fail("it has no values to replace missing ones");
  const double replaced = whole ? static_cast<double>(x.node().int_attribute("replaced_value_int64", 0))
                                : x.node().float_attribute("replaced_value_float", 0);
  const ValueId missing = !whole && std::isnan(replaced)
                              ? x.node("IsNaN", {x.input(0)})
                              : x.node("Equal", {x.input(0), x.scalar(x.dtype(0), replaced)});
  return {x.node("Where", {missing, floats(x, x.dtype(0), values), x.input(0)})};
}

/// x / size, or x if the size is 0.
ValueId divided(Expansion& x, ValueId v, ValueId size) {
  const ValueId zero = x.scalar(DType::f32, 0);
  return x.node("Where", {x.node("Equal", {size, zero}), v, x.node("Div", {v, size})});
}

Results expand_normalizer(Expansion& x) {
  const std::string norm = x.node().string_attribute("norm", "MAX");
  const char* reduce = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : norm == "L2" ? "ReduceL2" : nullptr;
  if (!reduce) x.fail(concat("norm is '", norm, "', it must be MAX, L1 or L2"));
  const ValueId v = x.cast(x.input(0), DType::f32);
  return {divided(x, v, x.node(reduce, {v, x.ints({-1})}))};
}

Results expand_one_hot(Expansion& x) {
  const std::vector<int64_t> categories = x.node().ints_attribute("cats_int64s");
  if (x.node().has_attribute("cats_strings") || categories.empty())
    x.fail("its categories are strings, but its input has numbers");
  const ValueId value = x.unsqueeze(x.cast(x.input(0), DType::i64), -1);
  const ValueId hits = x.cast(x.node("Equal", {value, x.ints(categories)}), DType::f32);
  if (x.node().int_attribute("zeros", 1) != 0) return {hits};
  // An unknown category is an error: its index 2 lies outside the table.
  const ValueId known = x.cast(x.node("ReduceMax", {hits, x.ints({-1})}), DType::i64);
  const ValueId index = x.subtract(x.ints({2}), x.multiply(known, x.ints({2})));
  return {x.multiply(hits, x.node("Gather", {floats(x, DType::f32, {1, 1}), index}))};
}

Results expand_scaler(Expansion& x) {
  const DType dtype = feature_type(x, 0);
  ValueId v = x.cast(x.input(0), dtype);
  if (const auto offset = x.node().floats_attribute("offset"); !offset.empty())
    v = x.subtract(v, floats(x, dtype, offset));
  if (const auto scale = x.node().floats_attribute("scale"); !scale.empty()) v = x.multiply(v, floats(x, dtype, scale));
  return {x.cast(v, DType::f32)};
}

/// Passes the matrix on; the names of its columns belong to the model (see ml.h).
Results expand_zip_map(Expansion& x) { return {x.node("Identity", {x.input(0)})}; }

// ---- LabelEncoder: the value that belongs to each key

/// The keys or values of the node, from the attribute that it has for them: a tensor, floats or integers. Empty if it
/// has none.
Tensor listed(const Expansion& x, const std::string& what) {
  if (const TensorRef t = x.node().tensor_attribute(what + "_tensor")) return *t;
  if (const auto v = x.node().floats_attribute(what + "_floats"); !v.empty())
    return Tensor::from(DType::f32, {static_cast<int64_t>(v.size())}, std::vector<float>(v.begin(), v.end()));
  return Tensor::vector_i64(x.node().ints_attribute(what + "_int64s"));
}

/// The value for all other keys.
ValueId default_value(Expansion& x, DType dtype) {
  if (const TensorRef t = x.node().tensor_attribute("default_tensor")) return x.scalar(dtype, t->at_double(0));
  if (is_int(dtype)) return x.constant(Tensor::scalar_i64(x.node().int_attribute("default_int64", -1)));
  return x.scalar(dtype, x.node().float_attribute("default_float", 0));
}

Results expand_label_encoder(Expansion& x) {
  const Tensor keys = listed(x, "keys"), values = listed(x, "values");
  if (x.node().has_attribute("keys_strings")) x.fail("its keys are strings, but its input has numbers");
  if (keys.elements() == 0 || keys.elements() != values.elements())
    x.fail(concat("it has ", keys.elements(), " keys and ", values.elements(), " values"));
  if (keys.dtype() != x.dtype(0))
    x.fail(concat("its keys are ", name_of(keys.dtype()), ", the input is ", name_of(x.dtype(0))));
  const ValueId input = x.unsqueeze(x.input(0), -1), key = x.constant(keys.reshaped({keys.elements()}));
  ValueId same = x.node("Equal", {input, key});
  if (is_float(keys.dtype()))
    same = x.node("Or", {same, x.node("And", {x.node("IsNaN", {input}), x.node("IsNaN", {key})})});
  const ValueId hits = x.cast(same, DType::i32);
  const std::map<std::string, Attribute> last = {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}};
  const ValueId found =
      x.node("Gather", {x.constant(values.reshaped({values.elements()})), x.node("ArgMax", {hits}, last)});
  const ValueId any = x.cast(x.node("ReduceMax", {hits, x.ints({-1})}, {{"keepdims", int64_t{0}}}), DType::boolean);
  return {x.node("Where", {any, found, default_value(x, values.dtype())})};
}

}  // namespace

constinit const ExpandedOp op_ml_ArrayFeatureExtractor =
    ml("ArrayFeatureExtractor", 1, 2, 2, {Types::any, Types::integers}, expand_array_feature_extractor);
constinit const ExpandedOp op_ml_Binarizer = ml("Binarizer", 1, 1, 1, {Types::numbers}, expand_binarizer);
constinit const ExpandedOp op_ml_FeatureVectorizer =
    giving({Types::f32}, ml("FeatureVectorizer", 1, 1, -1, {Types::numbers}, expand_feature_vectorizer));
constinit const ExpandedOp op_ml_Imputer = ml("Imputer", 1, 1, 1, {Types::numbers}, expand_imputer);
constinit const ExpandedOp op_ml_LabelEncoder =
    giving({Types::any}, ml("LabelEncoder", 2, 1, 1, {Types::numbers}, expand_label_encoder));
constinit const ExpandedOp op_ml_Normalizer =
    giving({Types::f32}, ml("Normalizer", 1, 1, 1, {Types::numbers}, expand_normalizer));
constinit const ExpandedOp op_ml_OneHotEncoder =
    giving({Types::f32}, ml("OneHotEncoder", 1, 1, 1, {Types::numbers}, expand_one_hot));
constinit const ExpandedOp op_ml_Scaler = giving({Types::f32}, ml("Scaler", 1, 1, 1, {Types::numbers}, expand_scaler));
constinit const ExpandedOp op_ml_ZipMap = ml("ZipMap", 1, 1, 1, {Types::floats}, expand_zip_map);

}  // namespace gcg
