#include "tools/lazy/cut.h"

#include <algorithm>

#include "compiler/partition/needed.h"

namespace gcc_graph::lazy {
namespace {

uint64_t walks = 0;  // guarded by cut_mutex()

constexpr uint32_t kEvaluated = 0x80000000, kResult = 0x40000000;

void add_evaluated(Cut& cut, const Node& node, uint32_t at) {
  cut.evaluated.push_back(at);
  cut.structure.push_back(kEvaluated | static_cast<uint32_t>(node.type->dtype));
  cut.structure.push_back(node.type->extents->pattern);
  cut.extents.push_back(node.type->extents);
}

void add_run(Cut& cut, const Node& node, bool is_result) {
  ++cut.runs;
  cut.structure.push_back(node.op->id | (is_result ? kResult : 0));
  if (node.ints == nullptr) return;
  cut.structure.push_back(node.ints->pattern);
  cut.extents.push_back(node.ints);
}

}  // namespace

std::mutex& cut_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

void Cut::clear() {
  nodes.clear();
  evaluated.clear();
  results.clear();
  structure.clear();
  extents.clear();
  runs = 0;
}

uint64_t Cut::hash() const {
  uint64_t hash = structure.size();
  const auto mix = [&](uint64_t next) {
    hash = (hash ^ next) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
  };
  for (const uint32_t word : structure) mix(word);
  for (const Extents* e : extents) mix(e->id);
  return hash;
}

void make_cut(std::span<Node* const> requested, Cut& cut, bool through, std::span<Node* const> ends) {
  cut.clear();
  const uint64_t walk = ++walks;
  uint32_t met = 0, at = 0;
  const auto claim = [&](Node* node) {
    if (node->walk == walk) return false;
    node->walk = walk;
    node->position = met++;
    return true;
  };
  for (Node* node : requested)
    if (claim(node)) cut.nodes.push_back(node);
  const size_t first_wanted = cut.nodes.size();
  const auto ends_here = [&](const Node* node) {
    if (node->op == nullptr) return true;  // given, or a placeholder
    if (!through) return node->ready.load(std::memory_order_acquire);
    return std::find(ends.begin(), ends.end(), node) != ends.end();
  };
  gcg::walk_backwards(cut.nodes, claim, [&](Node* node, const auto& see) {
    const bool is_wanted = at < first_wanted;
    if (ends_here(node)) {
      if (!through && !node->ready.load(std::memory_order_relaxed))
        throw Error(
            "a recorded function needs the value of an array during recording; it is recorded once for all values, so "
            "control flow must not depend on them");
      if (through && is_wanted) cut.results.push_back(at);
      add_evaluated(cut, *node, at++);
      return;
    }
    const bool is_result = node->type != nullptr && (is_wanted || (!through && node->is_held()));
    if (is_result) cut.results.push_back(at);
    add_run(cut, *node, is_result);
    for (Node* input : node->inputs()) {
      see(input);
      cut.structure.push_back(input->position);
    }
    ++at;
  });
}

std::vector<uint32_t> running_order(const Cut& cut) {
  std::vector<bool> runs(cut.nodes.size(), true);
  for (const uint32_t g : cut.evaluated) runs[g] = false;
  std::vector<uint32_t> readers(cut.nodes.size(), 0), order;
  for (uint32_t at = 0; at < cut.nodes.size(); ++at)
    if (runs[at])
      for (const Node* input : cut.nodes[at]->inputs()) ++readers[input->position];
  for (uint32_t at = 0; at < cut.nodes.size(); ++at)
    if (runs[at] && readers[at] == 0) order.push_back(at);
  for (size_t next = 0; next < order.size(); ++next)
    for (const Node* input : cut.nodes[order[next]]->inputs())
      if (--readers[input->position] == 0 && runs[input->position]) order.push_back(input->position);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace gcc_graph::lazy
