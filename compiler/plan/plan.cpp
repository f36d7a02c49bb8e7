#include "compiler/plan/plan.h"

#include <algorithm>

namespace gcg {
namespace {

template <class... F>
struct Cases : F... {
  using F::operator()...;
};

/// Removes the ids of omitted optional buffers.
std::vector<BufferId> valid(std::vector<BufferId> buffers) {
  std::erase_if(buffers, [](BufferId b) { return !b.valid(); });
  return buffers;
}

std::vector<BufferId> operands_of(const Launch& l, bool written) {
  std::vector<BufferId> out;
  for (size_t i = 0; i < l.operands.size(); ++i)
    if ((std::find(l.writes.begin(), l.writes.end(), static_cast<int>(i)) != l.writes.end()) == written)
      out.push_back(l.operands[i]);
  return out;
}

std::vector<BufferId> reads_of(const Loop& loop) {
  std::vector<BufferId> out = {loop.trip_count, loop.condition};
  for (const Loop::Carried& c : loop.carried) out.push_back(c.from);
  return valid(std::move(out));
}

std::vector<BufferId> writes_of(const Loop& loop) {
  std::vector<BufferId> out = {loop.iteration};
  for (const Loop::Carried& c : loop.carried) out.push_back(c.to);
  return valid(std::move(out));
}

using Buffers = std::vector<BufferId>;

Buffers operands_of(const Call& call, bool written) {
  Buffers out;
  for (size_t i = 0; i < call.operands.size(); ++i)
    if ((i == call.call.result()) == written) out.push_back(call.operands[i]);
  for (const Launch& l : call.fallback)
    for (BufferId b : operands_of(l, written))
      if (std::find(out.begin(), out.end(), b) == out.end()) out.push_back(b);
  return out;
}

Buffers at(const Buffers& operands, const std::vector<int>& positions) {
  Buffers out;
  for (int i : positions) out.push_back(operands[static_cast<size_t>(i)]);
  return out;
}

}  // namespace

std::vector<BufferId> Step::reads() const {
  return std::visit(
      Cases{[](const Launch& l) { return operands_of(l, false); }, [](const Call& c) { return operands_of(c, false); },
            [](const Copy& c) { return Buffers{c.from}; }, [](const Branch& b) { return Buffers{b.condition}; },
            [](const Loop& l) { return reads_of(l); }, [](const Bind& b) { return Buffers{b.value}; },
            [](const Fail&) { return Buffers{}; }},
      work);
}

std::vector<BufferId> Step::writes() const {
  return std::visit(
      Cases{[](const Launch& l) { return operands_of(l, true); }, [](const Call& c) { return operands_of(c, true); },
            [](const Copy& c) { return Buffers{c.to}; }, [](const Loop& l) { return writes_of(l); },
            [](const auto&) { return Buffers{}; }},
      work);
}

std::vector<SequenceId> Step::bodies() const {
  if (const auto* branch = as<Branch>()) return branch->bodies;
  if (const auto* loop = as<Loop>()) return {loop->body};
  return {};
}

bool Step::continues() const {
  const auto* launch = as<Launch>();
  return launch != nullptr && launch->continues;
}

BufferId Step::result() const {
  if (const auto* call = as<Call>()) return call->operands[call->call.result()];
  const auto* launch = as<Launch>();
  if (launch == nullptr || launch->writes.size() != 1) return BufferId();
  return launch->operands[static_cast<size_t>(launch->writes[0])];
}

std::vector<BufferId> Step::in_place() const {
  if (const auto* call = as<Call>()) return at(call->operands, call->in_place);
  if (const auto* launch = as<Launch>()) return at(launch->operands, launch->in_place);
  return {};
}

bool Step::is_barrier() const { return as<Branch>() || as<Loop>() || as<Bind>() || as<Fail>(); }

}  // namespace gcg
