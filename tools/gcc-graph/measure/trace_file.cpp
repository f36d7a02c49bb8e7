#include "tools/gcc-graph/measure/trace_file.h"

#include <set>

#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {

using Json = nlohmann::ordered_json;

void write_trace_file(const std::string& path, const std::vector<std::string>& rows,
                      const std::vector<TraceSpan>& spans) {
  std::set<uint32_t> used;
  for (const TraceSpan& span : spans) used.insert(span.row);
  Json events = Json::array();
  for (const uint32_t row : used)
    events.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 0}, {"tid", row}, {"args", {{"name", rows.at(row)}}}});
  for (const TraceSpan& span : spans)
    events.push_back({{"name", span.name},
                      {"cat", span.category},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", span.row},
                      {"ts", span.begin_us},
                      {"dur", span.end_us - span.begin_us},
                      {"args", span.facts}});
  const std::string text = json_text(Json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}, 1) + "\n";
  write_file(path, {text.begin(), text.end()});
}

}  // namespace gcg::tools
