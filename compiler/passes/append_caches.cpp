#include "compiler/passes/append_caches.h"

#include <algorithm>
#include <set>

#include "compiler/ir/states.h"
#include "compiler/ops/op_def.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

// GroupQueryAttention: the input after kPastKey is the past values. With kQueryCounts a run adds fewer rows than it has
// queries.
constexpr size_t kPastKey = 3, kBias = 10, kQueryCounts = 16, kRowsAxis = 2;
constexpr const char *kWindow = "local_window_size", *kKeepsWindow = "sliding_window_cache";

State* state_of(Graph& graph, ValueId past, ValueId present) {
  const auto it = std::find_if(graph.states.begin(), graph.states.end(), [&](const State& s) {
    return graph.inputs[s.input] == past && new_value(graph, s) == present;
  });
  return it == graph.states.end() ? nullptr : &*it;
}

/// True if each of the node's caches is an input of a state, and the node alone reads it.
bool has_cache_states(Graph& graph, const Node& n) {
  if (n.inputs.size() < kPastKey + 2 || n.outputs.size() < 3) return false;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId past = n.inputs[kPastKey + i], present = n.outputs[1 + i];
    if (!past.valid() || !present.valid() || state_of(graph, past, present) == nullptr) return false;
    if (!graph.value(past).shape || graph.value(past).shape->size() != 4) return false;
  }
  const bool counts = n.inputs.size() > kQueryCounts && n.inputs[kQueryCounts].valid();
  return !counts && n.inputs[kPastKey] != n.inputs[kPastKey + 1];
}

std::string fresh_symbol(const Graph& graph) {
  std::set<std::string> taken;
  for (const ValueId input : graph.inputs)
    if (graph.value(input).shape)
      for (const Dim& d : *graph.value(input).shape) taken.merge(d.symbols());
  std::string name = "cached";
  for (int k = 1; taken.count(name) != 0; ++k) name = concat("cached_", k);
  return name;
}

/// If past and present share the cache, its extent is constant. Makes this extent symbolic. It becomes the state's
/// capacity if none is given.
void open(Graph& graph, State& state, const std::string& symbol) {
  Dim& rows = (*graph.value(graph.inputs[state.input]).shape)[kRowsAxis];
  if (!rows.is_constant()) return;
  if (state.capacity > rows.constant())
    fail("--capacity ", state.capacity, ": state '", state.name, "' has room for ", rows.constant(), " rows");
  if (state.capacity == 0) state.capacity = rows.constant();
  rows = Dim::symbol(symbol);
}

/// Lets the node read at most `window` tokens, and keep only these.
void shorten(Node& n, int64_t window) {
  if (n.int_attribute("causal", 1) == 0)
    fail("--cache-window ", window, ": '", n.name, "' reads later tokens, too, so it cannot forget any");
  if (n.inputs.size() > kBias && n.inputs[kBias].valid())
    fail("--cache-window ", window, ": '", n.name, "' has an attention_bias, which needs all tokens");
  const int64_t own = n.int_attribute(kWindow, -1);
  n.attributes[kWindow] = own > 0 ? std::min(own, window) : window;
  n.attributes[kKeepsWindow] = int64_t{1};
}

/// Gives the cache the window's rows. Such a state does not grow.
void fix(Graph& graph, State& state, int64_t window) {
  Dim& rows = (*graph.value(graph.inputs[state.input]).shape)[kRowsAxis];
  if (!rows.is_constant()) rows = Dim(window);
  state.capacity = 0;
}

}  // namespace

void append_caches(Graph& graph, int64_t window) {
  const std::string symbol = fresh_symbol(graph);
  bool found = false;
  for (const NodeId id : graph.order()) {
    Node& n = graph.node(id);
    if (n.op != &op("GroupQueryAttention", "com.microsoft") || !has_cache_states(graph, n)) continue;
    found = true;
    if (window > 0) shorten(n, window);
    const bool keeps_window = n.int_attribute(kKeepsWindow, 0) != 0;
    if (!keeps_window) n.attributes[kAppendsAttribute] = int64_t{1};
    for (size_t i = 0; i < 2; ++i) {
      State& state = *state_of(graph, n.inputs[kPastKey + i], n.outputs[1 + i]);
      if (keeps_window)
        fix(graph, state, n.int_attribute(kWindow, -1));
      else
        open(graph, state, symbol);
    }
  }
  if (window > 0 && !found)
    fail("--cache-window ", window, ": '", graph.name, "' has no GroupQueryAttention whose caches are states; other ",
         "models compute their masks themselves, so their caches keep all tokens");
}

}  // namespace gcg
