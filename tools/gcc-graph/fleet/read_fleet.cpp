#include "tools/gcc-graph/fleet/read_fleet.h"

#include <vector>

#include "tools/gcc-graph/io/read_file.h"

namespace gcg::tools {

Fleet read_fleet(const std::string& path) {
  const std::vector<uint8_t> json = read_file(path);
  return parse_fleet(std::string(json.begin(), json.end()), path);
}

}  // namespace gcg::tools
