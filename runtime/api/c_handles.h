// Handles of the C API that other libraries (libgart_generate, libgart_fleet) accept, too. Those libraries have the
// same version.
#pragma once

#include <string>
#include <vector>

#include "gart/gart.hpp"

struct gart_program {
  gart::Program program;
  std::vector<std::string> entry_points;
};
struct gart_invocation {
  gart::Invocation invocation;
};
struct gart_session {
  gart::Session session;
};
