#include "tests/schedule/check_memory.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "artifact_schema/reader.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

namespace fb = gart::fb;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

std::vector<int64_t> evaluate(const fb::PlanT& plan, std::vector<int64_t> slots) {
  for (const fb::Instruction& i : plan.program) {
    const int64_t a = i.op() == fb::ExprOp::constant ? 0 : slots[i.a()],
                  b = i.op() == fb::ExprOp::constant ? 0 : slots[i.b()];
    switch (i.op()) {
      case fb::ExprOp::constant:
        slots.push_back(i.value());
        break;
      case fb::ExprOp::add:
        slots.push_back(a + b);
        break;
      case fb::ExprOp::sub:
        slots.push_back(a - b);
        break;
      case fb::ExprOp::mul:
        slots.push_back(a * b);
        break;
      case fb::ExprOp::floor_div:
        slots.push_back(floor_div(a, b));
        break;
      case fb::ExprOp::mod:
        slots.push_back(a - floor_div(a, b) * b);
        break;
      case fb::ExprOp::max:
        slots.push_back(std::max(a, b));
        break;
      case fb::ExprOp::min:
        slots.push_back(std::min(a, b));
        break;
    }
  }
  return slots;
}

class PlanMemory {
 public:
  PlanMemory(const fb::PlanT& plan, const std::vector<int64_t>& symbols) : plan_(plan) {
    const std::vector<int64_t> slots = evaluate(plan, symbols);
    for (const auto& b : plan.buffers) sizes_.push_back(slots[b->size]);
    written_.assign(plan.buffers.size(), false);
    place();
  }

  std::string run() {
    for (const auto& step : plan_.sequences.back()->steps) {
      std::vector<uint32_t> writes = step->writes;
      if (step->kind == fb::StepKind::copy || step->kind == fb::StepKind::fill) writes = {0};
      for (uint32_t i = 0; i < step->operands.size(); ++i)
        if (std::find(writes.begin(), writes.end(), i) == writes.end() && !holds(step->operands[i]))
          return concat("step '", step->source, "' reads buffer ", step->operands[i], ", which does not hold its data");
      for (uint32_t w : writes) write(step->operands[w]);
    }
    for (size_t b = 0; b < written_.size(); ++b)
      if (plan_.buffers[b]->kind == fb::BufferKind::output && sizes_[b] > 0 && !written_[b])
        return concat("output ", plan_.buffers[b]->index, " is never written");
    return "";
  }

 private:
  bool temporary(size_t b) const { return plan_.buffers[b]->kind == fb::BufferKind::temporary; }

  /// Places the temporaries by the rule in gart.fbs.
  void place() {
    places_.assign(sizes_.size(), 0);
    for (size_t b = 0; b < sizes_.size(); ++b) places_[b] = static_cast<int64_t>(plan_.buffers[b]->offset);
    for (uint32_t b : plan_.placement) {
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (uint32_t c : plan_.buffers[b]->conflicts) taken.emplace_back(places_[c], places_[c] + sizes_[c]);
      std::sort(taken.begin(), taken.end());
      int64_t at = 0;
      for (const auto& [begin, end] : taken)
        if (begin < at + sizes_[b]) at = std::max(at, (end + 63) / 64 * 64);
      places_[b] = at;
    }
    for (size_t b = 0; b < sizes_.size(); ++b)
      if (plan_.buffers[b]->alias_of >= 0) places_[b] = places_[static_cast<size_t>(plan_.buffers[b]->alias_of)];
    int64_t bytes = 0;
    for (size_t b = 0; b < sizes_.size(); ++b)
      if (temporary(b)) bytes = std::max(bytes, places_[b] + sizes_[b]);
    owner_.assign(static_cast<size_t>(bytes), -1);
  }

  void write(uint32_t b) {
    written_[b] = true;
    if (temporary(b)) std::fill_n(owner_.begin() + places_[b], sizes_[b], static_cast<int>(b));
  }

  bool holds(uint32_t b) const {
    if (plan_.buffers[b]->kind == fb::BufferKind::output) return written_[b] || sizes_[b] == 0;
    if (!temporary(b)) return true;
    const auto begin = owner_.begin() + places_[b];
    return std::all_of(begin, begin + sizes_[b], [b](int owner) { return owner == static_cast<int>(b); });
  }

  const fb::PlanT& plan_;
  std::vector<int64_t> sizes_, places_;
  std::vector<bool> written_;
  std::vector<int> owner_;  // for each byte of the arena: the buffer last written to it
};

}  // namespace

std::string check_memory(const std::vector<uint8_t>& artifact, const std::vector<int64_t>& symbols) {
  std::vector<uint64_t> aligned((artifact.size() + 7) / 8);
  std::memcpy(aligned.data(), artifact.data(), artifact.size());
  gart::ArtifactView view;
  if (!gart::read_artifact({reinterpret_cast<const uint8_t*>(aligned.data()), artifact.size()}, view).ok())
    return "the artifact cannot be read";
  const std::unique_ptr<fb::ManifestT> manifest(view.manifest->UnPack());
  for (const auto& plan : manifest->entry_points.at(0)->plans)
    if (std::string problem = PlanMemory(*plan, symbols).run(); !problem.empty()) return problem;
  return "";
}

}  // namespace gcg::test
