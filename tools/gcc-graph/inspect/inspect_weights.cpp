#include "tools/gcc-graph/inspect/inspect_weights.h"

#include <algorithm>
#include <iostream>

namespace gcg::tools {

using Json = nlohmann::ordered_json;

Json stored_twice_json(const gart::fb::Manifest& manifest) {
  // The verifier does not check this data, so it is shown only as far as it is valid.
  constexpr uint32_t kMostNames = 8;
  constexpr size_t kMostLetters = 200;
  if (manifest.stored_twice_bytes() < 0) return {};
  Json out = {{"bytes", manifest.stored_twice_bytes()}, {"most", Json::array()}};
  for (uint32_t i = 0; i < std::min(gart::count_of(manifest.stored_twice()), kMostNames); ++i) {
    const gart::fb::StoredTwice& s = *manifest.stored_twice()->Get(i);
    out["most"].push_back(
        {{"name", std::string(gart::view_of(s.name()).substr(0, kMostLetters))}, {"bytes", s.bytes()}});
  }
  return out;
}

void print_stored_twice(const Json& report) {
  const auto twice = report.find("stored_twice");
  if (twice == report.end()) {
    std::cout << '\n';
  } else if ((*twice)["bytes"] == 0) {
    std::cout << ", stored once\n";
  } else {
    std::cout << ", " << (*twice)["bytes"] << " of them stored twice, in another order or type\n";
    uint64_t others = (*twice)["bytes"];
    for (const Json& s : (*twice)["most"]) {
      std::cout << "  twice " << s["bytes"] << " bytes of '" << s["name"].get<std::string>() << "'\n";
      others -= std::min(others, s["bytes"].get<uint64_t>());
    }
    if (others > 0) std::cout << "  twice " << others << " bytes of other weights\n";
  }
}

}  // namespace gcg::tools
