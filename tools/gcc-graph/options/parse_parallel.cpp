#include "tools/gcc-graph/options/parse_parallel.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

gart::Parallel parse_parallel(const std::string& text) {
  gart::Parallel out;
  std::stringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t eq = item.find('=');
    const std::string name = item.substr(0, eq);
    int* const value = name == "intra"      ? &out.intra
                       : name == "inter"    ? &out.inter
                       : name == "replicas" ? &out.replicas
                                            : nullptr;
    const char* const begin = item.data() + std::min(item.size(), eq == std::string::npos ? item.size() : eq + 1);
    const char* const end = item.data() + item.size();
    int number = 0;
    const auto parsed = std::from_chars(begin, end, number);
    if (value == nullptr || parsed.ec != std::errc() || parsed.ptr != end || number < 1)
      fail("--parallel '", text, "': '", item, "' is not intra=N, inter=N or replicas=N, N at least 1");
    *value = number;
  }
  return out;
}

}  // namespace gcg::tools
