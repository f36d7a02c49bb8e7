// TfIdfVectorizer of integers: counts sequences of tokens ("grams"), with the same number of tokens skipped between
// neighbours. expand_tf_idf rewrites it as comparisons and sums.
#include "compiler/ops/tf_idf.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/ops/pointwise.h"

namespace gcg {
namespace {

void infer_tf_idf(InferContext& ctx) {
  const TfIdfParams params(ctx.node());
  if (ctx.rank(0) != 1 && ctx.rank(0) != 2)
    ctx.fail(concat("the input has ", ctx.rank(0), " dimensions, it must have 1 or 2"));
  Shape y = ctx.shape(0);
  y.back() = params.columns;
  ctx.set_output(0, DType::f32, std::move(y));
}

std::vector<Tensor> reference_tf_idf(ReferenceContext& ctx) {
  const TfIdfParams params(ctx.node());
  const Tensor& x = *ctx.input(0);
  const int64_t length = x.shape().back(), rows = x.shape().size() == 1 ? 1 : x.shape()[0];
  std::vector<int64_t> shape = x.shape();
  shape.back() = params.columns;
  Tensor y(DType::f32, shape);
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<double> counts(static_cast<size_t>(params.columns));
    for (const TfIdfParams::Grams& g : params.grams)
      for (int64_t skips = 0; skips <= params.skips_of(g); ++skips)
        for (int64_t start = 0; start + (g.length - 1) * (skips + 1) < length; ++start)
          for (size_t k = 0; k < g.columns.size(); ++k) {
            bool same = true;
            for (int64_t i = 0; i < g.length; ++i)
              same = same && x.at_int(row * length + start + i * (skips + 1)) ==
                                 g.tokens[k * static_cast<size_t>(g.length) + static_cast<size_t>(i)];
            counts[static_cast<size_t>(g.columns[k])] += same ? 1 : 0;
          }
    for (size_t c = 0; c < counts.size(); ++c) {
      const double value = params.counts ? counts[c] : counts[c] > 0 ? 1 : 0;
      y.set_double(row * params.columns + static_cast<int64_t>(c), params.weighs ? value * params.weights[c] : value);
    }
  }
  return {std::move(y)};
}

}  // namespace

TfIdfParams::TfIdfParams(const Node& node) : most_skips(node.int_attribute("max_skip_count", 0)), columns(0) {
  const std::string mode = node.string_attribute("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    fail_node(node, concat("attribute mode is '", mode, "', it must be 'TF', 'IDF' or 'TFIDF'"));
  if (node.has_attribute("pool_strings")) fail_node(node, "a pool of strings is not supported");
  const std::vector<int64_t> pool = node.ints_attribute("pool_int64s"), begins = node.ints_attribute("ngram_counts"),
                             indexes = node.ints_attribute("ngram_indexes");
  const int64_t least = node.int_attribute("min_gram_length", 1), most = node.int_attribute("max_gram_length", 1);
  for (int64_t i : indexes) {
    if (i < 0) fail_node(node, concat("ngram_indexes contains ", i));
    columns = std::max(columns, i + 1);
  }
  if (most_skips < 0) fail_node(node, concat("max_skip_count is ", most_skips));
  size_t gram = 0;
  for (size_t n = 0; n < begins.size(); ++n) {
    const auto length = static_cast<int64_t>(n) + 1, total = static_cast<int64_t>(pool.size());
    const int64_t begin = begins[n], end = n + 1 < begins.size() ? begins[n + 1] : total;
    if (begin < 0 || begin > end || end > total || (end - begin) % length != 0)
      fail_node(node, concat("ngram_counts: grams of ", length, " tokens cannot be elements ", begin, " to ", end,
                             " of a pool of ", total));
    Grams g{length, {pool.begin() + begin, pool.begin() + end}, {}};
    for (int64_t k = 0; k < (end - begin) / length; ++k, ++gram) {
      if (gram >= indexes.size())
        fail_node(node, concat("ngram_indexes has ", indexes.size(), " elements, too few for the pool"));
      g.columns.push_back(indexes[gram]);
    }
    if (length >= least && length <= most && !g.columns.empty()) grams.push_back(std::move(g));
  }
  weights = node.floats_attribute("weights");
  counts = mode != "IDF";
  weighs = mode != "TF" && !weights.empty();
  if (weighs && static_cast<int64_t>(weights.size()) != columns)
    fail_node(node, concat("there are ", weights.size(), " weights for ", columns, " columns"));
}

constinit const OpDef op_TfIdfVectorizer{.name = "TfIdfVectorizer",
                                         .since = 9,
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .types = {Types::integers},
                                         .results = {Types::f32},
                                         .kind = OpKind::opaque,
                                         .infer = infer_tf_idf,
                                         .reference = reference_tf_idf};

}  // namespace gcg
