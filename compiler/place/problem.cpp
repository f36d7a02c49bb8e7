#include "compiler/place/problem.h"

#include <queue>

#include "compiler/support/error.h"

namespace gcg::place {

double Problem::operation_us(int number, int device, const std::vector<int>& device_of) const {
  const Group& group = groups[static_cast<size_t>(number)];
  const double us = group.us[static_cast<size_t>(device)];
  if (group.crossing_us.empty()) return us;
  for (int v : group.inputs) {
    const int producer = values[static_cast<size_t>(v)].producer;
    if (producer == kCaller) continue;
    const int from = device_of[static_cast<size_t>(producer)];
    if (from != device && link(from, device).is_shared_memory())
      return us + group.crossing_us[static_cast<size_t>(device)];
  }
  return us;
}

std::vector<int> topological_order(const Problem& problem) {
  const auto later = [&](int a, int b) {
    const std::string &x = problem.groups[static_cast<size_t>(a)].name,
                      &y = problem.groups[static_cast<size_t>(b)].name;
    return x != y ? x > y : a > b;
  };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  std::vector<int> open(problem.groups.size());
  for (int g = 0; g < problem.group_count(); ++g) {
    for (int v : problem.groups[static_cast<size_t>(g)].inputs)
      if (problem.values[static_cast<size_t>(v)].producer != kCaller) ++open[static_cast<size_t>(g)];
    if (open[static_cast<size_t>(g)] == 0) ready.push(g);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int g = ready.top();
    ready.pop();
    order.push_back(g);
    for (int v : problem.groups[static_cast<size_t>(g)].outputs)
      for (int r : problem.values[static_cast<size_t>(v)].readers)
        if (--open[static_cast<size_t>(r)] == 0) ready.push(r);
  }
  GCG_CHECK(order.size() == problem.groups.size(), "the groups form a cycle");
  return order;
}

}  // namespace gcg::place
