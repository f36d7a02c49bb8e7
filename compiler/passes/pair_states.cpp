#include "compiler/passes/pair_states.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/ir/states.h"
#include "compiler/passes/append_caches.h"
#include "compiler/passes/order_states.h"
#include "compiler/passes/written_states.h"
#include "compiler/support/error.h"
#include "compiler/support/nearest.h"

namespace gcg {
namespace {

using Pair = std::pair<size_t, size_t>;  // positions of an input and an output

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> out;
  for (ValueId v : values) out.push_back(graph.value(v).name);
  return out;
}

std::optional<size_t> position(const std::vector<std::string>& names, const std::string& name) {
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<size_t>(it - names.begin());
}

/// The text that "*" matches if the pattern matches the name. A pattern without "*" matches only its own text.
std::optional<std::string> wildcard(const std::string& pattern, const std::string& name) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return pattern == name ? std::optional<std::string>("") : std::nullopt;
  const std::string_view before(pattern.data(), star);
  const std::string_view after(pattern.data() + star + 1);
  if (name.size() < before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

std::string with_wildcard(std::string pattern, const std::string& text) {
  if (const size_t star = pattern.find('*'); star != std::string::npos) pattern.replace(star, 1, text);
  return pattern;
}

class Pairs {
 public:
  explicit Pairs(const Graph& graph)
      : inputs_(names(graph, graph.inputs)), outputs_(names(graph, graph.outputs)), graph_(graph) {}

  /// Adds the pairs of a request. Returns false if it names no input of this graph.
  bool add(const std::string& request) {
    if (request == "auto") return add_recognised();
    const size_t equals = request.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == request.size())
      fail("--state ", request, ": expected auto or PAST=PRESENT");
    const std::string past = request.substr(0, equals), present = request.substr(equals + 1);
    if (std::count(past.begin(), past.end(), '*') > 1 ||
        (past.find('*') == std::string::npos) != (present.find('*') == std::string::npos))
      fail("--state ", request, ": a pattern has one *, in both names");
    bool found = false;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const std::optional<std::string> text = wildcard(past, inputs_[i]);
      if (!text) continue;
      found = true;
      const std::string output = with_wildcard(present, *text);
      const std::optional<size_t> o = position(outputs_, output);
      if (!o) fail("--state ", request, ": the model has no output '", output, "'", nearest(output, outputs_));
      add(i, *o);
    }
    return found;
  }

  /// Fails with the reason why no graph has a pair for the request. Called for the first graph.
  [[noreturn]] void refuse(const std::string& request) const {
    if (request == "auto") fail("--state auto: no input is called like an output, as 'past.0' and 'present.0' are");
    const std::string past = request.substr(0, request.find('='));
    fail("--state ", request, ": the model has no input '", past, "'", nearest(past, inputs_));
  }

  const std::vector<Pair>& all() const { return pairs_; }

  /// Inputs that this graph only reads, such as an encoder's keys and values: `writer` has an output with their name,
  /// but lacks the input. Adds the output's name to `written` under the input's name.
  std::vector<size_t> read_from(const Pairs& writer, std::map<std::string, std::string>& written) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (is_paired(i) || position(writer.inputs_, inputs_[i])) continue;
      const std::optional<size_t> output = recognised(inputs_[i], writer.outputs_);
      if (!output || is_state(i)) continue;
      out.push_back(i);
      written[inputs_[i]] = writer.outputs_[*output];
    }
    return out;
  }

 private:
  /// The names that exporters give to caches (optimum, torch.onnx, onnxruntime-genai).
  static std::optional<size_t> recognised(const std::string& input, const std::vector<std::string>& outputs) {
    static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"past_key_values", "present"}, {"past_key_values", "present_key_values"}, {"past", "present"}};
    for (const auto& [past, present] : kNames) {
      const size_t at = input.find(past);
      if (at == std::string::npos) continue;
      if (const auto o = position(outputs, std::string(input).replace(at, past.size(), present))) return o;
    }
    return std::nullopt;
  }

  bool add_recognised() {
    bool found = false;
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (const std::optional<size_t> o = recognised(inputs_[i], outputs_)) {
        add(i, *o);
        found = true;
      }
    return found;
  }

  bool is_paired(size_t input) const {
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& p) { return p.first == input; });
  }
  bool is_state(size_t input) const {
    return std::any_of(graph_.states.begin(), graph_.states.end(), [&](const State& s) { return s.input == input; });
  }

  void add(size_t input, size_t output) {
    const Value& in = graph_.value(graph_.inputs[input]);
    const Value& out = graph_.value(graph_.outputs[output]);
    for (const auto& [i, o] : pairs_) {
      if (i == input && o == output) return;
      if (i == input) fail("input '", in.name, "' is in two states");
      if (o == output) fail("output '", out.name, "' is in two states");
    }
    if (is_state(input)) fail("input '", in.name, "' is in two states");
    if (in.dtype != out.dtype)
      fail("state '", in.name, "': its input is ", name_of(in.dtype), ", its output '", out.name, "' is ",
           name_of(out.dtype));
    pairs_.emplace_back(input, output);
  }

  const std::vector<std::string> inputs_, outputs_;
  const Graph& graph_;
  std::vector<Pair> pairs_;
};

