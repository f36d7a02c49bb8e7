#include "tools/serve/log.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "tools/serve/json_elements.h"

namespace gcg::serve {

void log_event(const std::string& event, std::initializer_list<std::pair<const char*, std::string>> fields) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = ms / 1000;
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char time[40];
  const size_t length = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(time + length, sizeof time - length, ".%03dZ", static_cast<int>(ms % 1000));
  std::string line = "{\"time\":\"" + std::string(time) + "\",\"event\":" + in_quotes(event);
  for (const auto& [name, value] : fields) line += ",\"" + std::string(name) + "\":" + value;
  line += "}\n";
  // A single call, so that lines of different threads do not mix.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace gcg::serve
