// A simulated module as "PTX": text, as the product expects, that contains the shared object's bytes.
#ifndef GART_TESTS_CUDA_SIM_NVRTC_PTX_TEXT_H
#define GART_TESTS_CUDA_SIM_NVRTC_PTX_TEXT_H

#include <string>
#include <string_view>

namespace gart_sim {

inline constexpr std::string_view kPtxHead =
    "//\n// simulated PTX\n//\n.version 9.0\n.target sm_80\n.address_size 64\n//";

inline std::string to_ptx(std::string_view module) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text(kPtxHead);
  for (const char c : module) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[c & 15];
  }
  return text + "\n";
}

// Empty if `text` is not simulated PTX.
inline std::string from_ptx(std::string_view text) {
  if (!text.starts_with(kPtxHead)) return "";
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string module;
  for (size_t i = kPtxHead.size(); i + 1 < text.size() && text[i] != '\n'; i += 2) {
    module += static_cast<char>(digit(text[i]) << 4 | digit(text[i + 1]));
  }
  return module;
}

}  // namespace gart_sim
#endif
