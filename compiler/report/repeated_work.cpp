#include "compiler/report/repeated_work.h"

#include <set>
#include <string>
#include <utility>

#include "compiler/fusion/fusion_costs.h"
#include "compiler/kernel/loop_work.h"
#include "compiler/lowering/lower_group.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

constexpr double kLeast = 1e5;  // fewer operations are not reported; these are a few microseconds on a CPU

class WorkComparison {
 public:
  WorkComparison(const Graph& graph, const Fusion& fusion) : g_(graph), f_(fusion) {
    apart_.view_of = fusion.view_of;
    apart_.materialized = IndexedVector<ValueId, bool>(fusion.view_of.size(), true);
  }

  std::vector<RepeatedWork> run() {
    std::vector<RepeatedWork> found;
    for (const FusionGroup& group : f_.groups) {
      if (group.kind != FusionGroup::Kind::loop || group.output_copy >= 0) continue;
      computed_.clear();
      const Value& result = g_.value(group.result);
      if (!result.producer.valid() || result.is_constant() || is_symbolic_content(result)) continue;
      collect(group.result);
      if (computed_.size() < 2) continue;
      const double together = work(f_, group);
      if (together < kLeast) continue;
      const double apart = work_apart();
      if (together >= kRepeatedWork * apart) found.push_back({nodes(), together / apart});
    }
    return found;
  }

 private:
  double work(const Fusion& fusion, const FusionGroup& group) const {
    const Kernel kernel = lower_group(g_, fusion, group).kernel;
    return loop_work(kernel, std::get<LoopKernel>(kernel.body));
  }

  double work_apart() const {
    double sum = 0;
    for (ValueId v : computed_) {
      FusionGroup separate;
      separate.result = separate.storage = v;
      sum += work(apart_, separate);
    }
    return sum;
  }

  /// Collects the values that the kernel of `v` computes: `v`, and the values without storage that it reads.
  void collect(ValueId v) {
    const Node& node = g_.node(g_.value(v).producer);
    if (node.op->kind != OpKind::view && !computed_.insert(v).second) return;
    for (ValueId in : node.inputs) {
      if (!in.valid() || !g_.value(in).producer.valid() || g_.value(in).is_constant()) continue;
      if (is_symbolic_content(g_.value(in)) || f_.storage(in).valid()) continue;
      collect(in);
    }
  }

  std::vector<std::string> nodes() const {
    std::set<std::string> names;
    for (ValueId v : computed_) names.insert(g_.node(g_.value(v).producer).name);
    return {names.begin(), names.end()};
  }

  const Graph& g_;
  const Fusion& f_;
  Fusion apart_;
  std::set<ValueId> computed_;
};

}  // namespace

std::vector<RepeatedWork> repeated_work(const Graph& graph, const Fusion& fusion) {
  return WorkComparison(graph, fusion).run();
}

std::vector<RepeatedWork> repeated_work(const Graph& graph, DeviceClass device) {
  std::vector<RepeatedWork> found = repeated_work(graph, fuse(graph, device));
  for (NodeId id : graph.order()) {
    if (!is_control(graph.node(id))) continue;
    for (const auto& body : graph.node(id).bodies)
      for (RepeatedWork& more : repeated_work(*body, device)) found.push_back(std::move(more));
  }
  return found;
}

}  // namespace gcg
