// The JSON form of fleets. Every message begins with the position in the text: "F.json: devices[1].cores[0]: ...".
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "compiler/fleet/fleet.h"
#include "compiler/fleet/measures.h"
#include "compiler/kernel/device_traits.h"
#include "compiler/support/error.h"
#include "compiler/support/json.h"

namespace gcg {
namespace {

constexpr int kMostCores = 1024;  // core numbers on the system are below this
constexpr int kMostGpus = 1024;

/// A JSON value and its position in the text.
struct Field {
  const Json& value;
  std::string path;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(path, ": ", parts...);
  }
  Field at(const std::string& name) const {
    return {value.at(name), path.ends_with(' ') ? path + name : path + "." + name};
  }
  Field at(size_t index) const { return {value.at(index), concat(path, "[", index, "]")}; }
  bool has(const char* name) const { return value.contains(name); }
};

/// Requires an object with no other fields than these.
void require_object(const Field& field, const std::vector<const char*>& names) {
  std::string list;
  for (const char* name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  if (!field.value.is_object()) field.refuse("expected an object, not ", json_excerpt(field.value));
  for (const auto& [key, value] : field.value.items()) {
    const bool known = std::any_of(names.begin(), names.end(), [&](const char* name) { return key == name; });
    if (!known) field.at(key).refuse("there is no such field, only ", list);
  }
}

std::string text_of(const Field& field) {
  if (!field.value.is_string()) field.refuse("expected a string, not ", json_excerpt(field.value));
  const auto text = field.value.get<std::string>();
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ') field.refuse("it has a control character");
  return text;
}

std::string name_in(const Field& field) {
  std::string text = text_of(field);
  if (text.empty()) field.refuse("it is empty");
  return text;
}

int64_t integer_of(const Field& field, int64_t limit) {
  const Json& value = field.value;
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(limit)
                        : value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() <= limit;
  if (!fits) field.refuse("expected an integer from 0 to ", limit, ", not ", json_excerpt(value));
  return value.get<int64_t>();
}

double number_of(const Field& field) {
  if (!field.value.is_number()) field.refuse("expected a number, not ", json_excerpt(field.value));
  return field.value.get<double>();
}

double rate_of(const Field& field) { return checked_rate(number_of(field), field.path + ": the rate"); }

/// Reads a list with `read`; no two values may be equal.
template <class Read>
auto list_of(const Field& field, Read read) {
  using Value = decltype(read(field));
  if (!field.value.is_array()) field.refuse("expected a list, not ", json_excerpt(field.value));
  std::vector<Value> values;
  std::set<Value> seen;
  for (size_t i = 0; i < field.value.size(); ++i) {
    values.push_back(read(field.at(i)));
    if (!seen.insert(values.back()).second) field.at(i).refuse(values.back(), " is listed twice");
  }
  return values;
}

DeviceClass kind_of(const Field& field) {
  const std::string kind = text_of(field);
  for (const DeviceClass device : kDeviceClasses)
    if (kind == traits_of(device).kind) return device;
  std::string known;
  for (const DeviceClass device : kDeviceClasses) known += concat(known.empty() ? "" : " or ", traits_of(device).kind);
  field.refuse("'", kind, "' is not a kind of device; expected ", known);
}

std::string target_of(const Field& field, DeviceClass kind) {
  const std::string name = text_of(field);
  if (name.empty()) return name;
  const std::optional<Target> target = find_target(name);
  if (!target) {
    std::string names;
    for (const std::string& known : known_targets()) names += (names.empty() ? "" : ", ") + known;
    field.refuse("there is no target '", name, "', only ", names);
  }
  if (target->device != kind) field.refuse("a device of this kind does not run code for ", name);
  return name;
}

void read_uses(const Field& field, FleetDevice& device) {
  device.infers = device.trains = false;
  const auto uses = list_of(field, text_of);
  if (uses.empty()) field.refuse("it is empty; expected infer or train");
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i] != "infer" && uses[i] != "train")
      field.at(i).refuse("'", uses[i], "' is not a use; expected infer or train");
    (uses[i] == "infer" ? device.infers : device.trains) = true;
  }
}

