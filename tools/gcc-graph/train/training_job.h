// The job of several processes that train together.
#pragma once

#include <string>

#include "gart/hosts.hpp"

namespace gcg::tools {

struct TrainingJob {
  const gart::fleet::Hosts* hosts = nullptr;  // null: this process trains alone
  std::string artifact;                       // its path
};

}  // namespace gcg::tools
