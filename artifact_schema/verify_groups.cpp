#include <algorithm>

#include "artifact_schema/verify_internal.h"

namespace gart::verify {
namespace {

/// Checks the order of groups: a group that reads a value, or an extent of one, comes after the group that makes the
/// value.
class GroupOrder {
 public:
  GroupOrder(const fb::Assembly& assembly, std::span<const int64_t> makers, Budget& budget)
      : assembly_(assembly),
        makers_(makers),
        budget_(budget),
        program_(span_of(assembly.program())),
        symbols_(count_of(assembly.symbols())),
        seen_(symbols_ + program_.size()),
        readers_(count_of(assembly.groups())),
        open_(readers_.size()) {}

  Status run() {
    std::vector<uint8_t> has_call(readers_.size());
    for (uint32_t i = 0; i < count_of(assembly_.calls()); ++i) {
      const fb::PartCall& call = *assembly_.calls()->Get(i);
      has_call[call.group()] = 1;
      for (const uint32_t value : span_of(call.inputs())) follow(call.group(), value);
      if (Status status = follow_extents(call.group(), span_of(call.extents())); !status.ok()) return status;
    }
    for (uint32_t group = 0; group < has_call.size(); ++group)
      if (has_call[group] == 0) return failure("group ", group, ": it has no call");
    return check_circles();
  }

 private:
  void follow(uint32_t reader, uint32_t value) {
    if (makers_[value] == kCaller) return;
    const uint32_t maker = assembly_.calls()->Get(uint32_t(makers_[value]))->group();
    if (maker == reader) return;
    readers_[maker].push_back(reader);
    ++open_[reader];
  }

  /// Visits each slot once per group.
  Status follow_extents(uint32_t group, std::span<const uint32_t> extents) {
    std::vector<uint32_t> todo(extents.begin(), extents.end());
    while (!todo.empty()) {
      const uint32_t slot = todo.back();
      todo.pop_back();
      if (seen_[slot] == group + 1) continue;
      seen_[slot] = group + 1;
      if (Status status = budget_.work(1); !status.ok()) return status;
      if (slot < symbols_) {
        follow(group, assembly_.symbols()->Get(slot)->value());
      } else if (const fb::Instruction& instruction = program_[slot - symbols_];
                 instruction.op() != fb::ExprOp::constant) {
        todo.insert(todo.end(), {instruction.a(), instruction.b()});
      }
    }
    return {};
  }

  Status check_circles() {
    std::vector<uint32_t> ready;
    for (uint32_t group = 0; group < open_.size(); ++group)
      if (open_[group] == 0) ready.push_back(group);
    for (size_t i = 0; i < ready.size(); ++i)
      for (const uint32_t reader : readers_[ready[i]])
        if (--open_[reader] == 0) ready.push_back(reader);
    if (ready.size() == open_.size()) return {};
    const auto stuck = std::find_if(open_.begin(), open_.end(), [](uint32_t open) { return open > 0; });
    return failure("group ", stuck - open_.begin(), ": it and others wait for each other's values");
  }

  const fb::Assembly& assembly_;
  const std::span<const int64_t> makers_;
  Budget& budget_;
  const ShapeProgram program_;
  const size_t symbols_;
  std::vector<uint32_t> seen_;                  // per slot: the group that visited it last, plus one
  std::vector<std::vector<uint32_t>> readers_;  // per group
  std::vector<uint32_t> open_;                  // per group: number of values that it still waits for
};

}  // namespace

Status check_group_order(const fb::Assembly& assembly, std::span<const int64_t> makers, Budget& budget) {
  return GroupOrder(assembly, makers, budget).run();
}

}  // namespace gart::verify
