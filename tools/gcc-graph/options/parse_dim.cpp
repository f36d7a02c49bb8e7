#include "tools/gcc-graph/options/parse_dim.h"

#include <charconv>
#include <set>
#include <sstream>

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

bool parse_number(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::pair<std::string, std::vector<int64_t>> parse_dim(const std::string& text) {
  const auto eq = text.find('=');
  if (eq == std::string::npos || eq == 0 || eq + 1 == text.size())
    fail("--dim ", text, ": expected NAME=VALUE[,VALUE...]");
  std::pair<std::string, std::vector<int64_t>> out{text.substr(0, eq), {}};
  std::stringstream values(text.substr(eq + 1));
  for (std::string v; std::getline(values, v, ',');) {
    int64_t n = 0;
    if (!parse_number(v, n) || n < 0) fail("--dim ", text, ": '", v, "' is not an extent");
    out.second.push_back(n);
  }
  return out;
}

int64_t parse_bytes(const std::string& text) {
  std::string_view digits = text;
  int shift = 0;
  if (!digits.empty()) switch (digits.back()) {
      case 'K':
      case 'k':
        shift = 10;
        break;
      case 'M':
      case 'm':
        shift = 20;
        break;
      case 'G':
      case 'g':
        shift = 30;
        break;
      default:
        break;
    }
  if (shift) digits.remove_suffix(1);
  int64_t n = 0;
  if (!parse_number(digits, n) || n < 0 || n > (INT64_MAX >> shift))
    fail("--memory-limit ", text, ": expected bytes, as in 64M");
  return n << shift;
}

void check_unique(const std::vector<std::string>& names, const char* option) {
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second) fail(option, ": '", name, "' is given twice");
}

std::vector<std::pair<std::string, std::vector<int64_t>>> parse_dims(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> dims;
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    dims.push_back(parse_dim(text));
    names.push_back(dims.back().first);
    if (std::set<int64_t>(dims.back().second.begin(), dims.back().second.end()).size() != dims.back().second.size())
      fail("--dim ", text, ": a value is given twice");
  }
  check_unique(names, "--dim");
  return dims;
}

}  // namespace gcg::tools