/// Makes states of the pairs, in their order.
void add_states(Graph& graph, const std::vector<Pair>& pairs, int64_t capacity) {
  for (const auto& [input, output] : pairs) {
    State state;
    state.name = graph.value(graph.inputs[input]).name;
    state.input = input;
    state.output = output;
    state.capacity = capacity;
    graph.states.push_back(std::move(state));
  }
}

/// Makes states of inputs that the graph does not change.
void add_read_states(Graph& graph, const std::vector<size_t>& inputs) {
  for (const size_t input : inputs) {
    State state;
    state.name = graph.value(graph.inputs[input]).name;
    state.input = input;
    state.output = kNotWritten;
    graph.states.push_back(std::move(state));
  }
}

/// The state's type as the model gives it, with "*" for open extents, which may differ between graphs.
std::string type_of(const Graph& graph, const State& state) {
  const Value& value = graph.value(graph.inputs[state.input]);
  std::string out = concat(name_of(value.dtype), "[");
  for (size_t d = 0; d < value.shape->size(); ++d)
    out += concat(d == 0 ? "" : ",", (*value.shape)[d].is_constant() ? (*value.shape)[d].str() : "*");
  return out + (state.axis < 0 ? "]" : concat("], stored with axis ", state.axis, " in front"));
}

bool are_equal(const TensorRef& a, const TensorRef& b) {
  if (a == b || !a || !b) return a == b;
  return a->bytes() == b->bytes() && std::memcmp(a->data(), b->data(), static_cast<size_t>(a->bytes())) == 0;
}

}  // namespace

void pair_states(const std::vector<Graph*>& graphs, const std::vector<std::string>& requests, int64_t capacity,
                 int64_t window) {
  if (requests.empty() && capacity > 0) fail("--capacity ", capacity, " needs states: use --state");
  if (requests.empty() && window > 0) fail("--cache-window ", window, " needs states: use --state");
  std::vector<Pairs> pairs;
  for (const Graph* graph : graphs) pairs.emplace_back(*graph);
  for (const std::string& request : requests) {
    bool found = false;
    for (Pairs& pair_set : pairs) found = pair_set.add(request) || found;
    if (!found) pairs[0].refuse(request);
  }
  std::map<std::string, std::string> written;
  const bool is_auto = std::count(requests.begin(), requests.end(), "auto") != 0;
  for (size_t i = 0; i < graphs.size(); ++i) {
    add_states(*graphs[i], pairs[i].all(), capacity);
    for (size_t writer = 0; is_auto && writer < graphs.size(); ++writer)
      if (writer != i) add_read_states(*graphs[i], pairs[i].read_from(pairs[writer], written));
    order_states(*graphs[i]);
    append_caches(*graphs[i], window);
  }
  add_written_states(graphs, written);
}

void check_shared_states(const std::vector<const Graph*>& graphs) {
  std::map<std::string, std::pair<const Graph*, const State*>> known;  // the first graph that has the state
  for (const Graph* graph : graphs)
    for (const State& state : graph->states) {
      const auto [it, fresh] = known.try_emplace(state.name, graph, &state);
      if (fresh) continue;
      const auto& [first, other] = it->second;
      const std::string type = type_of(*first, *other), other_type = type_of(*graph, state);
      if (other_type != type)
        fail("state '", state.name, "' is ", type, " in '", first->name, "' and ", other_type, " in '", graph->name,
             "'");
      if (state.scope != other->scope || !are_equal(state.initial, other->initial))
        fail("state '", state.name, "' has another ", state.scope != other->scope ? "owner" : "first value", " in '",
             first->name, "' than in '", graph->name, "'");
    }
}

}  // namespace gcg
