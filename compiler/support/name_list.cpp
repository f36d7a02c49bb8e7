#include "compiler/support/name_list.h"

#include <algorithm>
#include <cstddef>

namespace gcg {
namespace {

/// Where the name ends that begins there.
size_t end_of_name(const std::string& list, size_t begin, const std::function<bool(const std::string&)>& is_known) {
  for (size_t end = list.size(); end != std::string::npos && end > begin; end = list.rfind(',', end - 1))
    if (is_known(list.substr(begin, end - begin))) return end;
  return std::min(list.find(',', begin), list.size());
}

}  // namespace

std::vector<std::string> split_names(const std::vector<std::string>& lists,
                                     const std::function<bool(const std::string&)>& is_known) {
  std::vector<std::string> names;
  for (const std::string& list : lists)
    for (size_t begin = 0; begin <= list.size();) {
      const size_t end = end_of_name(list, begin, is_known);
      names.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  return names;
}

}  // namespace gcg
