// Extents and sizes of an artifact as text.
#pragma once

#include <map>
#include <string>

#include "artifact_schema/spans.h"

namespace gcg::tools {

/// The slots of a shape program as text: names of symbols, numbers, and expressions such as "(height+31)//32*4".
/// Parentheses are added where the meaning needs them. Any verified program can be shown; expressions that are too deep
/// or too long become "...".
class SlotTexts {
 public:
  using Program = flatbuffers::Vector<const gart::fb::Instruction*>;
  SlotTexts(const gart::fb::EntryPoint& entry, const Program* program) : entry_(entry), program_(program) {}

  std::string operator()(uint32_t slot) { return read(slot, 0).text; }

 private:
  enum class Binding { sum, product, one };
  struct Text {
    std::string text;
    Binding binding;  // precedence of the operator that is applied last
  };
  static std::string at_least(Binding binding, const Text& t);
  Text read(uint32_t slot, int depth);
  Text computed(const gart::fb::Instruction& i, int depth);
  Text product(const gart::fb::Instruction& i, const Text& a, const Text& b) const;

  const gart::fb::EntryPoint& entry_;
  const Program* program_;
  std::map<uint32_t, Text> known_;
};

}  // namespace gcg::tools
