// FlatBuffers vectors as spans; an absent vector is an empty span. Requires a verified manifest, in which 8-byte
// elements are aligned.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "artifact_schema/shape_program.h"
#include "gart_generated.h"

namespace gart {

template <class T>
std::span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::span<const T>() : std::span<const T>(vector->data(), vector->size());
}
inline ShapeProgram span_of(const flatbuffers::Vector<const fb::Instruction*>* program) {
  if (program == nullptr) return {};
  return {reinterpret_cast<const fb::Instruction*>(program->Data()), program->size()};
}
template <class T>
uint32_t count_of(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}
inline std::string_view view_of(const flatbuffers::String* string) {
  return string == nullptr ? std::string_view() : string->string_view();
}

/// Marks the symbols that are extents of inputs; bind steps bind the others.
inline std::vector<uint8_t> carried_symbols(const fb::EntryPoint& entry) {
  std::vector<uint8_t> carried(count_of(entry.symbols()));
  for (uint32_t i = 0; i < carried.size(); ++i) carried[i] = entry.symbols()->Get(i)->input() >= 0;
  return carried;
}

}  // namespace gart
