// Handles, errors and tensors that the C APIs of this library share.
#pragma once

#include <string>

#include "gart/fleet.h"
#include "gart/fleet.hpp"
#include "gart/hosts.hpp"
#include "gart/manager.hpp"

struct gart_fleet {
  gart::fleet::Program program;
};

struct gart_hosts {
  gart::fleet::Hosts hosts;
};

struct gart_manager {
  gart::fleet::Manager manager;
};

namespace gart::fleet {

/// The message of this thread's last failure.
std::string& last_error();

/// Throws Failure if the rank is too large.
TensorView view_of(const gart_tensor& tensor);
gart_tensor tensor_of(const TensorView& view);

}  // namespace gart::fleet
