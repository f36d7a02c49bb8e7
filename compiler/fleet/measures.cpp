#include "compiler/fleet/measures.h"

#include <algorithm>

#include "artifact_schema/verify_assembly.h"
#include "compiler/support/error.h"

namespace gcg {

double checked_rate(double rate, const std::string& what) {
  if (rate == 0 || (rate >= gart::kMinRate && rate <= gart::kMaxRate)) return rate;
  fail(what, " is ", rate, "; a rate is 0 (not known), or from ", gart::kMinRate, " to ", gart::kMaxRate);
}

double checked_microseconds(double time, const std::string& what) {
  if (time >= 0 && time <= gart::kMaxMicroseconds) return time;
  fail(what, " is ", time, "; a time is from 0 to ", gart::kMaxMicroseconds, " microseconds");
}

void check_measures(const Fleet& fleet) {
  for (const FleetDevice& device : fleet.devices) {
    checked_rate(device.gflops, concat("device '", device.name, "': gflops"));
    checked_rate(device.gbytes_per_s, concat("device '", device.name, "': gbytes_per_s"));
  }
  for (size_t i = 0; i < fleet.links.size(); ++i) {
    checked_rate(fleet.links[i].gbytes_per_s, concat("link ", i, ": gbytes_per_s"));
    checked_microseconds(fleet.links[i].us, concat("link ", i, ": us"));
  }
}

double bounded_microseconds(double time) { return std::clamp(time, 0.0, gart::kMaxMicroseconds); }

}  // namespace gcg
