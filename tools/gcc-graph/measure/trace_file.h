// Writes traces in Chrome's tracing format, which Perfetto reads.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gcg::tools {

struct TraceSpan {
  uint32_t row = 0;
  std::string name, category;
  double begin_us = 0, end_us = 0;
  nlohmann::ordered_json facts;  // a JSON object
};

/// `rows`: names by index; rows without spans are left out. Throws Error if the file cannot be written.
void write_trace_file(const std::string& path, const std::vector<std::string>& rows,
                      const std::vector<TraceSpan>& spans);

}  // namespace gcg::tools
