#include "tools/gcc-graph/fleet/read_fleet.h"

#include <vector>

#include "tools/gcc-graph/io/read_file.h"

namespace gcg::tools {

gcc_graph::Fleet read_fleet(const std::string& path) {
  const std::vector<uint8_t> json = read_file(path);
  return gcc_graph::parse_fleet(std::string(json.begin(), json.end()), path);
}

}  // namespace gcg::tools
