#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "compiler/fleet/measures.h"
#include "compiler/place/assembly_problem.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

namespace fb = gart::fb;

constexpr double kLeastMicroseconds = 1e-6;
/// Limit for the factor by which a device that was never measured is assumed to be slower than predicted. A larger
/// factor is due to the measured device, which may be busy. The device that was never measured is then worth a try.
constexpr double kAssumedSlower = 4;

double median(std::vector<double> values, double none) {
  if (values.empty()) return none;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

template <class Named>
size_t number_of(const std::vector<Named>& all, const std::string& name, const char* what) {
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i]->name == name) return i;
  fail("the profile has a row of ", what, " '", name, "', which the artifact does not have");
}

/// The device's entry in the group's `times`; null: the group does not run there.
double* time_on(const fb::GroupT& group, std::vector<double>& times, size_t device) {
  times.resize(group.support.size());
  const auto at = std::find(group.support.begin(), group.support.end(), device);
  return at == group.support.end() ? nullptr : &times[static_cast<size_t>(at - group.support.begin())];
}

/// Times of a group on a device, in microseconds; below 0: not measured.
struct Measured {
  size_t group, device;
  double direct = -1;   // time with all inputs made on the same device
  double crossed = -1;  // time with an input that another device made

  bool has_both() const { return direct > 0 && crossed >= 0; }
  double operation(double crossing) const { return direct >= 0 ? direct : crossed / crossing; }
};

std::vector<Measured> measured_of(fb::AssemblyT& a, const FleetProfile& profile) {
  std::map<std::pair<size_t, size_t>, Measured> all;
  for (const GroupMeasurement& m : profile.groups) {
    const size_t g = number_of(a.groups, m.group, "group"), d = number_of(a.devices, m.device, "device");
    if (time_on(*a.groups[g], a.groups[g]->predicted, d) == nullptr)
      fail("the profile has group '", m.group, "' on '", m.device, "', which does not support it");
    Measured& of = all.try_emplace({g, d}, Measured{g, d}).first->second;
    // Times below the clock's resolution count as 0, because quotients by them are meaningless.
    const double us = checked_microseconds(m.operation_us, concat("the time of group '", m.group, "'"));
    (m.crossed ? of.crossed : of.direct) = us < kLeastMicroseconds ? 0 : us;
  }
  std::vector<Measured> list;
  list.reserve(all.size());
  for (const auto& [where, of] : all) list.push_back(of);
  return list;
}

/// The median factor by which groups take longer if an input comes from another device.
double typical_crossing(const std::vector<Measured>& measured) {
  std::vector<double> times;
  for (const Measured& m : measured)
    if (m.has_both()) times.push_back(m.crossed / m.direct);
  return std::max(1.0, median(std::move(times), 1));
}

void correct_operations(fb::AssemblyT& a, const std::vector<Measured>& measured, double crossing) {
  std::vector<std::vector<double>> by_device(a.devices.size()), by_group(a.groups.size());
  const auto longer = [&](const Measured& m) {  // than predicted
    const double predicted = *time_on(*a.groups[m.group], a.groups[m.group]->predicted, m.device);
    return predicted >= kLeastMicroseconds ? m.operation(crossing) / predicted : 0;
  };
  for (const Measured& m : measured)
    if (const double times = longer(m); times > 0) by_device[m.device].push_back(times);
  std::vector<double> known;
  for (const auto& of : by_device)
    if (!of.empty()) known.push_back(median(of, 1));
  // By device: factor over the prediction; devices without measurements get the factor of the others.
  std::vector<double> slower(a.devices.size());
  for (size_t d = 0; d < slower.size(); ++d)
    slower[d] = median(by_device[d], std::min(median(known, 1), kAssumedSlower));
  for (const Measured& m : measured)
    if (const double times = longer(m); times > 0 && slower[m.device] > 0)
      by_group[m.group].push_back(times / slower[m.device]);
  for (size_t g = 0; g < a.groups.size(); ++g)
    for (uint32_t d : a.groups[g]->support)
      *time_on(*a.groups[g], a.groups[g]->predicted, d) =
          bounded_microseconds(*time_on(*a.groups[g], a.groups[g]->predicted, d) * slower[d] * median(by_group[g], 1));
  for (const Measured& m : measured)
    *time_on(*a.groups[m.group], a.groups[m.group]->predicted, m.device) = m.operation(crossing);
}

/// If a group never ran on a device with an input from another device, it gets its factor from other devices. If there
/// is no such factor, it gets the typical factor.
void correct_crossings(fb::AssemblyT& a, const std::vector<Measured>& measured, double crossing) {
  std::vector<std::vector<double>> by_group(a.groups.size());
  for (const Measured& m : measured)
    if (m.has_both()) by_group[m.group].push_back(m.crossed / m.direct);
  for (size_t g = 0; g < a.groups.size(); ++g) {
    const double times = median(by_group[g], crossing);
    for (uint32_t d : a.groups[g]->support)
      *time_on(*a.groups[g], a.groups[g]->crossing, d) =
          bounded_microseconds((times - 1) * *time_on(*a.groups[g], a.groups[g]->predicted, d));
  }
  for (const Measured& m : measured)
    if (m.crossed >= 0)
      *time_on(*a.groups[m.group], a.groups[m.group]->crossing, m.device) =
          std::max(0.0, m.crossed - m.operation(crossing));
}

}  // namespace

double correct_times(fb::AssemblyT& a, const FleetProfile& profile) {
  const std::vector<Measured> measured = measured_of(a, profile);
  const double crossing = typical_crossing(measured);
  correct_operations(a, measured, crossing);
  if (std::any_of(measured.begin(), measured.end(), [](const Measured& m) { return m.has_both(); }))
    correct_crossings(a, measured, crossing);
  if (profile.run_noise_us > 0) return profile.run_noise_us;
  double noise = 0;
  for (const GroupMeasurement& m : profile.groups)
    if (a.groups[number_of(a.groups, m.group, "group")]->device == number_of(a.devices, m.device, "device"))
      noise += m.noise_us * m.noise_us;
  return std::sqrt(noise);
}

}  // namespace gcg
