// Requirements on every device, whoever implements it: each test program names the devices that it has,
// device_suite.cpp tests them.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/runtime/models.h"

namespace gart::test {

struct DeviceUnderTest {
  std::string name;                                       ///< of the case
  std::string device;                                     ///< as LoadOptions name it
  std::function<ArtifactBuilder(ArtifactBuilder)> model;  ///< a model of CPU code as one of this device's
  std::function<void()> begin = [] {};                    ///< before a test
  std::function<void()> end = [] {};  ///< after it: expects that nothing was misused, and nothing is left
  int threads = 2;
};

inline void PrintTo(const DeviceUnderTest& device, std::ostream* out) { *out << device.name; }

std::vector<DeviceUnderTest> devices_under_test();

}  // namespace gart::test
