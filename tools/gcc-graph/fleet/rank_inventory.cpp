#include "tools/gcc-graph/fleet/rank_inventory.h"

#include <algorithm>
#include <chrono>

#include "tools/gcc-graph/fleet/rank_messages.h"

namespace gcg::tools {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kSmallRounds = 50, kLargeRounds = 5;
constexpr size_t kSmall = 8, kLarge = size_t{4} << 20;

struct HostLink {
  double us = 0, gbytes_per_s = 0;
};

/// Microseconds of the fastest of `rounds` messages to the other rank and answers of 8 bytes.
double fastest_us(const RankMessages& other, int rounds, std::span<const uint8_t> message) {
  double least = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<uint8_t> answer(kSmall);
    const auto begin = Clock::now();
    other.send(message);
    other.receive(std::span<uint8_t>(answer));
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    least = i == 0 ? us : std::min(least, us);
  }
  return least;
}

/// The other rank calls echo().
HostLink measure(const RankMessages& other) {
  const std::vector<uint8_t> message(kLarge);
  HostLink link;
  link.us = fastest_us(other, kSmallRounds, std::span(message).first(kSmall)) / 2;
  const double large_us = fastest_us(other, kLargeRounds, message);
  link.gbytes_per_s = static_cast<double>(kLarge) / 1000 / std::max(large_us - 2 * link.us, 1.0);
  return link;
}

void echo(const RankMessages& other) {
  std::vector<uint8_t> room(kLarge);
  for (int i = 0; i < kSmallRounds + kLargeRounds; ++i) {
    const std::span<uint8_t> message = std::span(room).first(i < kSmallRounds ? kSmall : kLarge);
    other.receive(message);
    other.send(std::span<const uint8_t>(room).first(kSmall));
  }
}

json own_inventory(const gart::fleet::Hosts& hosts, bool probe) {
  const Inventory own = take_inventory(probe);
  return {{"machine", hosts.machine()},
          {"fleet", gcc_graph::print_fleet(own.fleet)},
          {"about", own.about},
          {"remarks", own.remarks}};
}

/// Adds the devices of a rank. `machines`: of all ranks up to this one.
void add(Inventory& all, const json& found, const std::vector<std::string>& machines) {
  const int rank = static_cast<int>(machines.size()) - 1;
  const std::string& machine = machines.back();
  const bool is_shared = std::count(machines.begin(), machines.end(), machine) > 1;
  const std::string host = rank == 0 ? "" : is_shared ? concat(machine, '.', rank) : machine;
  const gcc_graph::Fleet fleet = gcc_graph::parse_fleet(found.at("fleet").get<std::string>(), concat("rank ", rank));
  const auto offset = static_cast<int>(all.fleet.devices.size());
  for (FleetDevice device : fleet.devices) {
    device.host = host;
    if (rank != 0) device.name = concat(host, '/', device.name);
    all.fleet.devices.push_back(std::move(device));
  }
  for (FleetLink link : fleet.links) {
    link.from += offset;
    link.to += offset;
    all.fleet.links.push_back(link);
  }
  for (const std::string& about : found.at("about").get<std::vector<std::string>>())
    all.about.push_back(concat("rank ", rank, " on ", machine, ": ", about));
  for (const std::string& remark : found.at("remarks").get<std::vector<std::string>>())
    all.remarks.push_back(concat("rank ", rank, " on ", machine, ": ", remark));
}

/// The link between two ranks, which the lower one measures.
HostLink measure_between(const gart::fleet::Hosts& hosts, int low, int high) {
  const RankMessages of_low(hosts, std::max(low, 1)), of_high(hosts, high);
  of_high.send(json{{"echo", low}});
  if (low == 0) return measure(of_high);
  of_low.send(json{{"measure", high}});
  const json found = checked_answer(of_low.receive(), low);
  return {found.at("us").get<double>(), found.at("gbytes_per_s").get<double>()};
}

void add_links(Inventory& all, const gart::fleet::Hosts& hosts, const std::vector<int>& rank_of) {
  for (int low = 0; low < hosts.size(); ++low)
    for (int high = low + 1; high < hosts.size(); ++high) {
      const HostLink link = measure_between(hosts, low, high);
      for (int from = 0; from < static_cast<int>(rank_of.size()); ++from)
        for (int to = 0; to < static_cast<int>(rank_of.size()); ++to) {
          const auto [first, last] = std::minmax(rank_of[static_cast<size_t>(from)], rank_of[static_cast<size_t>(to)]);
          if (first == low && last == high) all.fleet.links.push_back({from, to, link.gbytes_per_s, link.us});
        }
    }
}

}  // namespace

Inventory inventory_of_ranks(const gart::fleet::Hosts& hosts, bool probe) {
  Inventory all;
  std::vector<std::string> machines;
  std::vector<int> rank_of;  // per device
  for (int rank = 0; rank < hosts.size(); ++rank) {
    json found;
    if (rank == 0) {
      found = own_inventory(hosts, probe);
    } else {
      const RankMessages other(hosts, rank);
      other.send(json{{"list", probe}});
      found = checked_answer(other.receive(), rank);
    }
    machines.push_back(found.at("machine").get<std::string>());
    add(all, found, machines);
    rank_of.resize(all.fleet.devices.size(), rank);
  }
  if (probe) add_links(all, hosts, rank_of);
  return all;
}

void serve_inventory(const gart::fleet::Hosts& hosts) {
  const RankMessages rank_0(hosts, 0);
  try {
    for (;;) {
      const json request = rank_0.receive();
      if (request.contains("echo")) {
        echo({hosts, request.at("echo").get<int>()});
      } else if (request.contains("measure")) {
        const HostLink link = measure({hosts, request.at("measure").get<int>()});
        rank_0.send(json{{"us", link.us}, {"gbytes_per_s", link.gbytes_per_s}});
      } else {
        rank_0.send(answer_of([&] { return own_inventory(hosts, request.at("list").get<bool>()); }));
      }
    }
  } catch (const LostRank&) {
    // Rank 0 has left the job, or is lost: serve() knows.
  }
}

}  // namespace gcg::tools
