#include "compiler/place/fleet_profile.h"

#include <set>
#include <tuple>
#include <utility>

#include "compiler/fleet/measures.h"
#include "compiler/support/error.h"
#include "compiler/support/json.h"

namespace gcg {
namespace {

constexpr const char* kFormat = "gcc-graph profile 1";

std::string text_at(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || !it->is_string()) fail("there is no string '", name, "'");
  return it->get<std::string>();
}

/// `missing`: the value of a field that is left out; negative: the field is required.
double number_at(const Json& object, const char* name, double missing) {
  const auto it = object.find(name);
  if (it == object.end()) {
    if (missing < 0) fail("there is no number '", name, "'");
    return missing;
  }
  if (!it->is_number()) fail("'", name, "' is not a number");
  return checked_microseconds(it->get<double>(), concat("'", name, "'"));
}

GroupMeasurement measurement(const Json& row) {
  if (!row.is_object()) fail("not an object");
  GroupMeasurement m{text_at(row, "group"), text_at(row, "device")};
  m.operation_us = number_at(row, "operation_us", -1);
  m.idle_us = number_at(row, "idle_us", 0);
  m.noise_us = number_at(row, "noise_us", 0);
  m.begin_us = number_at(row, "begin_us", 0);
  m.runs = static_cast<int64_t>(number_at(row, "runs", 1));
  if (const auto crossed = row.find("crossed"); crossed != row.end()) {
    if (!crossed->is_boolean()) fail("'crossed' is neither true nor false");
    m.crossed = crossed->get<bool>();
  }
  return m;
}

void parse_groups(const Json& rows, FleetProfile& profile) {
  std::set<std::tuple<std::string, std::string, bool>> seen;
  for (const Json& row : rows) {
    try {
      GroupMeasurement m = measurement(row);
      if (!seen.insert({m.group, m.device, m.crossed}).second)
        fail("group '", m.group, "' on '", m.device, "' has a row already");
      profile.groups.push_back(std::move(m));
    } catch (const CompileError& error) {
      fail("groups[", &row - &rows[0], "]: ", error.what());
    }
  }
}

}  // namespace

const GroupMeasurement* FleetProfile::find(const std::string& group, const std::string& device, bool crossed) const {
  for (const GroupMeasurement& m : groups)
    if (m.group == group && m.device == device && m.crossed == crossed) return &m;
  return nullptr;
}

void FleetProfile::merge(const FleetProfile& later) {
  for (const GroupMeasurement& m : later.groups) {
    if (const GroupMeasurement* old = find(m.group, m.device, m.crossed))
      groups[static_cast<size_t>(old - groups.data())] = m;
    else
      groups.push_back(m);
  }
  run_us = later.run_us;
  run_noise_us = later.run_noise_us;
}

FleetProfile parse_fleet_profile(const std::string& json, const std::string& source) {
  const Json object = parse_json(json, source);
  if (!object.is_object()) fail(source, ": not a JSON object");
  try {
    if (text_at(object, "format") != kFormat)
      fail("the format is '", text_at(object, "format"), "', not '", kFormat, "'");
    FleetProfile profile;
    profile.artifact = text_at(object, "artifact");
    profile.run_us = number_at(object, "run_us", 0);
    profile.run_noise_us = number_at(object, "run_noise_us", 0);
    const auto groups = object.find("groups");
    if (groups == object.end() || !groups->is_array()) fail("there is no list 'groups'");
    parse_groups(*groups, profile);
    return profile;
  } catch (const CompileError& error) {
    fail(source, ": ", error.what());
  }
}

std::string print_fleet_profile(const FleetProfile& profile) {
  Json groups = Json::array();
  for (const GroupMeasurement& m : profile.groups)
    groups.push_back({{"group", m.group},
                      {"device", m.device},
                      {"operation_us", m.operation_us},
                      {"idle_us", m.idle_us},
                      {"noise_us", m.noise_us},
                      {"begin_us", m.begin_us},
                      {"runs", m.runs},
                      {"crossed", m.crossed}});
  return json_text(Json{{"format", kFormat},
                        {"artifact", profile.artifact},
                        {"run_us", profile.run_us},
                        {"run_noise_us", profile.run_noise_us},
                        {"groups", groups}}) +
         "\n";
}

}  // namespace gcg
