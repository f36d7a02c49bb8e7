#include "tools/store/signature_bytes.h"

namespace gart::store {
namespace {

uint8_t digit_of(char c) { return static_cast<uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

}  // namespace

std::vector<uint8_t> signature_bytes(const StoredVersion& version) {
  const std::string& digits = version.signature;
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    out.push_back(static_cast<uint8_t>(digit_of(digits[i]) << 4 | digit_of(digits[i + 1])));
  return out;
}

}  // namespace gart::store
