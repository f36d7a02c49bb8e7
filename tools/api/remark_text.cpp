#include "tools/api/remark_text.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/kernel/device_traits.h"
#include "compiler/kernel/library_call.h"
#include "compiler/kernel/target.h"
#include "compiler/support/error.h"

namespace gcc_graph::detail {
namespace {

using gcg::concat;
using Sentences = std::vector<std::string>;

std::string megabytes(int64_t bytes) { return concat(bytes / 1000000, ".", bytes / 100000 % 10, " MB"); }

std::string text_of(const std::map<std::string, int64_t>& fixed) {
  std::string text;
  for (const auto& [symbol, value] : fixed) text += concat(text.empty() ? "" : ",", symbol, "=", value);
  return text;
}

/// "'a', 'b', 'c', 'd' and 3 more"
std::string list_of(const std::vector<std::string>& nodes) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(nodes.size(), kMost); ++i) text += concat(i == 0 ? "'" : ", '", nodes[i], "'");
  return nodes.size() > kMost ? concat(text, " and ", nodes.size() - kMost, " more") : text;
}

const char* plural(gcg::LibraryOperation operation) {
  switch (operation) {
    case gcg::LibraryOperation::matmul:
      return "matrix products";
    case gcg::LibraryOperation::convolution:
      return "convolutions";
    case gcg::LibraryOperation::attention:
      return "attention";
  }
  return "";
}

Sentences say(gcg::UnusedOption option) {
  return {concat(option == gcg::UnusedOption::tf32 ? "--precision tf32" : "--libraries",
                 " has no effect: no GPU is among the targets")};
}

Sentences say(const gcg::UnmatchedRequest& idle) {
  return {concat(idle.option, " '", idle.request, "' has no effect: ", idle.reason)};
}

Sentences say(const gcg::UnmatchedName& idle) {
  return {concat(idle.what, " has no effect: there is no such ", idle.of, idle.nearest)};
}

Sentences say(const gcg::OmittedTraining& training) {
  return {concat("the model's training_info (", training.graphs, training.graphs == 1 ? " entry" : " entries",
                 ") is left out: only its graph is compiled")};
}

Sentences say(const gcg::TrainedParameters& p) {
  Sentences all = {concat("training updates ", p.trained, p.trained == 1 ? " parameter (" : " parameters (", p.elements,
                          " elements)", p.statistics > 0 ? concat(" and ", p.statistics, " running statistics") : "",
                          "; ", p.frozen, p.frozen == 1 ? " is frozen" : " are frozen")};
  if (!p.unreached.empty())
    all.push_back(concat("the loss does not depend on ", p.unreached.size(),
                         p.unreached.size() == 1 ? " parameter: " : " parameters: ", list_of(p.unreached)));
  if (!p.dropouts.empty())
    all.push_back(concat("training drops elements at random in ", p.dropouts.size(),
                         p.dropouts.size() == 1 ? " Dropout node: " : " Dropout nodes: ", list_of(p.dropouts),
                         " (dropout=off keeps them)"));
  return all;
}

Sentences say(const gcg::Recomputation& r) {
  const double percent = r.microseconds > 0 ? 100 * r.added / r.microseconds : 0;
  return {concat("'", r.entry, "' computes values again to stay within the memory limit: it repeats ", r.repeated,
                 " of ", r.steps, " steps, the arena shrinks from ", r.bytes_before, " to ", r.bytes_after,
                 " bytes, and a run takes ", std::round(10 * percent) / 10, "% longer (predicted)")};
}

Sentences say(const gcg::EqualExtents& equal) {
  constexpr size_t kMost = 4;
  Sentences all;
  for (size_t i = 0; i < std::min(equal.pairs.size(), kMost); ++i)
    all.push_back(concat(equal.pairs[i].reason, ": the extents ", equal.pairs[i].a, " and ", equal.pairs[i].b,
                         " are assumed to be equal: a run fails if only one of them is 1"));
  if (equal.pairs.size() > kMost)
    all.push_back(concat(equal.pairs.size() - kMost, " more pairs of extents are assumed to be equal"));
  return all;
}

Sentences say(const gcg::WholeCaches& caches) {
  const size_t others = caches.nodes.size() - 1;
  const std::string who = concat("'", caches.nodes[0], "'"),
                    reads = others == 0 ? who + " reads" : concat(who, " and ", others, " more nodes read");
  return {concat(reads, " only the last ", caches.window, " tokens, but ", others == 0 ? "its" : "their",
                 " caches keep all tokens, so that a session can go back (shorten, --lookup); --cache-window ",
                 caches.window, " keeps only these tokens")};
}

