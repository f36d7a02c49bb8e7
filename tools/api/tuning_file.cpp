#include "tools/api/tuning_file.h"

#include <algorithm>

#include "compiler/fleet/measures.h"
#include "compiler/kernel/library_algorithm.h"
#include "compiler/support/error.h"
#include "compiler/support/json.h"

namespace gcg {
namespace {

constexpr const char* kFormat = "gcc-graph tuning 1";

std::string text_at(const Json& entry, const char* name) {
  const auto it = entry.find(name);
  if (it == entry.end() || !it->is_string()) fail("there is no string '", name, "'");
  return it->get<std::string>();
}

Measured parse_measured(const Json& entry) {
  Measured m{
      text_at(entry, "choice"), text_at(entry, "expected"), {}, text_at(entry, "device"), text_at(entry, "driver")};
  const auto times = entry.find("microseconds");
  if (times == entry.end() || !times->is_object()) fail("there is no object 'microseconds'");
  for (const auto& [candidate, time] : times->items()) {
    if (!time.is_number()) fail("the time of '", candidate, "' is not a number");
    m.microseconds[candidate] = checked_microseconds(time.get<double>(), concat("the time of '", candidate, "'"));
  }
  return m;
}

}  // namespace

TuningFile TuningFile::parse(const std::vector<uint8_t>& bytes, const std::string& origin) {
  const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, origin);
  if (!json.is_object()) fail(origin, ": not a JSON object");
  size_t number = 0;
  try {
    if (text_at(json, "format") != kFormat) fail("the format is '", text_at(json, "format"), "', not '", kFormat, "'");
    const auto measured = json.find("measured");
    if (measured == json.end() || !measured->is_array()) fail("there is no list 'measured'");
    TuningFile file;
    for (const Json& entry : *measured) {
      ++number;
      if (!entry.is_object()) fail("not an object");
      file.entries_[{text_at(entry, "target"), text_at(entry, "precision"), text_at(entry, "kernel"),
                     text_at(entry, "shape")}] = parse_measured(entry);
    }
    return file;
  } catch (const CompileError& error) {
    fail(origin, number > 0 ? concat(", entry ", number) : "", ": ", error.what());
  }
}

std::vector<uint8_t> TuningFile::bytes() const {
  Json measured = Json::array();
  for (const auto& [key, m] : entries_) {
    const auto& [target, precision, kernel, shape] = key;
    Json times = Json::object();
    for (const auto& [candidate, time] : m.microseconds) times[candidate] = time;
    measured.push_back({{"target", target},
                        {"precision", precision},
                        {"kernel", kernel},
                        {"shape", shape},
                        {"choice", m.choice},
                        {"expected", m.expected},
                        {"device", m.device},
                        {"driver", m.driver},
                        {"microseconds", times}});
  }
  const std::string text = json_text(Json{{"format", kFormat}, {"measured", measured}}) + "\n";
  return {text.begin(), text.end()};
}

std::optional<size_t> TuningFile::choose(const Decision& decision) const {
  const auto entry = entries_.find(key(decision));
  if (entry == entries_.end()) return std::nullopt;
  const auto& candidates = decision.candidates;
  const auto it = std::find(candidates.begin(), candidates.end(), entry->second.choice);
  (it == candidates.end() ? stale_ : used_).insert(entry->first);
  if (it == candidates.end()) return std::nullopt;
  return static_cast<size_t>(it - candidates.begin());
}

std::optional<LibraryAlgorithm> TuningFile::algorithm(const Decision& decision) const {
  const auto entry = entries_.find(key(decision));
  if (entry == entries_.end()) return std::nullopt;
  auto known = parse_algorithm(entry->second.choice);
  (known ? used_ : stale_).insert(entry->first);
  return known;
}

}  // namespace gcg
