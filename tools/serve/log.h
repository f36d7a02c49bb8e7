// Events as lines of JSON on stderr.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace gcg::serve {

/// {"time":"2026-01-31T12:00:00.123Z","event":"request","status":200}. The values are JSON. Any thread may call it.
void log_event(const std::string& event, std::initializer_list<std::pair<const char*, std::string>> fields);

}  // namespace gcg::serve
