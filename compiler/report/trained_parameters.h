// Facts about a model that is compiled for training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gcg {

/// The parameters of a model that is compiled with --train.
struct TrainedParameters {
  int64_t trained = 0, elements = 0;   // elements of all trained parameters
  int64_t frozen = 0;                  // parameters that the option `frozen` keeps as they are
  std::vector<std::string> unreached;  // parameters that the loss does not depend on
  int64_t statistics = 0;              // running statistics of BatchNormalization that training updates
  std::string batch_statistics;        // a node that computes statistics of its batch; empty: there is none
  std::vector<std::string> dropouts;   // Dropout nodes that drop elements
};

}  // namespace gcg
