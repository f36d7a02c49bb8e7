// The C API's handles that other libraries (libgart_generate) take, too. Both libraries have one version.
#pragma once

#include <string>
#include <vector>

#include "gart/gart.hpp"

struct gart_program {
  gart::Program program;
  std::vector<std::string> entry_points;
};
struct gart_session {
  gart::Session session;
};
