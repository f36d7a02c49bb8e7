#include "tools/gcc-graph/inspect/step_times.h"

#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

using Json = nlohmann::ordered_json;

Json read_step_times(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  const Json file = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  try {
    Json steps = Json::array();
    for (const Json& row : file.at("profile").at("steps")) {
      Json step = {{"step", row.at("step").get<uint32_t>()},
                   {"us", row.at("us").get<double>()},
                   {"share", row.at("share").get<double>()},
                   {"source", row.at("source").get<std::string>()}};
      if (row.contains("roofline")) step["roofline"] = row["roofline"].get<double>();
      if (row.contains("note")) step["note"] = row["note"].get<std::string>();
      steps.push_back(std::move(step));
    }
    return {{"target", file.at("target").get<std::string>()}, {"profile", {{"steps", std::move(steps)}}}};
  } catch (const Json::exception&) {
    fail(path, ": it is not what bench --profile --json prints");
  }
}

}  // namespace gcg::tools
