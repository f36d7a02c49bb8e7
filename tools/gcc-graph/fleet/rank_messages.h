// Messages between the processes of a command in a job: JSON, and bytes whose number both sides know.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "gart/hosts.hpp"
#include "tools/gcc-graph/io/host_tensor.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

/// The other rank is lost, or rank 0 has left the job.
class LostRank : public Error {
 public:
  using Error::Error;
};

/// This process's conversation with one other rank. All calls throw LostRank.
class RankMessages {
 public:
  /// `hosts` must outlive the object.
  RankMessages(const gart::fleet::Hosts& hosts, int rank) : hosts_(hosts), rank_(rank) {}

  void send(const nlohmann::json& json) const;
  nlohmann::json receive() const;
  void send(std::span<const uint8_t> bytes) const;
  void receive(std::span<uint8_t> room) const;
  /// The elements of a tensor, which the receiver knows from described().
  void send(const gart::TensorView& tensor) const;
  /// Makes room for the tensor, and receives its elements.
  void receive(const nlohmann::json& description, HostTensor& tensor) const;

 private:
  const gart::fleet::Hosts& hosts_;
  const int rank_;
};

/// {"name", "dtype", "shape"}. Throws Error for a tensor of strings, whose elements cannot be sent.
nlohmann::json described(const std::string& name, const gart::TensorView& tensor);

/// The answer to a request: what `work` returns, or {"error": its message}.
nlohmann::json answer_of(const std::function<nlohmann::json()>& work);
/// Throws the error of an answer.
nlohmann::json checked_answer(nlohmann::json answer, int rank);

}  // namespace gcg::tools
