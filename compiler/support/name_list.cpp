#include "compiler/support/name_list.h"

#include <algorithm>
#include <cstddef>

namespace gcg {
namespace {

/// The end of the name that begins at `begin`.
size_t end_of_name(const std::string& list, size_t begin, const std::set<std::string>& known, size_t longest) {
  const size_t last = std::min(list.size(), begin + longest);  // the end of the longest possible name
  size_t end = last == list.size() || list[last] == ',' ? last : list.rfind(',', last);
  for (; end != std::string::npos && end > begin; end = list.rfind(',', end - 1))
    if (known.count(list.substr(begin, end - begin)) != 0) return end;
  return std::min(list.find(',', begin), list.size());
}

}  // namespace

std::vector<std::string> split_names(const std::vector<std::string>& lists, const std::set<std::string>& known) {
  size_t longest = 0;
  for (const std::string& name : known) longest = std::max(longest, name.size());
  std::vector<std::string> names;
  for (const std::string& list : lists)
    for (size_t begin = 0; begin <= list.size();) {
      const size_t end = end_of_name(list, begin, known, longest);
      names.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  return names;
}

}  // namespace gcg
