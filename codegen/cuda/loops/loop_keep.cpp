// Avoids reading or computing a row twice. Example: softmax takes the maximum of x, then sums exp(x - max), then
// divides those values.
#include <functional>
#include <map>
#include <unordered_map>

#include "codegen/cuda/loops/loop_plan.h"
#include "compiler/kernel/access_analysis.h"

namespace gcg::cuda {
namespace {

constexpr int kMostNodes = 300;  // larger expressions are not compared, because comparing all pairs takes too long
constexpr size_t kMostRows = 3;

struct Found {
  size_t stage;
  Expr node;
};

bool reads_memory(const Expr& e) {
  bool reads = false;
  visit(e, [&](const ExprNode& n) { reads = reads || n.kind == ExprKind::load; });
  return reads;
}

/// Calls `see` for nodes that are evaluated whenever `e` is, parents before children. `see` returns whether to visit
/// the children.
void visit_unconditional(const Expr& e, const std::function<bool(const Expr&)>& see) {
  if (!see(e) || e->kind == ExprKind::reduce || e->kind == ExprKind::load) return;
  if (e->kind == ExprKind::select) return visit_unconditional(e->args[0], see);
  for (const Expr& a : e->args) visit_unconditional(a, see);
}

}  // namespace

std::vector<KeptRow> plan_kept(const std::vector<StagePlan>& stages) {
  std::map<std::string, Found> earlier;
  std::map<std::string, KeptRow> rows;
  int nodes = 0;
  for (size_t s = 0; s < stages.size(); ++s) {
    const Stage& stage = stages[s].stage;
    nodes += count_nodes(stage.value);
    if (nodes > kMostNodes || (stage.kind == Stage::Kind::store && s + 1 < stages.size())) return {};
    if (stages[s].lane.id < 0) continue;
    auto candidate = [&](const Expr& e) { return depends_on(e, stages[s].lane.id) && reads_memory(e); };
    visit_unconditional(stage.value, [&](const Expr& e) {
      if (!candidate(e)) return false;
      const std::string k = key(e);
      const auto it = earlier.find(k);
      if (it == earlier.end()) return true;
      KeptRow& row = rows[k];
      row.dtype = e->dtype;
      if (row.uses.empty()) row.uses.push_back({it->second.stage, it->second.node, true});
      row.uses.push_back({s, e, false});
      return false;
    });
    visit_unconditional(stage.value, [&](const Expr& e) {
      if (!candidate(e)) return false;
      earlier.try_emplace(key(e), Found{s, e});
      return true;
    });
  }
  if (rows.size() > kMostRows) return {};
  std::vector<KeptRow> kept_rows;
  for (auto& [k, row] : rows)
    if (row.dtype != DType::i64) kept_rows.push_back(std::move(row));
  return kept_rows;
}

}  // namespace gcg::cuda
