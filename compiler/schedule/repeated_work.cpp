#include "compiler/schedule/repeated_work.h"

#include <cmath>
#include <set>

#include "compiler/ops/op_def.h"
#include "compiler/schedule/fusion_costs.h"
#include "compiler/schedule/loop_work.h"
#include "compiler/schedule/lower_group.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr double kLeast = 1e5;  // operations: some microseconds of a CPU

class RepeatedWork {
 public:
  RepeatedWork(const Graph& graph, const Fusion& fusion) : g_(graph), f_(fusion) {
    apart_.view_of = fusion.view_of;
    apart_.materialized.assign(fusion.view_of.size(), true);
  }

  std::vector<std::string> run() {
    std::vector<std::string> sentences;
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
      if (together >= kRepeatedWork * apart) sentences.push_back(sentence(together / apart));
    }
    return sentences;
  }

 private:
  double work(const Fusion& fusion, const FusionGroup& group) const {
    const Kernel kernel = lower_group(g_, fusion, group).kernel;
    return loop_work(kernel, std::get<LoopKernel>(kernel.body));
  }

  double work_apart() const {
    double sum = 0;
    for (ValueId v : computed_) {
      FusionGroup own;
      own.result = own.storage = v;
      sum += work(apart_, own);
    }
    return sum;
  }

  /// The values that the kernel of `v` computes: it and what it reads that has no storage.
  void collect(ValueId v) {
    const Node& node = g_.node(g_.value(v).producer);
    if (node.op->kind != OpKind::view && !computed_.insert(v).second) return;
    for (ValueId in : node.inputs) {
      if (!in.valid() || !g_.value(in).producer.valid() || g_.value(in).is_constant()) continue;
      if (is_symbolic_content(g_.value(in)) || f_.storage(in).valid()) continue;
      collect(in);
    }
  }

  std::string sentence(double factor) const {
    std::set<std::string> names;
    for (ValueId v : computed_) names.insert(g_.node(g_.value(v).producer).name);
    std::string list;
    size_t listed = 0;
    for (const std::string& name : names) {
      if (++listed > 4) break;
      list += concat(listed == 1 ? "'" : "', '", name);
    }
    list += names.size() > 4 ? concat("' and ", names.size() - 4, " more") : "'";
    return concat("one kernel for ", list, " does ", std::lround(factor), " times the work of kernels of their own");
  }

  const Graph& g_;
  const Fusion& f_;
  Fusion apart_;
  std::set<ValueId> computed_;
};

}  // namespace

std::vector<std::string> repeated_work(const Graph& graph, const Fusion& fusion) {
  return RepeatedWork(graph, fusion).run();
}

std::vector<std::string> repeated_work(const Graph& graph, DeviceClass device) {
  std::vector<std::string> sentences = repeated_work(graph, fuse(graph, device));
  for (NodeId id : graph.order()) {
    if (!is_control(graph.node(id))) continue;
    for (const auto& body : graph.node(id).bodies)
      for (std::string& s : repeated_work(*body, device)) sentences.push_back(std::move(s));
  }
  return sentences;
}

}  // namespace gcg