FleetDevice read_device(const Field& field) {
  require_object(field, {"name", "kind", "cores", "ordinal", "target", "host", "memory_bytes", "supports", "denies",
                         "uses", "gflops", "gbytes_per_s"});
  for (const char* name : {"name", "kind"})
    if (!field.has(name)) field.refuse("it has no field '", name, "'");
  FleetDevice device;
  device.name = name_in(field.at("name"));
  device.kind = kind_of(field.at("kind"));
  const auto core = [](const Field& f) { return static_cast<int>(integer_of(f, kMostCores - 1)); };
  if (field.has("cores")) device.cores = list_of(field.at("cores"), core);
  if (field.has("ordinal")) device.ordinal = static_cast<int>(integer_of(field.at("ordinal"), kMostGpus - 1));
  const bool has_cores = traits_of(device.kind).has_cores;
  if (!has_cores && !device.cores.empty()) field.at("cores").refuse("only a CPU pool has cores");
  if (has_cores && device.ordinal != 0) field.at("ordinal").refuse("only a GPU has an ordinal");
  if (field.has("target")) device.target = target_of(field.at("target"), device.kind);
  if (field.has("host")) device.host = text_of(field.at("host"));
  if (field.has("memory_bytes"))
    device.memory_bytes = integer_of(field.at("memory_bytes"), std::numeric_limits<int64_t>::max());
  if (field.has("supports")) device.supports = list_of(field.at("supports"), name_in);
  if (field.has("denies")) device.denies = list_of(field.at("denies"), name_in);
  if (field.has("uses")) read_uses(field.at("uses"), device);
  if (field.has("gflops")) device.gflops = rate_of(field.at("gflops"));
  if (field.has("gbytes_per_s")) device.gbytes_per_s = rate_of(field.at("gbytes_per_s"));
  return device;
}

int end_of(const Field& link, const char* end, const Fleet& fleet) {
  if (!link.has(end)) link.refuse("it has no field '", end, "'");
  const std::string name = text_of(link.at(end));
  const int device = fleet.find(name);
  if (device < 0) link.at(end).refuse("there is no device '", name, "'");
  return device;
}

FleetLink read_link(const Field& field, const Fleet& fleet) {
  require_object(field, {"from", "to", "gbytes_per_s", "us"});
  FleetLink link;
  link.from = end_of(field, "from", fleet);
  link.to = end_of(field, "to", fleet);
  if (link.from == link.to) field.at("to").refuse("a link must join two devices");
  for (const FleetLink& other : fleet.links)
    if (other.from == link.from && other.to == link.to) field.refuse("this link is listed twice");
  if (field.has("gbytes_per_s")) link.gbytes_per_s = rate_of(field.at("gbytes_per_s"));
  if (field.has("us")) link.us = checked_microseconds(number_of(field.at("us")), field.path + ".us: the time");
  return link;
}

}  // namespace

int Fleet::find(const std::string& name) const {
  for (size_t i = 0; i < devices.size(); ++i)
    if (devices[i].name == name) return static_cast<int>(i);
  return -1;
}

Fleet parse_fleet(const std::string& json, const std::string& source) {
  const Json document = parse_json(json, source);
  const Field all{document, source + ": "};
  if (!document.is_object()) fail(source, ": expected an object, not ", json_excerpt(document));
  require_object(all, {"devices", "links"});
  if (!all.has("devices")) fail(source, ": it has no field 'devices'");
  const Field devices = all.at("devices");
  if (!devices.value.is_array() || devices.value.empty())
    devices.refuse("expected a list of devices, not ", json_excerpt(devices.value));
  Fleet fleet;
  std::set<std::string> names;
  for (size_t i = 0; i < devices.value.size(); ++i) {
    fleet.devices.push_back(read_device(devices.at(i)));
    const std::string& name = fleet.devices.back().name;
    if (!names.insert(name).second) devices.at(i).at("name").refuse("another device is named '", name, "'");
  }
  if (!all.has("links")) return fleet;
  const Field links = all.at("links");
  if (!links.value.is_array()) links.refuse("expected a list, not ", json_excerpt(links.value));
  for (size_t i = 0; i < links.value.size(); ++i) fleet.links.push_back(read_link(links.at(i), fleet));
  return fleet;
}

namespace {

Json device_json(const FleetDevice& d) {
  Json out = {{"name", d.name}, {"kind", traits_of(d.kind).kind}};
  if (!d.cores.empty()) out["cores"] = d.cores;
  if (!traits_of(d.kind).has_cores) out["ordinal"] = d.ordinal;
  if (!d.target.empty()) out["target"] = d.target;
  if (!d.host.empty()) out["host"] = d.host;
  if (d.memory_bytes > 0) out["memory_bytes"] = d.memory_bytes;
  if (!d.supports.empty()) out["supports"] = d.supports;
  if (!d.denies.empty()) out["denies"] = d.denies;
  if (!d.infers) out["uses"] = {"train"};
  if (!d.trains) out["uses"] = {"infer"};
  if (d.gflops > 0) out["gflops"] = d.gflops;
  if (d.gbytes_per_s > 0) out["gbytes_per_s"] = d.gbytes_per_s;
  return out;
}

}  // namespace

std::string print_fleet(const Fleet& fleet) {
  Json devices = Json::array(), links = Json::array();
  for (const FleetDevice& device : fleet.devices) devices.push_back(device_json(device));
  for (const FleetLink& link : fleet.links) {
    links.push_back({{"from", fleet.devices[static_cast<size_t>(link.from)].name},
                     {"to", fleet.devices[static_cast<size_t>(link.to)].name},
                     {"gbytes_per_s", link.gbytes_per_s},
                     {"us", link.us}});
  }
  Json out = {{"devices", devices}};
  if (!links.empty()) out["links"] = links;
  return json_text(out) + "\n";
}

}  // namespace gcg