Sentences say(const gcg::NarrowedWeights& weights) {
  if (weights.before == 0)
    return {"--precision has no effect: no weights of contractions keep their accuracy in 16 bits"};
  return {concat("weights of ", megabytes(weights.before), " are stored as ", weights.type, " in ",
                 megabytes(weights.after), " and widened where they are multiplied; values and sums are f32, as are ",
                 megabytes(weights.others), " of other constants")};
}

Sentences say(const gcg::RepeatedWork& work) {
  return {concat("one kernel for ", list_of(work.nodes), " does ", std::lround(work.factor),
                 " times the work of separate kernels")};
}

Sentences say(const gcg::HostWait& wait) {
  return {concat("an extent of a result of '", wait.nodes, "' depends on data ('", wait.symbol,
                 "'): the graph is split there, and the host waits for the value")};
}

Sentences say(const gcg::UnusedLibrary& idle) {
  std::string kinds;
  for (const gcg::LibraryOperation o : idle.operations) kinds += concat(kinds.empty() ? "" : " and ", plural(o));
  const std::string head = concat(idle.library, " does nothing here: ");
  if (idle.steps == 0) return {concat(head, "it computes ", kinds, ", and this model has none")};
  if (idle.unfit == 0)
    return {concat(head, "it supports the types, extents, strides and fused operators of none of the ", idle.steps,
                   " steps of its kind (", kinds, ")")};
  return {concat(head, "it could do ", idle.unfit, " steps, but does not support the form of their weights or memory")};
}

Sentences say(const gcg::SkippedLibrary& left) {
  return {concat("'", left.first_nodes, "'", left.steps > 1 ? concat(" and ", left.steps - 1, " more") : "",
                 " could use ", left.library, " on sm_", left.least_sm, " and newer, but the targets include ",
                 left.too_old, ": kernels do it on all GPUs (--libraries auto stores both)")};
}

std::string scope_text(const gcg::Remark::Plans& plans) {
  return concat(gcg::traits_of(plans.device).name, "s [", plans.fixed.empty() ? "any shape" : text_of(plans.fixed),
                "]: ");
}

}  // namespace

std::vector<std::string> sentences_of(const std::vector<gcg::Remark>& remarks) {
  Sentences all;
  for (const gcg::Remark& remark : remarks)
    for (const std::string& s : std::visit([](const auto& fact) { return say(fact); }, remark.fact))
      all.push_back(remark.plans ? scope_text(*remark.plans) + s : s);
  return all;
}

std::vector<std::string> sentences_of(const gcg::FasterOptions& faster) {
  constexpr int64_t kLeastBytes = 1 << 20;  // smaller weights stay in caches
  Sentences all;
  if (faster.whole_products > 0)
    all.push_back(concat(
        "products on GPUs take f32 factors in ", faster.whole_products, faster.whole_products == 1 ? " step" : " steps",
        ": --precision tf32, fp16 or bf16 rounds factors to 10, 10 or 7 bits of fraction, which tensor "
        "cores multiply faster"));
  if (faster.estimated_products > 0)
    all.push_back(concat("a cost model chose the kernels of ", faster.estimated_products,
                         faster.estimated_products == 1 ? " product" : " products",
                         " on GPUs: gcc-graph tune measures variants, and --tuning uses the fastest ones"));
  if (faster.whole_weights >= kLeastBytes)
    all.push_back(concat("products on CPUs read f32 weights of ", megabytes(faster.whole_weights),
                         ": --precision bf16 stores those whose accuracy allows it in half the bytes, and CPUs with "
                         "BF16 or AMX instructions multiply them faster"));
  if (!faster.open_extents.empty())
    all.push_back(
        concat("extents of inputs are open (", list_of(faster.open_extents), "): --dim ", faster.open_extents[0],
               "=VALUE adds a plan for a fixed extent, which runs about 1 % faster on CPUs (mean of the zoo)"));
  if (!faster.newer_targets.empty())
    all.push_back(concat("--target leaves out ", list_of(faster.newer_targets),
                         ": CPUs with these instructions run this model's arithmetic faster"));
  return all;
}

std::string shapes_text(const gcg::PlanReport& plan) {
  if (plan.is_load_time_packing) return "load-time packing";
  const std::string text = plan.fixed.empty() ? "symbolic" : text_of(plan.fixed);
  return plan.assumes_equal_extents ? text + ", equal extents" : text;
}

}  // namespace gcc_graph::detail
