// Elements of tensors in JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gart/tensor.h"

namespace gcg::serve {

/// Reads nested or flat arrays of `count` elements. Throws Refusal that names the tensor and the element.
std::vector<uint8_t> elements_from_json(const nlohmann::json& data, gart::DType dtype, int64_t count,
                                        const std::string& tensor);

/// Appends "[1,2,3]", flat, with the fewest digits that give the same value. Throws Refusal for a type or a value that
/// JSON cannot hold (FP16, infinities): clients get these as binary data.
void append_elements(std::string& json, const gart::TensorView& tensor, const std::string& name);

/// Parses JSON of limited depth. Throws Refusal.
nlohmann::json parse_json(std::string_view text);

/// The text as a JSON string, in quotes. Invalid UTF-8 becomes U+FFFD.
std::string in_quotes(std::string_view text);

}  // namespace gcg::serve
