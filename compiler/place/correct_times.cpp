#include <algorithm>
#include <cmath>
#include <vector>

#include "compiler/place/assembly_problem.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

double median(std::vector<double> values, double none) {
  if (values.empty()) return none;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// How much longer than predicted a group took on a device where it ran.
struct Ratio {
  size_t group, device;
  double times;
};

template <class Named>
size_t number_of(const std::vector<Named>& all, const std::string& name, const char* what) {
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i]->name == name) return i;
  fail("the profile has a row of ", what, " '", name, "', the artifact has none of that name");
}

double* predicted_on(fb::GroupT& group, size_t device) {
  group.predicted.resize(group.support.size());
  for (size_t i = 0; i < group.support.size(); ++i)
    if (group.support[i] == device) return &group.predicted[i];
  return nullptr;
}

std::vector<Ratio> ratios_of(const fb::AssemblyT& a, const FleetProfile& profile) {
  std::vector<Ratio> ratios;
  for (const GroupMeasurement& m : profile.groups) {
    const size_t g = number_of(a.groups, m.group, "group"), d = number_of(a.devices, m.device, "device");
    const double* predicted = predicted_on(*a.groups[g], d);
    if (predicted == nullptr)
      fail("the profile has group '", m.group, "' on '", m.device, "', which does not support it");
    if (*predicted > 0) ratios.push_back({g, d, m.operation_us / *predicted});
  }
  return ratios;
}

}  // namespace

double correct_times(fb::AssemblyT& a, const FleetProfile& profile) {
  const std::vector<Ratio> ratios = ratios_of(a, profile);
  std::vector<std::vector<double>> by_device(a.devices.size()), by_group(a.groups.size());
  for (const Ratio& r : ratios) by_device[r.device].push_back(r.times);
  std::vector<double> known;
  for (const auto& of : by_device)
    if (!of.empty()) known.push_back(median(of, 1));
  std::vector<double> slower(a.devices.size());  // than predicted; devices that nothing ran on: as the others
  for (size_t d = 0; d < slower.size(); ++d) slower[d] = median(by_device[d], median(known, 1));
  for (const Ratio& r : ratios)
    if (slower[r.device] > 0) by_group[r.group].push_back(r.times / slower[r.device]);
  for (size_t g = 0; g < a.groups.size(); ++g)
    for (size_t i = 0; i < a.groups[g]->support.size(); ++i)
      *predicted_on(*a.groups[g], a.groups[g]->support[i]) *= slower[a.groups[g]->support[i]] * median(by_group[g], 1);
  double noise = 0;
  for (const GroupMeasurement& m : profile.groups) {
    const size_t g = number_of(a.groups, m.group, "group"), d = number_of(a.devices, m.device, "device");
    *predicted_on(*a.groups[g], d) = m.operation_us;
    if (a.groups[g]->device == d) noise += m.noise_us * m.noise_us;
  }
  return profile.run_noise_us > 0 ? profile.run_noise_us : std::sqrt(noise);
}

}  // namespace gcg
