#include "tests/place/driver/problem_json.h"

namespace gcg::place {

using Json = nlohmann::json;

Problem problem_from(const Json& json) {
  Problem p;
  for (const Json& d : json.at("devices")) p.devices.push_back({d.value("name", ""), d.value("memory", kEnough)});
  for (const Json& l : json.at("links")) {
    Link link;
    if (l[0].get<double>() > 0) link.bytes_per_us = l[0].get<double>();
    link.us = l[1].get<double>();
    p.links.push_back(link);
  }
  for (const Json& g : json.at("groups")) {
    Group group;
    group.name = g.value("name", "g" + std::to_string(p.groups.size()));
    for (const Json& us : g.at("us")) group.us.push_back(us.is_null() ? kUnsupported : us.get<double>());
    group.weights = g.value("weights", std::vector<int>());
    group.working_bytes = g.value("working", int64_t{0});
    p.groups.push_back(std::move(group));
  }
  for (const Json& v : json.at("values")) {
    const int number = static_cast<int>(p.values.size());
    Value value;
    value.bytes = v.value("bytes", int64_t{0});
    value.producer = v.value("producer", kCaller);
    value.fixed_device = v.value("given", kAnywhere);
    value.readers = v.value("readers", std::vector<int>());
    value.wanted = v.value("wanted", false);
    value.wanted_on = v.value("wanted_on", kAnywhere);
    if (value.producer != kCaller) p.groups[static_cast<size_t>(value.producer)].outputs.push_back(number);
    for (int r : value.readers) p.groups[static_cast<size_t>(r)].inputs.push_back(number);
    p.values.push_back(std::move(value));
  }
  p.weights = json.value("weights", std::vector<int64_t>());
  p.links_queue = json.value("links_queue", true);
  return p;
}

Placement placement_from(const Json& json) {
  return {json.at("device").get<std::vector<int>>(), json.at("order").get<std::vector<int>>()};
}

Json to_json(const Placement& placement) { return {{"device", placement.device}, {"order", placement.order}}; }

Json to_json(const Timeline& t) {
  Json transfers = Json::array();
  for (const Transfer& x : t.transfers) transfers.push_back({x.value, x.from, x.to, x.begin, x.end});
  return {{"us", t.us},           {"begin", t.begin},          {"end", t.end},        {"transfers", transfers},
          {"busy_us", t.busy_us}, {"weights", t.weight_bytes}, {"peak", t.peak_bytes}};
}

}  // namespace gcg::place
