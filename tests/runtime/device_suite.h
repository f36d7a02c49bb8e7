// Tests that every device must pass. Each test program names its devices, and device_suite.cpp tests
// them.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/runtime/models.h"

namespace gart::test {

struct DeviceUnderTest {
  std::string name;                                       ///< of the case
  std::string device;                                     ///< as in LoadOptions
  std::function<ArtifactBuilder(ArtifactBuilder)> model;  ///< converts a model of CPU code to this device's code
  std::function<void()> begin = [] {};                    ///< before a test
  /// Called after a test: expects no misuse and no live objects.
  std::function<void()> end = [] {};
  int threads = 2;
};

inline void PrintTo(const DeviceUnderTest& device, std::ostream* out) { *out << device.name; }

std::vector<DeviceUnderTest> devices_under_test();

}  // namespace gart::test
