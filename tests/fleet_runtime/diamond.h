// A small file with parts: four calls of one part, on devices of a fleet.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assembly_generated.h"

namespace gart::fleet::test {

/// An f32[n] value. `input`: its index among the inputs, or -1.
std::unique_ptr<fb::PartValueT> value(const std::string& name, int input, std::vector<uint32_t> outputs);

/// a = 2 (x + y), b = 2 (a + y), c = 2 (a + x), out = 2 (b + c): four calls of one part, each a group of its own, on
/// the devices "left" and "right" in turn.
fb::AssemblyT diamond();
/// The model's output.
std::vector<float> expected(const std::vector<float>& x, const std::vector<float>& y);

std::vector<uint8_t> packed(const fb::AssemblyT& assembly);
/// An artifact with this assembly. The bytes stay valid until the process ends.
std::span<const uint8_t> artifact(std::vector<uint8_t> assembly);

}  // namespace gart::fleet::test
